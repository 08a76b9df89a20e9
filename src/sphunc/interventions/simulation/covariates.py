r"""Covariates of the base regression in a simulation, and what the base says of the next outcomes.

The columns are those of :class:`~sphunc.model.covariates.Covariates`. At the origin they are the same in all samples.
From the next step on everybody's last outcome is one step old, so that only few columns differ between samples: the
last two outcomes, own history, means over co-members; and the population's level and trend, which all agents of a
sample share. The others (features, age, presence) enter the regression once for all samples.

Tensors of samples have structures, outputs, agents and draws as axes, ``[Q, C, N, R]``: sums over few outputs are fast
where outputs are not last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.interventions.simulation.population import SparseIncidence
from sphunc.model import (
    LARGEST_SCORE,
    PRIOR_COUNT,
    RECENT_DECAY,
    BaseRegression,
    Covariates,
    OutcomeHistory,
    with_intercept,
)

FEATURE_BLOCKS = ("features", "feature means", "neighbour features")
"""Blocks of columns that simulated outcomes do not change."""


def is_feature_column(covariates: Covariates) -> Bool[Tensor, " column"]:
    """True for the columns that features decide, among all ``[D]``."""
    return torch.tensor([name in FEATURE_BLOCKS for name in covariates.block_names()])


@dataclass(frozen=True, eq=False)
class Common:
    """What all agents of a sample share; both arms have that of the factual one.

    Attributes:
        population: class frequencies so far, or mean of the last numbers ``[Q, C, 1, R]``.
        level: class frequencies of the last time ``[Q, C, 1, R]``.
        earlier_level: those of the time before.
        stability: how often an outcome is the one before it, of classes ``[Q, 1, R]``.
    """

    population: Float[Tensor, "structure output one draw"]
    level: Float[Tensor, "structure output one draw"]
    earlier_level: Float[Tensor, "structure output one draw"]
    stability: Float[Tensor, "structure one draw"]


@dataclass(frozen=True, eq=False)
class SimulatedHistory:
    """Outcomes of the agents of an arm so far.

    Attributes:
        last: last outcome, indicators or numbers ``[Q, C, N, R]``.
        previous: the one before it.
        first: first outcome; of numbers.
        total: sum of all of classes; discounted sum of numbers, as ``recent`` of the model's histories.
        kept: how often an outcome was the same as the one before it, of classes ``[Q, N, R]``.
        count: how many there were ``[N, 1]``.
        recent_count: their discounted number ``[N, 1]``.
        elapsed: times so far.
        is_numeric: True for numbers.
    """

    last: Float[Tensor, "structure output agent draw"]
    previous: Float[Tensor, "structure output agent draw"]
    first: Float[Tensor, "structure output agent draw"]
    total: Float[Tensor, "structure output agent draw"]
    kept: Float[Tensor, "structure agent draw"]
    count: Float[Tensor, "agent one"]
    recent_count: Float[Tensor, "agent one"]
    elapsed: int
    is_numeric: bool

    def update(self, outcome: Float[Tensor, "structure output agent draw"]) -> SimulatedHistory:
        """Return the history one step later, everybody's outcome observed.

        Args:
            outcome: indicators or numbers.
        """
        had_none = self.count == 0
        last = self.last
        first = self.first
        if bool(had_none.any()):
            last = torch.where(had_none, outcome, last)
            first = torch.where(had_none, outcome, first)
        updated = replace(
            self, last=outcome, previous=last, first=first, count=self.count + 1.0, elapsed=self.elapsed + 1
        )
        if self.is_numeric:
            recent_count = RECENT_DECAY * self.recent_count + 1.0
            return replace(updated, total=RECENT_DECAY * self.total + outcome, recent_count=recent_count)
        # Indicators of who had none are 0.
        kept = self.kept + (outcome * self.last).sum(1)
        return replace(updated, total=self.total + outcome, kept=kept)

    def common(self, before: Common) -> Common:
        """What all agents share now; the history is that of everybody.

        Args:
            before: the same one step earlier.
        """
        if self.is_numeric:
            return replace(before, population=self.last.mean(2, keepdim=True))
        outputs = self.last.shape[1]
        population = (self.total.sum(2, keepdim=True) + 1.0) / (self.count.sum() + outputs)
        agents = self.last.shape[2]
        level = (self.last.sum(2, keepdim=True) + population) / (agents + 1.0)
        steps = (self.count - 1.0).sum()
        stability = (self.kept.sum(1, keepdim=True) + 1.0) / (steps + 2.0)
        return Common(population, level, before.level, stability)

    def columns(self, common: Common, groups: SparseIncidence) -> Float[Tensor, "structure column agent draw"]:
        """Columns that differ between samples, in the order of :attr:`OutcomeRegression.sampled`; 0 where unknown.

        Args:
            common: what all agents share.
            groups: who meets whom, structures side by side.
        """
        last = self.last
        if self.is_numeric:
            change = last - self.previous
            recent = self.total / self.recent_count.clamp(min=1.0)
            slope = (last - self.first) / (self.count - 1.0 + PRIOR_COUNT).clamp(min=1.0)
            met = _neighbour_means(torch.cat([last, change], 1), groups)
            numbers = last.shape[1]
            known = ~groups.is_alone[: last.shape[2]].unsqueeze(-1)
            met[:, :numbers] = (met[:, :numbers] - common.population) * known
            away = last - common.population
            return torch.cat([away, recent - last, change, slope, change.abs(), met], 1)
        prior = PRIOR_COUNT * common.population
        relative = ((self.total + prior) / (common.population * (self.count + PRIOR_COUNT))).log_()
        own = (self.kept + PRIOR_COUNT * common.stability) / (self.count - 1.0 + PRIOR_COUNT)
        stability = (torch.logit(own) - torch.logit(common.stability)).unsqueeze(1)
        centred = last - 1.0 / last.shape[1]
        met = _neighbour_means(last, groups)
        return torch.cat([last, relative, self.previous, stability * centred, met], 1)

    def select(self, agents: Int[Tensor, " agent"]) -> SimulatedHistory:
        """Return the history of some agents.

        Args:
            agents: their indices.
        """
        return replace(
            self,
            last=self.last[:, :, agents],
            previous=self.previous[:, :, agents],
            first=self.first[:, :, agents],
            total=self.total[:, :, agents],
            kept=self.kept[:, agents],
            count=self.count[agents],
            recent_count=self.recent_count[agents],
        )


def _neighbour_means(values: Float[Tensor, "structure output agent draw"], groups: SparseIncidence) -> Tensor:
    structures, outputs, agents, draws = values.shape
    by_agent = values.transpose(1, 2).reshape(structures * agents, outputs * draws)
    met = groups.mean_of_known_others(by_agent)
    return met.view(structures, agents, outputs, draws).transpose(1, 2)


def simulated_history(
    history: OutcomeHistory, structures: int, draws: int, dtype: torch.dtype
) -> tuple[SimulatedHistory, Common]:
    """Outcomes observed up to the origin, for a simulation to go on from, and what all agents share there.

    Args:
        history: of the model's covariates.
        structures: Q.
        draws: R.
        dtype: of the result.
    """

    def plane(values: Tensor) -> Tensor:
        return values.mT.to(dtype)[None, :, :, None].expand(structures, -1, -1, draws)

    def shared(values: Tensor) -> Tensor:
        return values.to(dtype)[None, :, None, None].expand(structures, -1, -1, draws)

    total = history.recent if history.is_numeric else history.total
    start = SimulatedHistory(
        last=plane(history.last),
        previous=plane(history.previous),
        first=plane(history.first),
        total=plane(total),
        kept=history.kept.to(dtype)[None, :, None].expand(structures, -1, draws),
        count=history.count.to(dtype).unsqueeze(1),
        recent_count=history.recent_count.to(dtype).unsqueeze(1),
        elapsed=history.elapsed,
        is_numeric=history.is_numeric,
    )
    nothing = history.kept.new_zeros(structures, 1, draws, dtype=dtype)
    level = shared(history.level)
    return start, Common(shared(history.population), level, shared(history.earlier_level), nothing)


class OutcomeRegression:
    """The base regression, for coefficients of several structures.

    Outputs are log probabilities of classes up to a constant; of numbers changes, then log variances.
    """

    def __init__(
        self,
        base: BaseRegression,
        covariates: Covariates,
        coefficients: Float[Tensor, "structure column output"],
        dtype: torch.dtype,
    ) -> None:
        """Sort the columns by what they differ between.

        Args:
            base: fitted.
            covariates: whose columns it has.
            coefficients: drawn, intercept last.
            dtype: of the results.
        """
        names = covariates.block_names()
        device = coefficients.device
        outputs = covariates.inputs.num_outputs
        at = torch.arange(len(names))
        block = {name: at[[one == name for one in names]] for name in names}
        history = block["history"]
        if base.is_numeric:
            sampled = [block["last outcome"], history[: 4 * outputs], block["neighbour outcomes"]]
        else:
            sampled = [block["last outcome"], history[: 2 * outputs], history[3 * outputs :]]
            sampled.append(block["neighbour outcomes"])
        self.base = base
        self.dtype = dtype
        self.is_feature = is_feature_column(covariates).to(device)
        self.sampled = torch.cat(sampled).to(device)
        self.common = at[[name == "population" for name in names]].to(device)
        self.neighbours = slice(len(self.sampled) - len(block["neighbour outcomes"]), len(self.sampled))
        self.presence = int(block["age"][-1])
        self.is_fixed = torch.ones(len(names) + 1, dtype=torch.bool, device=device)
        self.is_fixed[self.sampled] = False
        self.is_fixed[self.common] = False
        self.weights = coefficients.to(dtype)
        if base.is_numeric:
            spread = base.log_variance.to(self.weights).expand(len(coefficients), -1, -1)
            self.weights = torch.cat([self.weights, spread], -1)
        standardiser = base.standardiser
        inverse = torch.where(standardiser.is_constant, 0.0, 1.0 / standardiser.scale)
        self.mean = standardiser.mean.to(dtype)
        self.inverse = inverse.to(dtype)

    def design(self, covariates: Float[Tensor, "agent column"]) -> Float[Tensor, "agent column2"]:
        """Standardised columns with intercept, of covariates that are the same in all samples.

        Args:
            covariates: not standardised.
        """
        return with_intercept(self.base.standardiser(covariates)).to(self.dtype)

    def feature_design(self, covariates: Float[Tensor, "agent column"]) -> Float[Tensor, "agent column2"]:
        """The same where outcomes are simulated: what features give, and the intercept; presence is left out.

        Args:
            covariates: with features as last observed, not standardised.
        """
        columns = torch.where(self.is_feature, covariates, 0.0)
        columns[:, self.presence] = torch.nan
        return self.design(columns)[:, self.is_fixed]

    def at_origin(
        self, design: Float[Tensor, "agent column"], structures: Int[Tensor, " structure"]
    ) -> Float[Tensor, "structure output agent one"]:
        """Outputs of covariates that are the same in all samples.

        Args:
            design: of :meth:`design`.
            structures: indices.
        """
        return (self.weights[structures].mT @ design.mT).unsqueeze(-1)

    def by_features(
        self, design: Float[Tensor, "agent column"], structures: Int[Tensor, " structure"]
    ) -> Float[Tensor, "structure output agent one"]:
        """Outputs of what is the same in all samples, the intercept included, but for the presence of agents.

        Args:
            design: of :meth:`feature_design`.
            structures: indices.
        """
        return (self.weights[structures][:, self.is_fixed].mT @ design.mT).unsqueeze(-1)

    def __call__(
        self,
        history: SimulatedHistory,
        common: Common,
        groups: SparseIncidence,
        by_features: Float[Tensor, "structure output agent one"],
        structures: Int[Tensor, " structure"],
    ) -> Float[Tensor, "structure output agent draw"]:
        """Outputs after at least one simulated step.

        Args:
            history: of the agents of an arm.
            common: what all agents share.
            groups: who meets whom, structures side by side.
            by_features: of :meth:`by_features`.
            structures: indices.
        """
        weights = self.weights[structures]
        z = history.columns(common, groups)
        self._standardise(z, self.sampled)
        agents = z.shape[2]
        alone = groups.is_alone[:agents]
        if not history.is_numeric and bool(alone.any()):
            z[:, self.neighbours, alone] = 0.0
        outputs = (weights[:, self.sampled].mT @ z.flatten(2)).view(len(z), -1, *z.shape[2:])
        presence = history.count / history.elapsed
        presence = (presence - self.mean[self.presence]) * self.inverse[self.presence]
        presence = presence.clamp_(-LARGEST_SCORE, LARGEST_SCORE)
        fixed = by_features + weights[:, self.presence, :, None, None] * presence
        if not history.is_numeric:
            level = common.level.log()
            trend = torch.cat([level, level - common.earlier_level.log()], 1)
            self._standardise(trend, self.common)
            by_trend = weights[:, self.common].mT @ trend.flatten(2)
            outputs += by_trend.unsqueeze(2)
        return outputs.add_(fixed)

    def _standardise(self, columns: Float[Tensor, "structure column agent draw"], which: Tensor) -> None:
        mean = self.mean[which, None, None]
        inverse = self.inverse[which, None, None]
        columns.sub_(mean).mul_(inverse).clamp_(-LARGEST_SCORE, LARGEST_SCORE)
