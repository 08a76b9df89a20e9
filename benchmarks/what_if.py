"""Cost of a what-if question: S=100, 10,000 agents, horizon 10, against a loop over samples.

    python benchmarks/what_if.py [--agents 10000] [--horizon 10] [--samples 100] [--looped 2]

A model fitted on a world of 500 agents is repeated until there are enough agents: the copies do not meet. The loop does
for every sample and each of its arms what the equations say, in double precision and with the functions of the model:
all covariates, next state, readout, pool, draw, history. It is timed on a few samples and scaled; both start from the
same beliefs and forecasts, which are not counted, and neither is the comparison of the arms in the loop. Processor
time, so that other work on the machine counts little; and how much memory one question adds at its peak.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import torch
from effects import fitted_system

import sphunc
from sphunc.hypergraph.incidence import Incidence
from sphunc.interventions import Do, Simulation, System, intervene
from sphunc.interventions.simulation.abduction import draw_paths
from sphunc.interventions.simulation.origin import Origin
from sphunc.interventions.simulation.parameters import ParameterDraws, draw_parameters
from sphunc.interventions.simulation.population import copies
from sphunc.interventions.simulation.state_changes import state_length, typical
from sphunc.model.dynamics import Links, next_state_mean
from sphunc.model.inputs import ModelInputs
from sphunc.model.regression import with_intercept
from sphunc.model.states import StateModel

FITTED = 500


def repeated(system: System, count: int) -> System:
    """Return the same question about several copies of the population."""
    inputs = system.inputs
    many = ModelInputs(
        x=inputs.x.repeat(1, count, 1),
        x_mask=inputs.x_mask.repeat(1, count, 1),
        y=inputs.y.repeat(1, count, 1),
        y_mask=inputs.y_mask.repeat(1, count),
        groups=tuple(_plain(copies(groups, count)) for groups in inputs.groups),
        num_classes=inputs.num_classes,
    )
    predictor = system.model.one_step
    assert predictor.states is not None
    predictor = replace(predictor, states=_repeated_states(predictor.states, count))
    model = replace(system.model, predictor=predictor, one_step=predictor)
    agents = tuple(f"{agent}-{k}" for k in range(count) for agent in system.entities.agents)
    groups = tuple(f"{group}-{k}" for k in range(count) for group in system.entities.groups)
    entities = replace(system.entities, agents=agents, groups=groups)
    order = torch.arange(len(agents))
    return replace(system, model=model, inputs=many, entities=entities, order=order, place=None)


def _plain(groups: Incidence) -> Incidence:
    return replace(groups, weight=groups.weight.contiguous())


def _repeated_states(states: StateModel, count: int) -> StateModel:
    agents = len(states.dynamics.inertia)
    assert states.structure is not None

    def links(one: Links) -> Links:
        offset = agents * torch.arange(count).repeat_interleave(agents).unsqueeze(1)
        return Links(
            one.source.repeat(count, 1) + offset,
            one.is_candidate.repeat(count, 1),
            one.probability.repeat(count, 1),
            one.mean.repeat(count, 1),
            one.square.repeat(count, 1),
        )

    structure = replace(
        states.structure,
        links=links(states.structure.links),
        inertia=states.structure.inertia.repeat(count),
        slots=states.structure.slots.repeat(count, 1),
        draws=states.structure.draws.repeat(1, count, 1),
    )
    assert states.links is not None
    return replace(
        states,
        plain=replace(states.plain, inertia=states.plain.inertia.repeat(count)),
        dynamics=replace(states.dynamics, inertia=states.dynamics.inertia.repeat(count)),
        links=links(states.links),
        structure=structure,
    )


def loop_over_samples(
    origin: Origin, parameters: ParameterDraws, held: int, direction: torch.Tensor, samples: range, horizon: int
) -> torch.Tensor:
    """Two arms of every sample, one after the other; returns probabilities at the target ``[S, 2, N, C]``."""
    states = origin.states
    assert states is not None
    assert origin.belief is not None
    base = origin.model.one_step.base
    weight = origin.model.weight
    metric = origin.state_metric
    groups = origin.groups(0)
    now = origin.covariates.inputs
    now = replace(now, groups=now.groups[origin.time :])
    covariates = replace(origin.covariates, inputs=now, features=origin.covariates.features[origin.time :])
    share = states.readout.noise_share(origin.remainder(1))
    everybody = torch.ones(origin.num_agents, dtype=torch.bool)
    noise_scale = (states.variance_scale * states.dynamics.transition_variance).sqrt()
    found = []
    for sample in samples:
        structure = sample % len(parameters.coefficients)
        arms = []
        for arm in range(2):
            generator = torch.Generator().manual_seed(sample)
            path, effect = draw_paths(
                origin.belief.filtered,
                states.dynamics.inertia,
                origin.belief_time,
                origin.belief_time,
                states.variance_scale,
                1,
                generator,
                torch.float64,
            )
            state = path[0, :, 0]
            lasting = effect[:, 0]
            if arm:
                state[held] = direction
            links = parameters.link_matrix(torch.tensor([structure]), origin.num_agents).double()
            coefficients = parameters.coefficients[structure].double()
            history = origin.covariates.outcomes[origin.time]
            p = torch.zeros(0)
            for _ in range(horizon):
                influence = torch.sparse.mm(links, state)
                drift = next_state_mean(state, states.dynamics, lasting, groups, influence)
                drift = drift / state_length(drift, metric).clamp(min=1.0)
                state = drift + noise_scale * torch.randn(state.shape, generator=generator, dtype=torch.float64)
                if arm:
                    state[held] = direction
                columns = replace(covariates, outcomes=[history]).at(0)
                logits = with_intercept(base.standardiser(columns)) @ coefficients
                by_state = states.readout.class_probabilities(
                    state @ states.readout.weight.mT + states.readout.bias, share
                ).log()
                p = torch.softmax((1.0 - weight) * torch.log_softmax(logits, -1) + weight * by_state, -1)
                uniform = torch.rand(len(p), generator=generator, dtype=torch.float64)
                drawn = (uniform.unsqueeze(-1) > p.cumsum(-1)[:, :-1]).sum(-1)
                outcome = torch.nn.functional.one_hot(drawn, p.shape[-1]).double()
                history = history.update(outcome, everybody)
            arms.append(p)
        found.append(torch.stack(arms))
    return torch.stack(found)


def memory(name: str) -> float:
    """Resident memory of the process now (VmRSS) or at its peak (VmHWM), in MB; Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def forget_peak() -> None:
    """Let the peak be counted from here on; Linux."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--horizon", type=int, default=10)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--looped", type=int, default=2)
    arguments = parser.parse_args()
    world = sphunc.simulate("snare", agents=FITTED, times=6, seed=0)
    small, _ = fitted_system(world)
    if small.model.weight == 0.0:
        small = replace(small, model=replace(small.model, weight=0.5))
    system = repeated(small, -(-arguments.agents // FITTED))
    origin = system.past
    do = Do(system.entities.agents[3], toward=system.entities.classes[0])
    intervene(system, do, Simulation(horizon=1, samples=2))  # beliefs and forecasts, kept by the origin
    forget_peak()
    before = memory("VmRSS")
    begun = time.process_time()
    intervene(system, do, Simulation(horizon=arguments.horizon, samples=arguments.samples))
    batch = time.process_time() - begun
    added = memory("VmHWM") - before
    parameters = draw_parameters(origin, 20, 0, torch.float32)
    direction = typical(origin.direction("class", 0, 3).double(), origin.state_metric)
    begun = time.process_time()
    loop_over_samples(origin, parameters, 3, direction, range(arguments.looped), arguments.horizon)
    loop = (time.process_time() - begun) / arguments.looped * arguments.samples
    print(
        f"{system.inputs.num_agents} agents, {arguments.samples} samples, horizon {arguments.horizon}: "
        f"{batch:.1f} s, {before:.0f} + {added:.0f} MB; loop over samples {loop:.0f} s: "
        f"{loop / batch:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
