"""Forecasts and what-if answers of an observer who knows the laws of a world, beside which a model can be judged.

    python benchmarks/observer.py [--presets snare,financial] [--agents 400] [--times 12] [--seed 0] [--questions 12]

The observer knows links and strengths, the weights of all forces, who meets whom, the noise of every agent and of every
look at it, the directions of the classes, the label noise and all past outcomes. It looks at states themselves, blurred
as the features of the world are; features, which are few, saturated and incomplete, tell less. Unknown are the states
and the persistent biases, of which all directions count as equally likely: of communities, and of how the first states
came about, it knows nothing. What it believes is drawn by Hamiltonian Monte Carlo over all of them at once, and every
draw is moved on by the world's own law. A model has to learn the rest, too.

Printed: NLL at the test origins, with the share of the way from the best trivial model to the oracle, which knows the
states; and for the questions of `benchmarks/whatif.py` the columns printed there. "drift" is the total variation
between forecasts by the first and the second half of the draws: what Monte Carlo leaves open.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import torch
from model_store import Task
from model_worlds import trivial
from scipy.sparse import csr_matrix, diags
from whatif import summary, truths, variation

import sphunc
from sphunc.evaluation import nll
from sphunc.hypergraph import time_split
from sphunc.worlds.dynamics import Snapshot, drive
from sphunc.worlds.future import Assignment
from sphunc.worlds.noise import perturb
from sphunc.worlds.observation import outcome_law
from sphunc.worlds.population import unit

BURN_IN, THINNING, LEAPFROGS = 250, 3, 16
WANTED_ACCEPTANCE = 0.8
REPEATS = 8
"""Futures of every draw."""


@dataclass(frozen=True, eq=False)
class Look:
    """Blurred states ``[T, N, D]`` on axes that begin with the classes, and the variance of the blur ``[N, D]``."""

    seen: torch.Tensor
    variance: torch.Tensor
    axes: torch.Tensor


def look(world: sphunc.World, rng: np.random.Generator) -> Look:
    """Look at every state once: with the mean noise of all modalities, and the blur that they share."""
    knobs, classes = world.settings, world.class_directions.numpy()
    rest = rng.standard_normal((knobs.dim, knobs.dim - len(classes)))
    axes = np.linalg.qr(np.concatenate([classes.T, rest], 1))[0].T
    axes[: len(classes)] = classes  # a sign may have turned
    level = np.exp(knobs.view_noise_spread * rng.standard_normal((knobs.agents, knobs.modalities + 1)))
    each = (knobs.view_noise * level[:, :-1]) ** 2 / knobs.dim
    variance = np.repeat(1.0 / (1.0 / each).sum(1, keepdims=True), knobs.dim, 1)
    variance[:, : len(classes)] += (knobs.outcome_blur * level[:, -1:]) ** 2 / knobs.dim
    states = world.states.numpy() @ axes.T
    seen = states + np.sqrt(variance) * rng.standard_normal(states.shape)
    return Look(*(torch.from_numpy(part) for part in (seen, variance, axes)))


class Observer:
    """Density of all states up to a time and of the biases, given looks and outcomes; draws from it.

    Args:
        world: with its laws.
        seen: looks at its states.
        last: the last time that is known.
    """

    def __init__(self, world: sphunc.World, seen: Look, last: int) -> None:
        knobs, law = world.settings, world.law
        self.world, self.look = world, seen
        self.kappa = torch.from_numpy(law.population.concentrations[law.population.noise_level])
        self.links = _sparse(law.influence)
        self.groups = [_averages(law.meetings(time)) for time in range(last)]
        self.outcome = world.outcomes[: last + 1].unsqueeze(-1)
        self.random = (knobs.label_noise * (world.driver[: last + 1] - 0.5).exp()).clamp(max=1.0).unsqueeze(-1)
        # Free vectors of which only the direction counts, in units of about what is left unknown of each axis.
        self.scale = (knobs.dim / (1.0 / seen.variance + 1.5 * self.kappa.unsqueeze(1))).sqrt()
        begin = torch.cat([seen.seen[: last + 1], seen.seen[: last + 1].mean(0, keepdim=True)])
        self.free = torch.nn.functional.normalize(begin, dim=-1) * knobs.dim**0.5 / self.scale

    def log_density(self, free: torch.Tensor) -> torch.Tensor:
        """Up to a constant; rows of ``free`` are the times, then the biases ``[T + 1, N, D]``."""
        knobs, raw = self.world.settings, free * self.scale
        h = torch.nn.functional.normalize(raw, dim=-1)
        states, bias = h[:-1], h[-1]
        total = -0.5 * raw.square().sum()
        total = total - 0.5 * ((states - self.look.seen[: len(states)]).square() / self.look.variance).sum()
        for time, (gather, spread) in enumerate(self.groups):
            now = states[time]
            mean = gather @ now
            length = mean.square().sum(-1, keepdim=True).clamp(min=1e-12).sqrt()
            force = knobs.inertia * now + knobs.bias * bias + self.links @ now
            force = force + knobs.group_pull * (spread @ (mean * length ** (knobs.cohesion_power - 1.0)))
            toward = torch.nn.functional.normalize(force, dim=-1)
            total = total + (self.kappa * (toward * states[time + 1]).sum(-1)).sum()
        p = torch.softmax(knobs.sharpness * states[..., : knobs.classes], -1).gather(-1, self.outcome)
        return total + torch.log((1.0 - self.random) * p + self.random / knobs.classes).sum()

    def draws(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Last states and biases ``[N, count, D]``, in the coordinates of the world."""
        generator = torch.Generator().manual_seed(seed)
        free, (value, slope), size = self.free, self._slope(self.free), 0.1
        kept = []
        for turn in range(BURN_IN + THINNING * count):
            momentum = torch.randn(free.shape, generator=generator, dtype=free.dtype)
            length = size * (0.8 + 0.4 * float(torch.rand(1, generator=generator)))
            energy = value - 0.5 * float(momentum.square().sum())
            there, (height, tilt) = free, (value, slope)
            for _ in range(LEAPFROGS):
                momentum = momentum + 0.5 * length * tilt
                there = there + length * momentum
                height, tilt = self._slope(there)
                momentum = momentum + 0.5 * length * tilt
            gain = height - 0.5 * float(momentum.square().sum()) - energy
            accepted = float(np.exp(min(0.0, gain))) if np.isfinite(gain) else 0.0
            if float(torch.rand(1, generator=generator)) < accepted:
                free, value, slope = there, height, tilt
            if turn < BURN_IN:
                size *= float(np.exp(0.1 * (accepted - WANTED_ACCEPTANCE)))
            elif (turn - BURN_IN) % THINNING == 0:
                kept.append((torch.nn.functional.normalize(free[-2:] * self.scale, dim=-1) @ self.look.axes).numpy())
        both = np.stack(kept, 2)
        return both[0], both[1]

    def _slope(self, free: torch.Tensor) -> tuple[float, torch.Tensor]:
        free = free.detach().requires_grad_()
        value = self.log_density(free)
        (slope,) = torch.autograd.grad(value, free)
        return float(value.detach()), slope


