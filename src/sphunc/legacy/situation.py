"""A fitted model at an origin, as simulations need it: mechanism, beliefs, readings, structures, names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sphunc.causal.action import Names
from sphunc.causal.beside import Beside, View
from sphunc.causal.design import Start
from sphunc.causal.mechanism import Mechanism
from sphunc.causal.monte_carlo import TELLING
from sphunc.causal.reading import ClassReading, NumberReading
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.network import Network
from sphunc.legacy.observed import observe
from sphunc.legacy.outlook import stacked
from sphunc.legacy.run import Run
from sphunc.legacy.scenario import Scenario
from sphunc.legacy.step import FLAT_WEIGHT, MAP_PACE, Step
from sphunc.legacy.structure import Structure, acts, place
from sphunc.legacy.training import outlook_of
from sphunc.nn.aleatoric import flattening, squashed_variance
from sphunc.nn.projection import normalise


@dataclass(frozen=True, eq=False)
class Situation:
    """Everything at an origin.

    Attributes:
        names: what a user may name.
        mechanism: structural step and readout as numbers.
        start: beliefs and groups.
        readings: how outcomes are read, step by step.
        classes: direction of each class ``[C, D]``; empty for numbers.
        beliefs: natural parameters at every time up to the origin ``[T, N, D]``.
        beside: what is read beside states; None if nothing is.
    """

    names: Names
    mechanism: Mechanism
    start: Start
    readings: tuple[ClassReading | NumberReading, ...]
    classes: Tensor
    beliefs: Tensor
    beside: Beside | None = None

    def direct(self, kind: str, index: Any, agent: int) -> Tensor:
        """Direction of a class, of an agent at the origin, or of ``agent`` at a time."""
        if kind == "class":
            return self.classes[index]
        eta = self.beliefs[-1, index] if kind == "agent" else self.beliefs[index, agent]
        if not bool(eta.any()):
            who = self.names.agents[index if kind == "agent" else agent]
            raise ArgumentError(f"nothing is known about the state of {who!r} there, so it cannot be taken")
        return normalise(eta)


def situate(
    network: Network,
    temperature: TemperatureLaw,
    past: TemporalHypergraph,
    scenario: Scenario,
    names: Names,
    horizon: int,
) -> Situation:
    """Filter the past, and collect what simulations start from; all on the CPU.

    Args:
        network: fitted.
        temperature: its calibration.
        past: data up to the origin, as the network takes it.
        scenario: links that act.
        names: what a user may name.
        horizon: steps to simulate.
    """
    device = past.x.device
    links, gates = scenario.links.to(device), scenario.gates.to(device)
    origin = network.origin(observe(past), links, gates, horizon)
    weight = network.readout.weight.detach().cpu()
    centred = weight - weight.mean(0)
    return Situation(
        names=names,
        mechanism=mechanism_of(network),
        start=Start(origin.eta[-1].cpu(), origin.lasting.cpu(), memberships(past)),
        readings=readings_of(network, temperature, origin.run),
        classes=normalise(centred if names.classes else centred[:0]),
        beliefs=origin.eta.cpu(),
        beside=beside_of(network, past, past.num_times - 1, horizon),
    )


@torch.no_grad()
def beside_of(network: Network, data: TemporalHypergraph, first: int, horizon: int) -> Beside | None:
    """Return what is read beside states at each of ``horizon`` steps; None if nothing counts.

    Up to the last time of the data it is what was seen, after it what forecasts from there take. A step below the
    horizon of the network is told by what was seen before the origin, which is the same in both arms: nothing is read.

    Args:
        network: fitted.
        data: as the network takes it.
        first: time index of the origin.
        horizon: steps.
    """
    if not network.direct.is_used:
        return None
    direct, lag, plain = network.direct, network.config.horizon, network.plain(observe(data))

    def view(source: int) -> View | None:
        if source < 0:
            return None
        time = min(first + source, data.num_times - 1)
        beyond = first + source - time
        told, x = None if beyond else plain.told[time].cpu(), direct.faded(plain.x[time], beyond).cpu()
        return View(told, x, plain.common()[time].cpu(), memberships(data, time))

    views = tuple(view(step - lag) for step in range(1, horizon + 1))
    return Beside(direct.counted().cpu(), network.centre.cpu(), network.scale.cpu(), lag, views)


def mechanism_of(network: Network) -> Mechanism:
    """Return the network's structural step and readout as numbers."""
    step: Step = network.step
    gains = {name: float(value.detach()) for name, value in step.gains.items()}
    dim = step.dim
    with torch.no_grad():
        firmness = float(_firmness(step))
        mapping = torch.eye(dim) + MAP_PACE * step.change.detach().cpu()
        strength = float(step.strength)
    return Mechanism(
        dim=dim,
        spherical=step.is_spherical,
        keep=gains["keep"],
        prior=gains["lasting"],
        link=gains["link"],
        pull=gains["pull"],
        cohesion=gains["cohesion"],
        strength=strength,
        firmness=firmness,
        mapping=mapping,
        weight=network.readout.weight.detach().cpu() * network.readout.scale,
        bias=network.readout.bias.detach().cpu(),
        lean=network.readout.lean.detach().cpu() if network.readout.leans else None,
        flat=2.0 / (dim * FLAT_WEIGHT),
    )


