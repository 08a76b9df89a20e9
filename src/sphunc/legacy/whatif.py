"""What if: `intervene`, `counterfactual` and their relatives, for every fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import polars as pl
import torch
from torch import Tensor, nn

from sphunc._typing import Whole
from sphunc.causal.action import Action
from sphunc.causal.arms import Comparison, compare
from sphunc.causal.basis import Basis, basis_for
from sphunc.causal.beside import with_offsets
from sphunc.causal.counterfactual import COUPLING
from sphunc.causal.design import Design
from sphunc.causal.effects import Effect
from sphunc.causal.interventions import Shift, is_name
from sphunc.causal.outcome_entropy import latent_bound
from sphunc.causal.simulate import simulate
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.alignment import Known
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.dowhy import Contrast, as_interventions, contrast, draw_outcomes, with_samples
from sphunc.legacy.forecast import Forecast, next_time
from sphunc.legacy.hindsight import is_blank, look_back, names_in_hindsight
from sphunc.legacy.inputs import check_data
from sphunc.legacy.query import Amounts, Query, check_plan, check_structure, names_of
from sphunc.legacy.retrospect import check_retrospect, retrospect
from sphunc.legacy.scenario import Scenario, check_scenario
from sphunc.legacy.situation import Situation, posterior, situate
from sphunc.legacy.structure import Structure

ANGLES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


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
                several draws of the noise and errors fall with the root of ``samples``; below 80 a fourth, but two.
                Errors are NaN where fewer than four structures, or draws for each, do not tell them, and for agents in
                whom fewer than 20 structures agree; ``within`` and ``identification`` are NaN with only one drawn.
            seed: of noise and structures.
            scenario: links that act in place of those learned, for models and comparisons without them:
                :func:`~sphunc.known_links` or :func:`~sphunc.no_links`.

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
        return self._simulated(self._query("intervene", interventions, data, amounts, scenario))

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

        Arguments as for :meth:`intervene`, but ``data`` reaches beyond the origin, by default the last time but
        ``horizon``: features, outcomes and groups seen at a step and before say which noise and which structure there
        was. Draws are weighted, agent by agent, by how likely they made what it showed; errors count the effective
        samples, and are NaN with fewer than four. Times after the last one get fresh noise; if nothing at all was seen
        after the origin the answer is that of :meth:`intervene`. ``result.coupling`` names what is held fixed.
        """
        amounts = Amounts(origin=origin, horizon=horizon, samples=samples, structures=structures, seed=seed)
        query = self._query("counterfactual", interventions, data, amounts, scenario)
        return self._told(query)

    def _simulated(self, query: Query, *beside: Query) -> Effect:
        """Simulate a question; those it is compared with share its directions, and with them the noise."""
        situation = self._situation(query)
        action, *others = (one.action(situation.direct) for one in (query, *beside))
        basis, chosen = basis_for(situation.mechanism, situation.start, action, *others), query.scenario
        design = Design(chosen.links, chosen.strengths, query.draws, query.amounts.horizon, query.amounts.seed)
        comparisons, bounds, decided = _run(situation, action, design, basis, chosen.order)
        return self._answer(query, {*action.touched, *decided}, comparisons, bounds)

    def _told(self, query: Query) -> Effect:
        check_retrospect(query.plan, self.config_)
        if query.seen is None or is_blank(query.seen, query.amounts.origin):  # nothing to abduct: all noise is fresh
            answer = self._simulated(query)
            return replace(answer, coupling=COUPLING, observed=torch.zeros(answer.entropies.shape, dtype=torch.bool))
        network: Any = self.network_
        situation = self._situation(query)
        action = query.action(situation.direct)
        told = retrospect(situation, action, query, look_back(network, self.temperature_, query))
        answer = self._answer(query, set(action.touched), told.comparisons, told.bounds)
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
        arms = interventions_alternative, interventions_reference
        options = with_samples("effect", options, num_samples_to_draw)
        return self._contrast("effect", target_node, arms, observed_data, options)

    def _contrast(self, asked: str, target_node: Any, arms: tuple[Any, Any], data: Any, options: Any) -> Contrast:
        self._check_fitted(asked)
        data = check_data(asked, data)
        if not is_name(target_node) or target_node not in data.node_ids:
            raise ArgumentError(f"target_node {target_node!r} is not in the data; it has {data.num_nodes} agents")
        alternative, reference = (self._asked(asked, arm, data, **options) for arm in arms)
        answers = self._simulated(alternative, reference), self._simulated(reference, alternative)
        return contrast(*answers, target_node, alternative.scenario.order)

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
        options = with_samples("average_causal_effect", options, num_samples_to_draw)
        return self._contrast("average_causal_effect", target_node, arms, observed_data, options).to_dict()

    def interventional_samples(
        self,
        interventions: Any,
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Draw outcomes at the target after interventions.

        One row per sample, one column per agent, or per agent and number (``<agent> <name of the number>``).
        """
        options = with_samples("interventional_samples", options, num_samples_to_draw)
        query = self._asked("interventional_samples", interventions, observed_data, **options)
        return draw_outcomes(self._simulated(query), query.amounts.samples)

    def counterfactual_samples(
        self,
        interventions: Any,
        observed_data: TemporalHypergraph | None = None,
        noise_data: None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Draw counterfactual outcomes at the target: rows and columns as in :meth:`interventional_samples`.

        ``noise_data`` has a place in dowhy only: noise is always abducted from ``observed_data``.
        """
        if noise_data is not None:
            raise ArgumentTypeError(
                f"counterfactual_samples takes no noise_data, got {type(noise_data).__name__}: noise is abducted from "
                "observed_data; leave it out"
            )
        query = self._asked("counterfactual_samples", interventions, observed_data, **options)
        return draw_outcomes(self._told(query), query.amounts.samples)

    def sweep(
        self,
        agent: Hashable,
        toward: Any = None,
        angles: Any = ANGLES,
        *,
        observed: Any = None,
        **options: Any,
    ) -> pl.DataFrame:
        """H_causal against the strength of an intervention: an agent is turned by each of the angles.

        Args:
            agent: whom to turn.
            toward: a class, an agent or a unit vector.
            angles: radians.
            observed: in place of ``toward``, an agent or a time as in :class:`~sphunc.Do`.
            **options: of :meth:`intervene`.

        Returns:
            One row per angle. Means over the other agents: entropy, within, identification, effect, and agent_error,
            the Monte Carlo standard error of one agent's entropy (of those that have one; the error of the mean is
            smaller). own_entropy is that of the agent who is turned.
        """
        turns, data = _turns(agent, toward, angles, observed), options.pop("data", None)
        queries = ((turn.angle, self._asked("sweep", turn, data, **options)) for turn in turns)
        return pl.DataFrame([_sweep_row(angle, self._simulated(query)) for angle, query in queries])

    def _asked(self, asked: str, interventions: Any, data: Any, /, scenario: Any = None, **amounts: Any) -> Query:
        """Question in the words of dowhy."""
        self._check_fitted(asked)
        data = check_data(asked, data)
        given = as_interventions(interventions, self.known_.classes, data)
        unknown = sorted(set(amounts) - {f.name for f in fields(Amounts)})
        if unknown:
            samples = "samples, " * (asked in ("sweep", "counterfactual_samples"))
            raise ArgumentTypeError(
                f"{asked} does not know the option {unknown[0]!r}; its options are origin, horizon, {samples}"
                "structures, seed and scenario"
            )
        return self._query(asked, given, data, Amounts(**amounts), scenario)

    def _query(self, asked: str, interventions: Iterable[Any], data: Any, amounts: Amounts, scenario: Any) -> Query:
        self._check_fitted(asked)
        plan = check_plan(interventions, self.config_)
        data = check_data(asked, data)
        looks_back, links = asked.startswith("counterfactual"), self.structure_.links.shape[1]
        amounts = amounts.settled(data, self.config_, links, looks_back=looks_back)
        past, seen = self._prepare(data.until_index(amounts.origin)), None
        is_learned = scenario is None
        if scenario is None:
            check_structure(asked, self.config_, self.structure_)
            whose = self.known_.agents, past.node_ids
            scenario = posterior(self.structure_, *whose, amounts.structures, amounts.seed)
        else:
            check_scenario(scenario, past.num_nodes)
        names = names_of(past, self.known_.classes, self.config_.dim, self.config_.grouping)
        if looks_back:
            seen = self._prepare(data.until_index(min(data.num_times - 1, amounts.origin + amounts.horizon)))
            names = names_in_hindsight(names, plan, seen, amounts, self.config_.grouping)
        query = Query(plan, data, past, amounts, scenario, names, is_learned, seen)
        query.check()
        return query

    def _situation(self, query: Query) -> Situation:
        network: Any = self.network_
        network.eval()
        return situate(network, self.temperature_, query.past, query.scenario, query.names, query.amounts.horizon)

    def _answer(self, query: Query, whom: set[int], comparisons: list[Comparison], bounds: list[Tensor]) -> Effect:
        amounts, agents = query.amounts, query.past.node_ids
        touched = torch.zeros(len(agents), dtype=torch.bool)
        touched[sorted(whom)] = True
        steps = range(1, amounts.horizon + 1)

        def stacked(name: str) -> Tensor:
            return torch.stack([getattr(one, name) for one in comparisons])

        answer = Effect(
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
        return _as_told(answer, query.scenario)


def _as_told(answer: Effect, scenario: Scenario) -> Effect:
    """Put NaN where a single structure, drawn from many, tells nothing, and no error where nothing was changed."""
    if not len(answer.plan):
        answer = replace(answer, effect_errors=torch.zeros_like(answer.effect_errors))
    if not scenario.is_single_draw:
        return answer
    untold = torch.full_like(answer.entropies, torch.nan)
    return replace(answer, withins=untold, identifications=untold, entropy_errors=untold)


def _run(
    situation: Situation, action: Action, design: Design, basis: Basis | None, order: Tensor | None
) -> tuple[list[Comparison], list[Tensor], tuple[int, ...]]:
    """Compare both arms after every step; also returns whom policies set."""
    comparisons: list[Comparison] = []
    bounds: list[Tensor] = []
    decided: tuple[int, ...] = ()
    moments = simulate(situation.mechanism, situation.start, action, design, basis, fleeting=True)
    for reading, moment in zip(situation.readings, moments, strict=True):
        is_last = len(comparisons) + 1 == design.horizon
        before = comparisons[-1] if comparisons else None
        offsets = None if situation.beside is None else situation.beside.offsets(comparisons, action.groups_cut)
        moment = moment if offsets is None else with_offsets(moment, offsets)
        one = compare(moment, reading, design.draws, start=before, keep_samples=is_last, order=order)
        comparisons.append(one)
        bounds.append(latent_bound(moment.resultant, situation.mechanism.dim))
        decided = moment.decided
    return comparisons, bounds, decided


def _confidence(
    structure: Structure, known: Sequence[Hashable], agents: Sequence[Hashable], is_learned: bool
) -> Tensor:
    """Identification confidence of each agent's parents; 0 for newcomers, 1 where the links were given."""
    if not is_learned or structure.graph is None:
        return torch.ones(len(agents))
    table = dict(zip(known, structure.graph.agent_confidence.tolist(), strict=True))
    return torch.tensor([table.get(agent, 0.0) for agent in agents])


def _turns(agent: Hashable, toward: Any, angles: Any, observed: Any) -> list[Shift]:
    """All turns of a sweep, checked before the first of them is simulated."""
    if not isinstance(angles, Iterable) or isinstance(angles, str | bytes | Mapping) or getattr(angles, "ndim", 1) != 1:
        raise ArgumentTypeError(f"angles={angles!r} must be several numbers; give a list, such as [0.5, 1.0]")
    turns = [Shift(agent, toward, angle, observed=observed) for angle in angles]
    if not turns:
        raise ArgumentError("angles is empty; give radians from 0 to pi, such as [0.5, 1.0]")
    return turns


def _sweep_row(angle: float, effect: Effect) -> dict[str, float]:
    others = ~effect.intervened
    means = {
        "entropy": effect.entropy,
        "within": effect.within,
        "identification": effect.identification,
        "agent_error": effect.standard_error,
        "effect": effect.size,
    }
    own = {"own_entropy": float(effect.entropy[effect.intervened].mean())}
    return {"angle": float(angle), **{name: float(value[others].nanmean()) for name, value in means.items()}, **own}
