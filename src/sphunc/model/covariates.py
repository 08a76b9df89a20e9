r"""Covariates of an agent at an origin: own outcomes, features, neighbourhood means, population level and trend.

Everything is known at the origin. Counts of observations are hidden clocks, so that histories enter as shares, relative
to those of the population, and shrunk towards them. The simulation carries histories of its own, one per sample
(:mod:`sphunc.interventions.simulation.covariates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Bool, Float, Tensor
from sphunc.hypergraph import Incidence
from sphunc.model.inputs import ModelInputs

PRIOR_COUNT = 2.0
"""Outcomes of the population that an agent's own history is shrunk by."""
RECENT_DECAY = 0.7
"""Share of an outcome's weight in the recent mean that is left after the next one."""
OLDEST = 5.0
"""Times since the last outcome after which its age counts no further."""
STALE = 3.0
"""Times after which a last outcome says nothing about its agent beyond a linear decline."""
BLOCKS = (
    "last outcome",
    "age",
    "history",
    "features",
    "feature means",
    "neighbour outcomes",
    "neighbour features",
    "population",
)
"""Groups of columns that share a penalty."""


@dataclass(frozen=True, eq=False)
class OutcomeHistory:
    """What the outcomes of N agents up to a time say.

    Attributes:
        last: last outcome, indicators or numbers ``[N, C]``; 0 where there was none.
        first: first outcome ``[N, C]``.
        previous: the one before it ``[N, C]``; the last one where there was only one.
        total: sum of all outcomes ``[N, C]``.
        count: how many there were ``[N]``.
        recent: sum of all outcomes, discounted by those that followed ``[N, C]``.
        recent_count: their discounted number ``[N]``.
        kept: how often an outcome was the same as the one before it ``[N]``; of numbers not used.
        age: times since the last one ``[N]``.
        elapsed: times so far.
        level: mean outcome of those observed at the last time with any ``[C]``, shrunk by one agent.
        earlier_level: the same one time before ``[C]``.
        is_numeric: True for numbers.
    """

    last: Float[Tensor, "agent output"]
    first: Float[Tensor, "agent output"]
    previous: Float[Tensor, "agent output"]
    total: Float[Tensor, "agent output"]
    count: Float[Tensor, " agent"]
    recent: Float[Tensor, "agent output"]
    recent_count: Float[Tensor, " agent"]
    kept: Float[Tensor, " agent"]
    age: Float[Tensor, " agent"]
    elapsed: int
    level: Float[Tensor, " output"]
    earlier_level: Float[Tensor, " output"]
    is_numeric: bool

    @property
    def ever(self) -> Float[Tensor, " agent"]:
        """1 for agents with an outcome so far."""
        return (self.count > 0).to(self.total.dtype)

    @property
    def population(self) -> Float[Tensor, " output"]:
        """Class frequencies of all outcomes so far (add-one smoothed); of numbers the mean of the last ones."""
        if self.is_numeric:
            return (self.last * self.ever.unsqueeze(-1)).sum(-2) / self.ever.sum(-1, keepdim=True).clamp(min=1.0)
        total = self.total.sum(-2)
        count = self.count.sum(-1, keepdim=True)
        return (total + 1.0) / (count + total.shape[-1])

    def update(self, outcome: Float[Tensor, "agent output"], observed: Bool[Tensor, " agent"]) -> OutcomeHistory:
        """Return the history one time later.

        Args:
            outcome: indicators or numbers of that time.
            observed: True where there is one.
        """
        there = observed.unsqueeze(-1)
        seen = observed.to(self.total.dtype)
        last = torch.where(there, outcome, self.last)
        is_first = (self.count == 0).unsqueeze(-1)
        previous = torch.where(there, torch.where(is_first, outcome, self.last), self.previous)
        same = (outcome * self.last).sum(-1) * (self.count > 0)
        updated = replace(
            self,
            kept=self.kept + seen * same,
            last=last,
            first=torch.where(there & is_first, outcome, self.first),
            previous=previous,
            total=self.total + outcome * there,
            count=self.count + seen,
            recent=torch.where(there, RECENT_DECAY * self.recent + outcome, self.recent),
            recent_count=torch.where(observed, RECENT_DECAY * self.recent_count + 1.0, self.recent_count),
            age=torch.where(observed, 0.0, self.age + 1.0),
            elapsed=self.elapsed + 1,
        )
        population = updated.population
        among = seen.sum(-1, keepdim=True)
        level = ((outcome * there).sum(-2) + population) / (among + 1.0)
        level = torch.where(among > 0, level, self.level)
        earlier = self.level if self.elapsed else level
        return replace(updated, level=level, earlier_level=earlier)

    def aged(self, times: int) -> OutcomeHistory:
        """Return the history as it stands ``times`` later, without any new outcome of these agents."""
        return replace(self, age=self.age + times, elapsed=self.elapsed + times)