def _sparse(matrix: csr_matrix) -> torch.Tensor:
    coo = matrix.tocoo()
    where = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    return torch.sparse_coo_tensor(where, torch.from_numpy(coo.data), coo.shape, check_invariants=True).coalesce()


def _averages(attendance: csr_matrix) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean over the members of each group, and over the groups of each agent."""
    turned = attendance.T.tocsr()
    means = [diags(1.0 / np.maximum(np.diff(part.indptr), 1)) @ part for part in (attendance, turned)]
    return _sparse(means[0].tocsr()), _sparse(means[1].tocsr())


@dataclass(frozen=True, eq=False)
class Belief:
    """Draws of states and biases at an origin, each repeated for several futures ``[N, S, D]``."""

    world: sphunc.World
    origin: int
    states: np.ndarray
    biases: np.ndarray

    def outcomes(self, horizon: int, held: dict[int, np.ndarray] | None = None) -> torch.Tensor:
        """Law of the outcomes in every future ``[N, S, C]``, with some agents held in a state."""
        law, rng, held_there = self.world.law, np.random.default_rng(1), Assignment(held or {})
        knobs, draws = law.settings, self.states.shape[1]
        driver = np.repeat(self.world.driver[self.origin].numpy()[:, None], draws, 1)
        hidden = np.zeros((len(law.population.centres), draws, knobs.dim))
        now = held_there.apply(Snapshot(self.states, driver, hidden))
        own = knobs.bias * (self.biases - law.population.biases[:, None])
        for time in range(self.origin, self.origin + horizon):
            means = unit(drive(law, now, time) + own)
            uniforms, normals = rng.random(driver.shape), rng.standard_normal(means.shape)
            states = perturb(means, uniforms, normals, law.population.noise_level, law.tables)
            keep = knobs.driver_persistence
            driver = keep * now.driver + np.sqrt(1.0 - keep**2) * rng.standard_normal(driver.shape)
            now = held_there.apply(Snapshot(states, driver, hidden))
        return torch.from_numpy(outcome_law(knobs, law.population.class_directions, now.states, now.driver))


def believe(world: sphunc.World, seen: Look, origin: int, draws: int) -> Belief:
    """Draw what the observer believes at an origin."""
    states, biases = Observer(world, seen, origin).draws(draws, seed=0)
    return Belief(world, origin, np.repeat(states, REPEATS, 1), np.repeat(biases, REPEATS, 1))


def forecasts(world: sphunc.World, seen: Look, arguments: argparse.Namespace) -> None:
    """Print NLL and share of the way at the test origins."""
    origins = time_split(world.data).test
    beliefs = [believe(world, seen, origin, arguments.draws) for origin in origins]
    labels, mask = (np.concatenate([part[o + 1] for o in origins]) for part in (world.outcomes, world.data.y_mask))
    futures = torch.cat([belief.outcomes(1) for belief in beliefs])
    mine = nll(futures.mean(1), labels, mask=mask)
    drift = float(variation(*(half.mean(1) for half in futures.tensor_split(2, 1))).mean())
    peers = trivial(Task("trivial", world.preset, world.seed, arguments.agents, arguments.times, "{}"))
    oracle, best = peers.pop("oracle"), min(peers.values())
    share = (best - mine) / (best - oracle)
    print(
        f"NLL: best trivial {best:.3f}, observer {mine:.3f}, oracle {oracle:.3f}; share {share:.2f}; drift {drift:.3f}"
    )


def answers(world: sphunc.World, seen: Look, arguments: argparse.Namespace) -> None:
    """Print the errors of what-if answers at the last time."""
    ids, classes = world.data.node_ids, world.data.class_names
    belief = believe(world, seen, world.data.num_times - 1, arguments.draws)
    for horizon in (1, 3):
        factual, given = belief.outcomes(horizon).mean(1), []
        for one in truths(world, horizon, arguments.questions):
            toward, donor = one.do.toward, one.do.observed
            state = belief.states[ids.index(donor)] if toward is None else world.class_directions[classes.index(toward)]
            p = belief.outcomes(horizon, {ids.index(one.do.agent): np.asarray(state)}).mean(1)
            given.append((one, p, factual, torch.special.entr(p).sum(-1)))
        line = ", ".join(f"{name} {value:.3f}" for name, value in summary(given).items())
        print(f"what if, horizon {horizon}: {line}")


def main() -> None:
    """Print the figures of every world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", default="snare,financial")
    parser.add_argument("--agents", type=int, default=400)
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--draws", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for preset in arguments.presets.split(","):
        world = sphunc.simulate(preset, seed=arguments.seed, agents=arguments.agents, times=arguments.times)
        print(f"\n{preset}, seed {arguments.seed}, {arguments.agents} agents, {arguments.times} times")
        seen = look(world, np.random.default_rng(arguments.seed))
        forecasts(world, seen, arguments)
        answers(world, seen, arguments)


if __name__ == "__main__":
    main()
