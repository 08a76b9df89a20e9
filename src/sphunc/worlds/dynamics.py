r"""How a world moves: the law of one step and its repetition.

.. math:: d_i = a h_i + b u_i + \sum_j s_{ji} h_j + p \, \overline{R_e^q \hat m_e} + c z_{k(i)}, \qquad
          h_i' \sim \mathrm{vMF}(d_i / |d_i|, \kappa_i)

The pull of a group e is along the mean direction of its members and grows with their resultant length R_e to the power
q: how strongly one member counts depends on whether the others agree, which no sum over pairs can express.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sphunc.worlds.noise import angle_table, perturb
from sphunc.worlds.population import Population, unit
from sphunc.worlds.settings import WorldSettings

CONFOUNDER_PERSISTENCE = 0.8
DECIMALS = 10  # states are rounded, so that the last bit of a platform's arithmetic cannot grow

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All that moves, for S parallel draws: states ``[N, S, D]``, driver ``[N, S]``, hidden force ``[K, S, D]``."""

    states: Array
    driver: Array
    hidden: Array


@dataclass(frozen=True, eq=False)
class Law:
    """The law of motion: settings, population, link matrix ``[target, source]``, meeting matrices per time."""

    settings: WorldSettings
    population: Population
    influence: csr_matrix
    attendance: tuple[csr_matrix, ...]
    tables: tuple[tuple[Array, Array], ...]

    def meetings(self, time: int) -> csr_matrix:
        """Groups by agents at a time; before the first and after the last time the groups there meet on."""
        return self.attendance[min(max(time, 0), len(self.attendance) - 1)]


def law_of(
    settings: WorldSettings,
    population: Population,
    links: NDArray[np.int64],
    strengths: Array,
    attendance: tuple[csr_matrix, ...],
) -> Law:
    """Assemble the law of motion.

    Args:
        settings: of the world.
        population: who lives there.
        links: rows source and target, ``[2, K]``.
        strengths: signed strength of each link, ``[K]``.
        attendance: groups by agents, one matrix per time.
    """
    shape = (settings.agents, settings.agents)
    influence = csr_matrix((strengths, (links[1], links[0])), shape=shape)
    tables = tuple(angle_table(kappa, settings.dim) for kappa in population.concentrations.tolist())
    return Law(settings, population, influence, attendance, tables)


def group_pull(attendance: csr_matrix, states: Array, power: float) -> Array:
    r"""Mean over an agent's groups of :math:`R_e^q \hat m_e`, ``[N, S, D]``; 0 for agents that met nobody.

    Args:
        attendance: groups by agents, 1 where an agent meets.
        states: h, ``[N, S, D]``.
        power: q, how fast the pull grows with cohesion.
    """
    mean = _row_means(attendance, states)
    cohesion = np.sqrt(np.square(mean).sum(-1, keepdims=True))
    if power >= 1.0:
        pull = mean * cohesion ** (power - 1.0)
    else:
        direction = np.divide(mean, cohesion, out=np.zeros_like(mean), where=cohesion > 0)
        pull = direction * cohesion**power
    return _row_means(attendance.T.tocsr(), pull)


def _row_means(matrix: csr_matrix, values: Array) -> Array:
    """Mean of ``values [column, S, D]`` over the entries of each row; 0 for a row without any."""
    columns, draws, dim = values.shape
    counts = np.diff(matrix.indptr)
    sums = (matrix @ values.reshape(columns, draws * dim)).reshape(len(counts), draws, dim)
    return sums / np.maximum(counts, 1)[:, None, None]


def total_force(law: Law, now: Snapshot, time: int) -> Array:
    """Return the sum of all forces on each agent at a time, ``[N, S, D]``.

    Args:
        law: of motion.
        now: what moves, at ``time``.
        time: index of the time.
    """
    knobs = law.settings
    people = law.population
    force = knobs.inertia * now.states + knobs.bias * people.biases[:, None, :]
    force += (law.influence @ now.states.reshape(len(now.states), -1)).reshape(now.states.shape)
    if knobs.group_pull:
        force += knobs.group_pull * group_pull(law.meetings(time), now.states, knobs.cohesion_power)
    if knobs.confounder:
        force += knobs.confounder * now.hidden[people.community]
    return force


def step(law: Law, now: Snapshot, time: int, rng: Generator) -> Snapshot:
    """Move from ``time`` to the next, with noise from ``rng`` (always the same amount of it).

    Args:
        law: of motion.
        now: what moves, at ``time``.
        time: index of the time.
        rng: source of randomness.
    """
    agents, draws, dim = now.states.shape
    uniforms = rng.random((agents, draws))
    normals = rng.standard_normal((agents, draws, dim))
    shock = rng.standard_normal((agents, draws))
    force_shock = rng.standard_normal(now.hidden.shape)
    means = unit(total_force(law, now, time))
    states = perturb(means, uniforms, normals, law.population.noise_level, law.tables)
    keep = law.settings.driver_persistence
    return Snapshot(
        states=np.round(states, DECIMALS),
        driver=np.round(keep * now.driver + np.sqrt(1.0 - keep**2) * shock, DECIMALS),
        hidden=_next_force(now.hidden, force_shock),
    )


def _next_force(hidden: Array, shock: Array) -> Array:
    keep = CONFOUNDER_PERSISTENCE
    return np.round(keep * hidden + np.sqrt((1.0 - keep**2) / hidden.shape[-1]) * shock, DECIMALS)


def initial(law: Law, rng: Generator) -> Snapshot:
    """Start at the biases, with driver and hidden force in their stationary law.

    Args:
        law: of motion.
        rng: source of randomness.
    """
    people = law.population
    blocks, dim = people.centres.shape
    return Snapshot(
        states=people.biases[:, None, :].copy(),
        driver=np.round(rng.standard_normal((len(people.biases), 1)), DECIMALS),
        hidden=np.round(rng.standard_normal((blocks, 1, dim)) / np.sqrt(dim), DECIMALS),
    )