def empty_history(inputs: ModelInputs) -> OutcomeHistory:
    """Return the history before the first time."""
    agents = inputs.num_agents
    outputs = inputs.num_outputs
    nothing = inputs.x.new_zeros(agents, outputs)
    level = nothing.new_zeros(outputs)
    if not inputs.is_numeric:
        level = level + 1.0 / outputs
    none = inputs.x.new_zeros(agents)
    return OutcomeHistory(
        last=nothing,
        first=nothing,
        previous=nothing,
        total=nothing,
        count=none,
        recent=nothing,
        recent_count=none,
        kept=none,
        age=none,
        elapsed=0,
        level=level,
        earlier_level=level,
        is_numeric=inputs.is_numeric,
    )


def outcome_histories(inputs: ModelInputs) -> list[OutcomeHistory]:
    """Return the history after each time."""
    histories = []
    history = empty_history(inputs)
    for t in range(inputs.num_times):
        history = history.update(inputs.y[t], inputs.y_mask[t])
        histories.append(history)
    return histories


@dataclass(frozen=True, eq=False)
class FeatureHistory:
    """What the features of N agents up to a time say: NaN where nothing was observed yet.

    Attributes:
        last: last observed values ``[N, F]``.
        mean: running means ``[N, F]``.
        missing: 1 where a feature was not observed at this time ``[N, F]``.
    """

    last: Float[Tensor, "agent feature"]
    mean: Float[Tensor, "agent feature"]
    missing: Float[Tensor, "agent feature"]


def feature_histories(inputs: ModelInputs) -> list[FeatureHistory]:
    """Return what features say after each time."""
    shape = inputs.x.shape[1:]
    last = torch.full(shape, torch.nan, dtype=inputs.x.dtype, device=inputs.x.device)
    total = inputs.x.new_zeros(shape)
    count = inputs.x.new_zeros(shape)
    histories = []
    for t in range(inputs.num_times):
        mask = inputs.x_mask[t]
        last = torch.where(mask, inputs.x[t], last)
        total = total + torch.where(mask, inputs.x[t], 0.0)
        count = count + mask
        mean = torch.where(count > 0, total / count.clamp(min=1.0), torch.nan)
        histories.append(FeatureHistory(last, mean, (~mask).to(total.dtype)))
    return histories


def last_outcome_columns(
    history: OutcomeHistory, population: Float[Tensor, " output"]
) -> Float[Tensor, "agent column"]:
    """Last outcome of every agent, numbers against the population's mean; NaN where there was none.

    Indicators of classes are not taken relative to the population, whose shares may drift.

    Args:
        history: of the agents' outcomes.
        population: class frequencies or mean at the origin.
    """
    last = history.last
    if history.is_numeric:
        last = last - population.unsqueeze(-2)
    return torch.where(history.ever.unsqueeze(-1) > 0, last, torch.nan)


def age_columns(history: OutcomeHistory, population: Float[Tensor, " output"]) -> Float[Tensor, "agent column"]:
    """What age changes about the last outcome (at once, and up to three times later), the age, and presence.

    Args:
        history: of the agents' outcomes.
        population: class frequencies or mean at the origin.
    """
    ever = history.ever.unsqueeze(-1)
    age = history.age.unsqueeze(-1)
    last = _centred_last(history, population)
    is_old = (age >= 1).to(last.dtype) * last
    older = (age - 1.0).clamp(0.0, STALE - 1.0) / (STALE - 1.0) * last
    presence = history.count.unsqueeze(-1) / max(1, history.elapsed)
    return torch.cat([is_old, older, age.clamp(max=OLDEST) * ever, 1.0 - ever, presence], -1)


