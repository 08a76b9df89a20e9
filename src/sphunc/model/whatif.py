"""What if: `intervene`, `counterfactual` and their relatives, for every fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import torch
from torch import Tensor, nn

from sphunc._typing import Whole
from sphunc.causal.action import Action
from sphunc.causal.arms import Comparison, compare
from sphunc.causal.counts import is_whole
from sphunc.causal.design import Design, Layout
from sphunc.causal.effects import Effect
from sphunc.causal.interventions import Do, Intervention, Plan, Shift, flatten
from sphunc.causal.monte_carlo import variance_of_mean
from sphunc.causal.outcome_entropy import latent_bound
from sphunc.causal.simulate import simulate
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.alignment import Known
from sphunc.model.calibration import TemperatureLaw
from sphunc.model.config import SphUncConfig
from sphunc.model.forecast import Forecast, next_time
from sphunc.model.inputs import check_data
from sphunc.model.query import Amounts, Query, check_plan, check_structure, names_of
from sphunc.model.retrospect import check_retrospect, retrospect
from sphunc.model.situation import Scenario, Situation, posterior, situate
from sphunc.model.structure import Structure

ANGLES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


@dataclass(frozen=True, eq=False)
class Contrast:
    """Difference between two interventions in one agent's outcome, under the same noise and structures.

    Attributes:
        target: the agent.
        names: of the classes, or of the numbers.
        difference: alternative less reference, probabilities or means ``[C]``.
        error: Monte Carlo standard error ``[C]``.
    """

    target: Hashable
    names: tuple[str, ...]
    difference: Tensor
    error: Tensor

    def to_dict(self) -> dict[str, float]:
        """Return the difference by name."""
        return dict(zip(self.names, self.difference.tolist(), strict=True))


class WhatIf(ABC):
    """Questions about interventions, asked of a fitted model."""

    config_: SphUncConfig
    network_: nn.Module
    structure_: Structure
    temperature_: TemperatureLaw
    known_: Known

    @abstractmethod
    def predict(self, data: TemporalHypergraph, origin: Whole | None = None) -> Forecast:
        """Forecast; simulations without an intervention reproduce it."""

    @abstractmethod
    def _prepare(self, data: TemporalHypergraph) -> TemporalHypergraph:
        """Bring data into the order and the groups that the network knows."""

    @abstractmethod
    def _check_fitted(self, asked: str) -> None:
        """Refuse to answer before fit."""

    def intervene(
        self,
        *interventions: Any,
        data: TemporalHypergraph | None = None,
        origin: Whole | None = None,
        horizon: Whole | None = None,
        samples: Whole | None = None,
        structures: Whole | None = None,
        seed: Whole = 0,
        scenario: Scenario | None = None,
    ) -> Effect:
        """Simulate what interventions do to every agent's outcome.

        Monte Carlo over noise and over structures drawn from the posterior, with and without the intervention under
        the same noise. Without any intervention the result is the forecast of :meth:`predict`, exactly.

        Args:
            interventions: what is changed; see :class:`~sphunc.Do` and its relatives.
            data: the past, as for :meth:`predict`.
            origin: time index to start from; the last time by default.
            horizon: steps to simulate; that of the model by default.
            samples: Monte Carlo samples, rounded up to a multiple of ``structures``; the setting by default.
            structures: drawn from the posterior; 20 by default, beyond 100 samples a fifth of them, so that each meets
                several draws of the noise and errors fall with the root of ``samples``.
            seed: of noise and structures.
            scenario: links that act in place of those learned, for models and comparisons without them.

        Example:
            >>> import sphunc
            >>> world = sphunc.simulate("snare", agents=40, times=5, seed=0)
            >>> model = sphunc.SphUnc(dim=8, epochs=2, folds=2, seed=0).fit(world.data, verbose=False)
            >>> first, name = world.data.node_ids[0], world.data.class_names[0]
            >>> effect = model.intervene(sphunc.Do(first, toward=name), data=world.data, horizon=2, samples=20)
            >>> bool((effect.within + effect.identification == effect.entropy).all())
            True
        """
        amounts = Amounts(origin=origin, horizon=horizon, samples=samples, structures=structures, seed=seed)
        query = self._query("intervene", interventions, data, amounts, scenario)
        situation = self._situation(query)
        action = query.action(situation.direct)
        chosen = query.scenario
        design = Design(chosen.links, chosen.strengths, query.draws, query.amounts.horizon, query.amounts.seed)
        comparisons, bounds = _run(situation, action, design)
        return self._answer(query, action, comparisons, bounds)

    def counterfactual(
        self,
        *interventions: Any,
        data: TemporalHypergraph | None = None,
        origin: Whole | None = None,
        horizon: Whole | None = None,
        samples: Whole | None = None,
        structures: Whole | None = None,
        seed: Whole = 0,
        scenario: Scenario | None = None,
    ) -> Effect:
        """Tell what would have happened: noise is abducted from all of ``data``, then replayed under the intervention.

        Arguments as for :meth:`intervene`, but ``data`` reaches beyond the origin: what was seen after it says which
        noise there was. Times after the last one get fresh noise. ``result.coupling`` names what is held fixed.
        """
        amounts = Amounts(origin=origin, horizon=horizon, samples=samples, structures=structures, seed=seed)
        query = self._query("counterfactual", interventions, data, amounts, scenario)
        check_retrospect(query.plan, self.config_)
        last = min(query.data.num_times - 1, query.amounts.origin + query.amounts.horizon)
        seen = self._prepare(query.data.until(last))
        situation = self._situation(query, seen)
        action = query.action(situation.direct)
        told = retrospect(situation, action, query, seen)
        answer = self._answer(query, action, told.comparisons, told.bounds)
        return replace(answer, coupling=told.coupling, observed=told.observed)

    def effect(
        self,
        target_node: Hashable,
        interventions_alternative: Any,
        interventions_reference: Any = (),
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> Contrast:
        """Compare two interventions in one agent's outcome, under the same noise and structures.

        Args:
            target_node: the agent.
            interventions_alternative: interventions, or a mapping from agents to what their state is set to.
            interventions_reference: the same; nothing by default.
            observed_data: the past.
            num_samples_to_draw: Monte Carlo samples.
            **options: origin, horizon, structures and seed of :meth:`intervene`.
        """
        self._check_fitted("effect")
        data = check_data("effect", observed_data)
        if target_node not in data.node_ids:
            raise ArgumentError(f"target_node {target_node!r} is not in the data; it has {data.num_nodes} agents")
        alternative, reference = (
            self.intervene(
                *as_interventions(given, self.known_.classes), data=data, samples=num_samples_to_draw, **options
            )
            for given in (interventions_alternative, interventions_reference)
        )
        return contrast(alternative, reference, target_node)

    def average_causal_effect(
        self,
        target_node: Hashable,
        interventions_alternative: Any,
        interventions_reference: Any = (),
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> dict[str, float]:
        """Return the difference that :meth:`effect` tells, by class; arguments as in ``dowhy.gcm``."""
        arms = interventions_alternative, interventions_reference
        return self.effect(target_node, *arms, observed_data, num_samples_to_draw, **options).to_dict()

    def interventional_samples(
        self,
        interventions: Any,
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Draw outcomes at the target after interventions: one row per sample, one column per agent."""
        self._check_fitted("interventional_samples")
        given = as_interventions(interventions, self.known_.classes)
        return draw_outcomes(self.intervene(*given, data=observed_data, samples=num_samples_to_draw, **options))

    def counterfactual_samples(
        self, interventions: Any, observed_data: TemporalHypergraph | None = None, **options: Any
    ) -> pl.DataFrame:
        """Draw counterfactual outcomes at the target: one row per sample, one column per agent."""
        self._check_fitted("counterfactual_samples")
        given = as_interventions(interventions, self.known_.classes)
        return draw_outcomes(self.counterfactual(*given, data=observed_data, **options))

    def sweep(
        self,
        agent: Hashable,
        toward: Any,
        angles: Sequence[float] = ANGLES,
        **options: Any,
    ) -> pl.DataFrame:
        """H_causal against the strength of an intervention: an agent is turned by each of the angles.

        Args:
            agent: whom to turn.
            toward: a class, an agent or a unit vector.
            angles: radians.
            **options: of :meth:`intervene`.

        Returns:
            One row per angle, means over the other agents: entropy, within, identification, standard error, effect.
        """
        rows = [_sweep_row(angle, self.intervene(Shift(agent, toward, angle), **options)) for angle in angles]
        return pl.DataFrame(rows)

    def _query(
        self, asked: str, interventions: Iterable[Any], data: Any, amounts: Amounts, scenario: Scenario | None
    ) -> Query:
        self._check_fitted(asked)
        plan = check_plan(interventions, self.config_)
        data = check_data(asked, data)
        amounts = amounts.settled(data, self.config_, self.structure_.links.shape[1])
        past = self._prepare(data.until(amounts.origin))
        is_learned = scenario is None
        if scenario is None:
            check_structure(asked, self.config_, self.structure_)
            whose = self.known_.agents, past.node_ids
            scenario = posterior(self.structure_, *whose, amounts.structures, amounts.seed)
        names = names_of(past, self.known_.classes, self.config_.dim)
        query = Query(plan, data, past, amounts, scenario, names, is_learned)
        query.check()
        return query

    def _situation(self, query: Query, seen: TemporalHypergraph | None = None) -> Situation:
        network: Any = self.network_
        network.eval()
        return situate(
            network, self.temperature_, query.past, query.scenario, query.names, query.amounts.horizon, seen=seen
        )

    def _answer(self, query: Query, action: Action, comparisons: list[Comparison], bounds: list[Tensor]) -> Effect:
        amounts, agents = query.amounts, query.past.node_ids
        touched = torch.zeros(len(agents), dtype=torch.bool)
        touched[list(action.touched)] = True
        steps = range(1, amounts.horizon + 1)

        def stacked(name: str) -> Tensor:
            return torch.stack([getattr(one, name) for one in comparisons])

        return Effect(
            plan=query.plan,
            agents=agents,
            intervened=touched,
            origin=query.past.times[-1],
            times=tuple(next_time(query.data.times, amounts.origin + step) for step in steps),
            class_names=self.known_.classes,
            outcome_names=self.known_.outcomes,
            outcomes=stacked("outcome"),
            factual_outcomes=stacked("factual"),
            effect_errors=stacked("error"),
            variances=stacked("variance"),
            entropies=stacked("total"),
            withins=stacked("within"),
            identifications=stacked("identification"),
            entropy_errors=stacked("entropy_error"),
            latent_bounds=torch.stack(bounds),
            confidence=_confidence(self.structure_, self.known_.agents, agents, query.is_learned),
            samples=comparisons[-1].samples.transpose(0, 1),
            structure_id=torch.arange(len(query.scenario.strengths)).repeat_interleave(query.draws),
            seed=amounts.seed,
        )