def _firmness(step: Step) -> float:
    """Recover k0 from how far a unit vector is settled: the step need not tell."""
    if not step.is_spherical:
        return 0.0
    probe = torch.zeros(step.dim, device=step.log_strength.device)
    probe[0] = 1.0
    granted = float(step.settled(probe).double()[0])
    return max(0.0, 1.0 / granted**2 - 1.0) ** 0.5


def groups_at(past: TemporalHypergraph, time: int | None = None) -> tuple[Any, ...]:
    """Ids of the groups that have members at a time, the last one by default, in the order of :func:`memberships`."""
    _, group = _members(past, time)
    return tuple(past.hyperedge_ids[g] for g in torch.unique_consecutive(group).tolist())


def memberships(past: TemporalHypergraph, time: int | None = None) -> tuple[Tensor, Tensor] | None:
    """Agent and group of every membership at a time, the last one by default, groups counted from 0; None without."""
    agent, group = _members(past, time)
    if not agent.numel():
        return None
    return agent.cpu(), torch.unique_consecutive(group, return_inverse=True)[1].cpu()


def _members(past: TemporalHypergraph, time: int | None) -> tuple[Tensor, Tensor]:
    chosen = past.hyperedge_time[past.hyperedge_index[1]] == (past.num_times - 1 if time is None else time)
    agent, group = past.hyperedge_index[:, chosen]
    return agent, group


def posterior(structure: Structure, known: tuple[Any, ...], agents: tuple[Any, ...], count: int, seed: int) -> Scenario:
    """Draw structures from the posterior, on the agents of the data.

    The mean gates of a forecast stay those that the network was trained with; as there, links at a lag above 1 do not
    act. Where nothing is in doubt, one structure stands for few: it is known.
    """
    assert structure.graph is not None
    indices = torch.arange(structure.links.shape[1], dtype=torch.float64, device=structure.links.device)
    links, kept = place(Structure(structure.links, indices, None), known, agents)
    sampled = structure.graph.sample(count, seed)
    strengths = torch.where(acts(structure.graph), sampled.strengths, 0.0)
    drawn = strengths.to(torch.float32)[:, kept.long()].cpu()
    gates, p = structure.gates[kept.long()].cpu(), structure.graph.probability
    if count < TELLING and bool(((p == 0) | (p == 1)).all()):
        return Scenario(links.cpu(), drawn[:1], gates)
    return Scenario(links.cpu(), drawn, gates, _order(sampled.strata.cpu(), known, agents))


def _order(strata: Tensor, known: tuple[Any, ...], agents: tuple[Any, ...]) -> Tensor:
    """Structures by stratum of each agent ``[Q, N]``; as they come for newcomers, who have no parents."""
    position = {agent: i for i, agent in enumerate(known)}
    table = torch.tensor([position.get(agent, -1) for agent in agents])
    order = torch.arange(len(strata)).unsqueeze(1).repeat(1, len(agents))
    order[:, table >= 0] = strata.argsort(0)[:, table[table >= 0]]
    return order


def readings_of(network: Network, temperature: TemperatureLaw, run: Run) -> tuple[ClassReading | NumberReading, ...]:
    """Return how outcomes are read at every step of a forecast, and its calibrated laws."""
    steps = range(len(run.total))
    # Rows of one step at a time, as a forecast has them: what is read is the forecast to the bit.
    outlook = stacked([temperature.apply(outlook_of(run).at(h)) for h in steps])
    if outlook.log_probabilities is None:
        assert outlook.mean is not None
        assert outlook.variance is not None
        centre, scale = network.centre.cpu(), network.scale.cpu()
        laws = zip(outlook.mean.cpu(), outlook.variance.cpu(), strict=True)
        return tuple(NumberReading(centre, scale, mean, variance) for mean, variance in laws)
    target = outlook.log_probabilities.exp().cpu()
    with torch.no_grad():
        within, power = (1.0 / network.temperature(run.total)).cpu(), (1.0 / temperature(run.total)).cpu()
    frequency = network.frequency.cpu()
    if network.config.noise == "contamination":
        share = squashed_variance(run.variance).cpu()
        return tuple(ClassReading(within[h], share[h], frequency, power[h], target[h]) for h in steps)
    sharp = within * power / flattening(run.variance, target.shape[-1]).cpu()
    return tuple(ClassReading(sharp[h], None, frequency, power[h], target[h]) for h in steps)