def _centred_last(history: OutcomeHistory, population: Float[Tensor, " output"]) -> Float[Tensor, "agent output"]:
    """Last outcome less what no knowledge would say (equal shares, or the mean); 0 where there was none."""
    nothing = population.unsqueeze(-2)
    if not history.is_numeric:
        nothing = torch.full_like(nothing, 1.0 / nothing.shape[-1])
    return (history.last - nothing) * history.ever.unsqueeze(-1)


def history_columns(history: OutcomeHistory, population: Float[Tensor, " output"]) -> Float[Tensor, "agent column"]:
    """Own past: shares of classes relative to the population's, the outcome before the last, how often it stays.

    Numbers: recent mean against the last one, last change and its size, mean change.

    Args:
        history: of the agents' outcomes.
        population: class frequencies or mean at the origin.
    """
    ever = history.ever.unsqueeze(-1)
    base = population.unsqueeze(-2)
    count = history.count.unsqueeze(-1)
    share = (history.total + PRIOR_COUNT * base) / (count + PRIOR_COUNT)
    stale = history.age.unsqueeze(-1).clamp(max=STALE) / STALE * ever
    if history.is_numeric:
        last = torch.where(ever > 0, history.last, base)
        previous = torch.where(ever > 0, history.previous, base)
        slope = (last - history.first) / (count - 1.0 + PRIOR_COUNT).clamp(min=1.0) * ever
        change = last - previous
        recent = history.recent / history.recent_count.unsqueeze(-1).clamp(min=1.0)
        away = (recent - last) * ever
        return torch.cat([away, change, slope, change.abs(), stale * away, stale * slope], -1)
    relative = share.log() - base.log()
    steps = (history.count - 1.0).clamp(min=0)
    common = (history.kept.sum(-1, keepdim=True) + 1.0) / (steps.sum(-1, keepdim=True) + 2.0)
    own = (history.kept + PRIOR_COUNT * common) / (steps + PRIOR_COUNT)
    stability = (torch.logit(own) - torch.logit(common)).unsqueeze(-1)
    previous = torch.where(ever > 0, history.previous, torch.nan)
    last = _centred_last(history, population)
    return torch.cat([relative, previous, stale * relative, stability * last], -1)


def neighbour_outcome_columns(
    history: OutcomeHistory, groups: Incidence, population: Float[Tensor, " output"]
) -> Float[Tensor, "agent column"]:
    """Means over co-members of their last outcomes (numbers: against the mean of all, and their last changes).

    Args:
        history: of the agents' outcomes.
        groups: who meets whom at the origin.
        population: class frequencies or mean, for agents whose co-members have no outcome.
    """
    outputs = history.last.shape[-1]
    base = population.unsqueeze(-2)
    ever = history.ever.unsqueeze(-1)
    values = [history.last]
    if history.is_numeric:
        values.append(history.last - history.previous)
    held = torch.cat(values, -1)
    mean, weight = groups.mean_of_others(held, ever.expand_as(held))
    known = weight[..., :outputs] > 0
    if not history.is_numeric:
        return torch.where(known, mean[..., :outputs], torch.nan)
    of_outcomes = torch.where(known, mean[..., :outputs] - base, 0.0)
    return torch.cat([of_outcomes, mean[..., outputs:]], -1)


def population_columns(history: OutcomeHistory) -> Float[Tensor, "agent column"]:
    """Logs of class shares among all at the last time, and their change; none for numbers.

    The drift of numbers is in the intercept and in each agent's own mean change.
    """
    agents = history.last.shape[-2]
    if history.is_numeric:
        return history.last[..., :0]
    level = history.level.log()
    joined = torch.cat([level, level - history.earlier_level.log()], -1).unsqueeze(-2)
    return joined.expand(*joined.shape[:-2], agents, joined.shape[-1])