def _run(situation: Situation, action: Action, design: Design) -> tuple[list[Comparison], list[Tensor]]:
    comparisons: list[Comparison] = []
    bounds: list[Tensor] = []
    moments = simulate(situation.mechanism, situation.start, action, design, fleeting=True)
    for reading, moment in zip(situation.readings, moments, strict=True):
        is_last = len(comparisons) + 1 == design.horizon
        before = comparisons[-1] if comparisons else None
        one = compare(moment, reading, design.draws, start=before, keep_samples=is_last)
        comparisons.append(one)
        bounds.append(latent_bound(moment.resultant, situation.mechanism.dim))
    return comparisons, bounds


def _confidence(
    structure: Structure, known: Sequence[Hashable], agents: Sequence[Hashable], is_learned: bool
) -> Tensor:
    """Identification confidence of each agent's parents; 0 for newcomers, 1 where the links were given."""
    if not is_learned or structure.graph is None:
        return torch.ones(len(agents))
    table = dict(zip(known, structure.graph.agent_confidence.tolist(), strict=True))
    return torch.tensor([table.get(agent, 0.0) for agent in agents])


def contrast(alternative: Effect, reference: Effect, target: Hashable) -> Contrast:
    """Compare two effects that share data, seed and amounts, in one agent's outcome at their target."""
    i = alternative.agents.index(target)
    structures = int(alternative.structure_id.max()) + 1
    gap = alternative.samples[:, i] - reference.samples[:, i]
    error = variance_of_mean(gap, Layout.of(structures, len(gap) // structures)).sqrt()
    names = alternative.class_names or tuple(f"mean_{name}" for name in alternative.labels)
    return Contrast(target, names, alternative.outcomes[-1, i] - reference.outcomes[-1, i], error)


def _sweep_row(angle: float, effect: Effect) -> dict[str, float]:
    others = ~effect.intervened
    means = {
        "entropy": effect.entropy,
        "within": effect.within,
        "identification": effect.identification,
        "standard_error": effect.standard_error,
        "effect": effect.size,
    }
    own = {"own_entropy": float(effect.entropy[effect.intervened].mean())}
    return {"angle": float(angle), **{name: float(value[others].mean()) for name, value in means.items()}, **own}


def draw_outcomes(effect: Effect) -> pl.DataFrame:
    """Draw one outcome per sample and agent at the target; numbers are the samples' means.

    Several numbers per agent have a column each, ``<agent> <name of the number>``.
    """
    columns = [str(agent) for agent in effect.agents]
    if effect.numeric:
        ends = [f" {name}" for name in effect.labels] if len(effect.labels) > 1 else [""]
        means = effect.samples.flatten(1).unbind(1)
        names = [name + end for name in columns for end in ends]
        return pl.DataFrame({name: column.tolist() for name, column in zip(names, means, strict=True)})
    generator = torch.Generator().manual_seed(effect.seed)
    S, N, C = effect.samples.shape
    drawn = torch.multinomial(effect.samples.reshape(-1, C), 1, generator=generator).view(S, N)
    names = effect.class_names
    return pl.DataFrame({name: [names[c] for c in drawn[:, i].tolist()] for i, name in enumerate(columns)})


def as_interventions(given: Any, classes: tuple[str, ...]) -> tuple[Intervention, ...]:
    """Return interventions as they are, or :class:`Do` for every entry of a mapping from agents to states."""
    if isinstance(given, Mapping):
        return tuple(_as_do(agent, value, classes) for agent, value in given.items())
    return flatten([given] if isinstance(given, Intervention | Plan) else given)


def _as_do(agent: Hashable, value: Any, classes: tuple[str, ...]) -> Do:
    if isinstance(value, str) and value in classes:
        return Do(agent, toward=value)
    return Do(agent, observed=value) if isinstance(value, str) or is_whole(value) else Do(agent, value)
