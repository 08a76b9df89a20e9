"""Who lives in a world: communities, persistent biases with homophily, individual noise, newcomers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sphunc.worlds.settings import WorldSettings

NOISE_LEVELS = 16
CLASS_BLUR = 0.6  # how far a community's centre lies from the direction of its class, as a tangent
UNSEEN_CANDIDATES = 256


@dataclass(frozen=True, eq=False)
class Population:
    """What stays with the agents: N agents, C classes, D axes.

    Attributes:
        class_directions: orthonormal rows ``[C, D]``.
        centres: directions of the communities, the unseen one last, ``[K + 1, D]``.
        community: community of each agent ``[N]``; K is the unseen one.
        biases: persistent unit biases u ``[N, D]``.
        noise_level: index into the table of concentrations, ``[N]``.
        concentrations: the von Mises-Fisher concentrations of the levels.
        newcomer: True for agents that enter at the last origin, ``[N]``, the unseen community included.
        axis_scales: how strongly biases and features use each axis, ``[D]``.
    """

    class_directions: NDArray[np.float64]
    centres: NDArray[np.float64]
    community: NDArray[np.int64]
    biases: NDArray[np.float64]
    noise_level: NDArray[np.int64]
    concentrations: NDArray[np.float64]
    newcomer: NDArray[np.bool_]
    axis_scales: NDArray[np.float64]


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale the last axis to length 1."""
    return vectors / np.sqrt(np.square(vectors).sum(-1, keepdims=True))


def populate(settings: WorldSettings, rng: Generator) -> Population:
    """Draw the population of a world.

    Args:
        settings: of the world.
        rng: source of randomness.
    """
    scales = np.exp(-settings.anisotropy * np.arange(settings.dim) / max(settings.dim - 1, 1))
    directions = orthonormal(rng.standard_normal((settings.classes, settings.dim)))
    centres = _centres(settings, directions, rng)
    community, newcomer = _memberships(settings, rng)
    own = unit(rng.standard_normal((settings.agents, settings.dim)))
    biases = unit(scales * (settings.homophily * centres[community] + (1.0 - settings.homophily) * own))
    return Population(
        class_directions=directions,
        centres=centres,
        community=community,
        biases=biases,
        noise_level=rng.integers(NOISE_LEVELS, size=settings.agents),
        concentrations=_concentrations(settings),
        newcomer=newcomer,
        axis_scales=scales,
    )


def orthonormal(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make rows orthonormal one after the other (written out, so that no LAPACK decides a sign)."""
    basis: list[NDArray[np.float64]] = []
    for row in rows:
        for _ in range(2):  # the second pass removes what rounding left
            for done in basis:
                row = row - (row * done).sum() * done
        basis.append(unit(row))
    return np.stack(basis)


def _centres(settings: WorldSettings, directions: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
    blur = unit(rng.standard_normal((settings.communities, settings.dim)))
    toward = directions[np.arange(settings.communities) % settings.classes]
    seen = unit(toward + CLASS_BLUR * blur)
    candidates = unit(rng.standard_normal((UNSEEN_CANDIDATES, settings.dim)))
    nearest = np.einsum("cd,kd->ck", candidates, seen).max(axis=1)
    return np.concatenate([seen, candidates[nearest.argmin()][None]])


def _memberships(settings: WorldSettings, rng: Generator) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    order = rng.permutation(settings.agents)
    unseen = round(settings.unseen * settings.agents)
    late = round(settings.newcomers * settings.agents)
    community = np.empty(settings.agents, dtype=np.int64)
    community[order] = np.arange(settings.agents) % settings.communities
    community[order[:unseen]] = settings.communities
    newcomer = np.zeros(settings.agents, dtype=bool)
    newcomer[order[: unseen + late]] = True
    return community, newcomer


def _concentrations(settings: WorldSettings) -> NDArray[np.float64]:
    normal = NormalDist()
    scores = np.array([normal.inv_cdf((level + 0.5) / NOISE_LEVELS) for level in range(NOISE_LEVELS)])
    return settings.concentration * np.exp(settings.concentration_spread * scores)