def feature_columns(features: FeatureHistory, is_stale: bool = False) -> Float[Tensor, "agent column"]:
    """Last values, running means, and which were not observed at the origin.

    Args:
        features: of every agent.
        is_stale: treat all features as not observed at the origin.
    """
    missing = torch.ones_like(features.missing) if is_stale else features.missing
    return torch.cat([features.last, missing, features.mean], -1)


def neighbour_feature_columns(features: FeatureHistory, groups: Incidence) -> Float[Tensor, "agent column"]:
    """Means over co-members of their last features, less the mean of all, and how many groups an agent meets.

    NaN where none is known. What moves all agents alike says nothing about neighbours: with it in these columns but
    not in those of co-members' outcomes, effects of neighbours came out where there are none.

    Args:
        features: of every agent.
        groups: who meets whom at the origin.
    """
    known = ~features.last.isnan()
    relative = features.last - features.last.nanmean(0).nan_to_num()
    mean, weight = groups.mean_of_others(relative.nan_to_num(), known.to(features.last.dtype))
    mean = torch.where(weight > 0, mean, torch.nan)
    count = groups.group_count().unsqueeze(-1)
    alone = (count == 0).to(mean.dtype)
    return torch.cat([mean, alone, torch.log1p(count)], -1)


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates of every agent at every time, made on demand.

    Attributes:
        inputs: what is known.
        outcomes: histories of outcomes after each time.
        features: histories of features after each time.
    """

    inputs: ModelInputs
    outcomes: Sequence[OutcomeHistory]
    features: Sequence[FeatureHistory]

    def at(self, origin: int, staleness: int = 0) -> Float[Tensor, "agent column"]:
        """Covariates of all agents at an origin; NaN where a feature is not known.

        Args:
            origin: time index.
            staleness: pretend that each agent, taken by itself, was not observed for so many times.
        """
        history = self.outcomes[origin]
        population = history.population
        groups = self.inputs.groups[origin]
        seen_at = origin - staleness
        own = self.outcomes[seen_at].aged(staleness)
        return torch.cat(
            [
                last_outcome_columns(own, population),
                age_columns(own, population),
                history_columns(own, population),
                feature_columns(self.features[seen_at], is_stale=staleness > 0),
                neighbour_outcome_columns(history, groups, population),
                neighbour_feature_columns(self.features[origin], groups),
                population_columns(history),
            ],
            -1,
        )

    def reference(self, origin: int, staleness: int = 0) -> Float[Tensor, "agent output"]:
        """Last outcome of every agent (numbers), the population's mean where there was none ``[N, K]``.

        Args:
            origin: time index.
            staleness: as in :meth:`at`.
        """
        history = self.outcomes[origin - staleness]
        population = self.outcomes[origin].population
        return torch.where(history.ever.unsqueeze(-1) > 0, history.last, population)

    def block_names(self) -> tuple[str, ...]:
        """Block of every column, in the order of :meth:`at`."""
        outputs = self.inputs.num_outputs
        features = self.inputs.x.shape[2]
        is_numeric = self.inputs.is_numeric
        sizes = {
            "last outcome": outputs,
            "age": 2 * outputs + 3,
            "history": 6 * outputs if is_numeric else 4 * outputs,
            "features": 2 * features,
            "feature means": features,
            "neighbour outcomes": 2 * outputs if is_numeric else outputs,
            "neighbour features": features + 2,
            "population": 0 if is_numeric else 2 * outputs,
        }
        return tuple(name for name, size in sizes.items() for _ in range(size))

    def known_by(self, origin: int) -> Bool[Tensor, " agent"]:
        """True for agents of whom anything was observed up to an origin ``[N]``."""
        has_features = ~self.features[origin].last.isnan().all(-1)
        if not self.inputs.x.shape[2]:
            has_features = torch.zeros_like(has_features)
        return has_features | (self.outcomes[origin].count > 0)


def make_covariates(inputs: ModelInputs) -> Covariates:
    """Summarise inputs into the histories that covariates are made of."""
    return Covariates(inputs, outcome_histories(inputs), feature_histories(inputs))
