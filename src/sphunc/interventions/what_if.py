"""Answers to "what if": resolve interventions, simulate both arms, estimate effects and entropies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.forecasting import time_label
from sphunc.interventions.effects import Effect
from sphunc.interventions.estimation import (
    StructureMoments,
    class_entropies,
    effect_interval,
    estimate_effect,
    number_entropies,
    simulation_size,
)
from sphunc.interventions.resolve import ResolvedInterventions, resolve
from sphunc.interventions.simulation import COUPLING, Origin, Simulator, calibrate, draw_parameters
from sphunc.interventions.system import System
from sphunc.interventions.values import CutGroup, Do, Plan, flatten


@dataclass(frozen=True)
class Simulation:
    """How a question is simulated.

    Attributes:
        horizon: steps, H.
        samples: S of each arm.
        structures: of which so many are drawn; None chooses.
        seed: of structures, coefficients, states and noise.
    """

    horizon: int
    samples: int
    structures: int | None = None
    seed: int = 0


def intervene(system: System, interventions: object, simulation: Simulation) -> Effect:
    """Simulate what interventions do to every agent's outcome, from what is known at the origin.

    Args:
        system: model and data.
        interventions: one, several, or a plan; none gives the forecast.
        simulation: steps, samples and seed.
    """
    return _answer(system, system.past, Plan(flatten(interventions)), simulation)


def counterfactual(system: System, interventions: object, simulation: Simulation) -> Effect:
    """What would have happened: abduct from what was observed after the origin, act, and replay.

    Groups are those that met. Without anything observed after the origin this is :func:`intervene`.

    Args:
        system: model and data.
        interventions: one, several, or a plan; none replays what happened.
        simulation: steps, samples and seed.
    """
    return _answer(system, system.observed_future, Plan(flatten(interventions)), simulation)


def _answer(system: System, origin: Origin, plan: Plan, simulation: Simulation) -> Effect:
    # Everything that can be wrong with the question is found before any work.
    horizon = simulation.horizon
    ids = tuple(system.entities.agents[k] for k in system.order.tolist())
    entities = replace(system.entities, agents=ids)
    resolved = resolve(plan.interventions, entities, origin.candidates, origin.direction, horizon)
    resolved = _standardised(resolved, system)
    count, draws = simulation_size(simulation.samples, simulation.structures)
    dtype = torch.float32
    parameters = draw_parameters(origin, count, simulation.seed, dtype)
    agents = {agent: index for index, agent in enumerate(ids)}
    simulator = Simulator(origin, parameters, resolved, agents, system.order, draws, simulation.seed, dtype=dtype)
    if origin.observed_steps == 0:
        calibrate_to_forecast(simulator, horizon)

    outputs = origin.inputs.num_outputs
    numeric = origin.inputs.is_numeric
    shape = (count, origin.num_agents, outputs)
    device = origin.inputs.x.device
    moments = [StructureMoments.empty(*shape, numeric=numeric, dtype=dtype, device=device) for _ in range(horizon)]
    factual: list[Tensor] = []
    outcome: list[Tensor] = []
    for block in simulator.blocks():
        for found in simulator.run(block, horizon):
            moments[found.step - 1].put(
                block, found.factual, found.agents, found.outcome, found.factual_noise, found.noise
            )
            if found.step == horizon:
                factual.append(_by_sample(found.factual))
                outcome.append(_by_sample(found.outcome))
    structure_id = torch.arange(count).repeat_interleave(draws)
    return _effect(system, simulator, plan, moments, torch.cat(factual), torch.cat(outcome), structure_id)


def _by_sample(samples: Float[Tensor, "structure output agent draw"]) -> Float[Tensor, "sample agent output"]:
    return samples.permute(0, 3, 2, 1).flatten(0, 1)


def calibrate_to_forecast(simulator: Simulator, horizon: int) -> None:
    """Set the corrections of a simulator, for the steps that the model forecasts itself.

    Args:
        simulator: whose factual arm is calibrated.
        horizon: steps beyond which no correction is needed.
    """
    for step, forecast in sorted(simulator.origin.forecasts.items()):
        if step > horizon:
            continue
        means = []
        noises = []
        for block in simulator.blocks():
            *_, found = simulator.run(block, step, factual_only=True)
            means.append(found.factual)
            if found.factual_noise is not None:
                noises.append(found.factual_noise)
        noise = torch.cat(noises) if noises else None
        simulator.corrections[step] = calibrate(torch.cat(means), noise, forecast)


def _standardised(resolved: ResolvedInterventions, system: System) -> ResolvedInterventions:
    """Numbers that outcomes are held at, in the units of the model."""
    if system.centre is None or system.scale is None:
        return resolved
    steps = []
    for step in resolved.steps:
        held = step.outcomes
        if len(held):
            held = ((held.double() - system.centre) / system.scale).float()
        steps.append(replace(step, outcomes=held))
    return replace(resolved, steps=tuple(steps))


def _effect(
    system: System,
    simulator: Simulator,
    plan: Plan,
    moments: Sequence[StructureMoments],
    factual: Float[Tensor, "sample agent output"],
    followed_outcome: Float[Tensor, "sample followed output"],
    structure_id: Int[Tensor, " sample"],
) -> Effect:
    origin = simulator.origin
    numeric = origin.inputs.is_numeric
    followed = simulator.followed
    outcome = factual.clone()
    outcome[:, followed] = followed_outcome
    interval = factual.new_zeros(*factual.shape[1:], 2)
    if len(followed):
        # Every sample has states of its own; those of one structure share links and coefficients. So the interval is
        # that of the effect on an agent under everything that is not known of it. Intervals from the means of few
        # structures cover less: a link of probability 0.05 is in one of twenty.
        interval[followed] = effect_interval(followed_outcome - factual[:, followed])
    estimates = [estimate_effect(one) for one in moments]
    split = number_entropies if numeric else class_entropies
    entropies = [split(one) for one in moments]
    centre = torch.zeros(outcome.shape[-1])
    scale = torch.ones(outcome.shape[-1])
    if system.centre is not None and system.scale is not None:
        centre = system.centre.float()
        scale = system.scale.float()
    variances = torch.zeros(len(moments), origin.num_agents, 0)
    if numeric:
        variances = torch.stack([_variance(one) for one in moments]) * scale.square()
    # Of a density in other units; exactly 0 for classes.
    added = math.log(float(scale.double().prod()))
    within = torch.stack([one.within for one in entropies]) + added
    identification = torch.stack([one.identification for one in entropies])
    entropy = torch.where(identification.isnan(), torch.stack([one.entropy for one in entropies]) + added, 0.0)
    entropy = torch.where(identification.isnan(), entropy, within + identification)
    horizon = len(moments)
    is_counterfactual = origin.observed_steps > 0
    intervened = torch.zeros(origin.num_agents, dtype=torch.bool)
    intervened[list(simulator.interventions.intervened)] = True
    intervened[sorted(simulator.decided)] = True
    number = torch.argsort(system.order)

    def stacked(parts: Sequence[Tensor]) -> Tensor:
        """Steps first, agents in the order of the data."""
        return torch.stack(list(parts))[:, number]

    return Effect(
        plan=plan,
        agents=system.entities.agents,
        intervened=intervened[number],
        origin=system.times[system.origin],
        times=tuple(time_label(system.times, system.origin + h) for h in range(1, horizon + 1)),
        class_names=system.entities.classes,
        outcomes=stacked([one.outcome for one in estimates]) * scale + centre,
        factual_outcomes=stacked([one.factual for one in estimates]) * scale + centre,
        monte_carlo_errors=stacked([one.monte_carlo_error for one in estimates]) * scale,
        posterior_deviations=stacked([one.posterior_deviation for one in estimates]) * scale,
        interval=interval[number] * scale.unsqueeze(-1),
        variances=variances[:, number],
        entropies=entropy[:, number],
        withins=within[:, number],
        identifications=identification[:, number],
        entropy_errors=stacked([one.error for one in entropies]),
        confidence=origin.confidence.float()[number],
        samples=outcome[:, number] * scale + centre,
        structure_id=structure_id,
        seed=simulator.seed,
        coupling=COUPLING if is_counterfactual else "",
        observed=_observed(origin, horizon)[:, number] if is_counterfactual else None,
        outcome_names=system.outcome_names,
        message=describe_paths(origin, plan, simulator),
    )


def _variance(moments: StructureMoments) -> Float[Tensor, "agent number"]:
    """Variance of numbers: conditional, of simulated means within structures, and between them."""
    assert moments.noise is not None
    within = moments.outcome_squares.sum(0) / moments.count.sum()
    between = moments.outcome.var(0, correction=0)
    return moments.noise.mean(0) + within + between


def _observed(origin: Origin, horizon: int) -> Tensor:
    observed = torch.zeros(horizon, origin.num_agents, dtype=torch.bool)
    steps = min(horizon, origin.observed_steps)
    observed[:steps] = origin.inputs.y_mask[origin.time + 1 : origin.time + 1 + steps]
    return observed


def describe_paths(origin: Origin, plan: Plan, simulator: Simulator) -> str:
    """One sentence where interventions have nothing to act through or go beyond what was observed; else empty.

    Args:
        origin: with the model.
        plan: the interventions.
        simulator: that found whom they reach.
    """
    if not len(plan):
        return ""
    acts_on_outcomes = any(isinstance(one, CutGroup) or (isinstance(one, Do) and one.sets_outcome) for one in plan)
    if origin.states is None and not acts_on_outcomes:
        reason = "no states were found in the features"
        if origin.model.one_step.states is not None:
            reason = "states have weight 0 in the forecast"
        return f"the data show no influence to act through: {reason}"
    intervened = torch.zeros(origin.num_agents, dtype=torch.bool)
    intervened[list(simulator.interventions.intervened)] = True
    if not bool((simulator.affected[-1] & ~intervened).any()):
        if bool(intervened.any()) and not bool(simulator.affected[:-1].any()):
            return "nothing acts on other agents yet: what is set acts on them one step later; simulate further"
        return "the data show no influence to act through: no link and no shared group leads to other agents"
    return describe_extrapolation(origin, simulator)


def describe_extrapolation(origin: Origin, simulator: Simulator) -> str:
    """One sentence where cut groups leave agents without any, though no agent was ever observed so; else empty.

    Args:
        origin: with what was observed.
        simulator: with the groups that are cut.
    """
    left: set[int] = set()
    for step, acting in enumerate(simulator.interventions.steps):
        cut = origin.positions_at(step, acting.groups_cut)
        if len(cut):
            groups = origin.groups(step)
            remaining = groups.without(cut.to(groups.group.device))
            left |= set(groups.agent.tolist()) - set(remaining.agent.tolist())
    if not left or bool(_observed_without_group(origin).any()):
        return ""
    return (
        f"this lies outside of what was observed (extrapolation): {len(left):,} agents are left without a group, and "
        "no agent was ever observed without one"
    )


def _observed_without_group(origin: Origin) -> Tensor:
    """True where an agent was observed at a time up to the origin, and was in no group then ``[time, agent]``."""
    inputs = origin.inputs.until(origin.time)
    alone = torch.ones(inputs.num_times, inputs.num_agents, dtype=torch.bool)
    for time, groups in enumerate(inputs.groups):
        alone[time, groups.agent.cpu()] = False
    observed = inputs.y_mask | inputs.x_mask.any(-1)
    return alone & observed.cpu()
