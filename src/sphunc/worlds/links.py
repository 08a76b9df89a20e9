"""Who influences whom: sparse signed links between agents that met."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sphunc.worlds.settings import WorldSettings


def draw_links(
    settings: WorldSettings, met: list[list[int]], rng: Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw about Poisson(``parents``) parents per agent among those it met, with signed strengths.

    Returns ``links [2, K]`` (source, target), sorted by target then source, and ``strengths [K]``.

    Args:
        settings: of the world.
        met: for each agent, the agents that it met.
        rng: source of randomness.
    """
    wanted = rng.poisson(settings.parents, size=settings.agents).tolist()
    sources: list[int] = []
    targets: list[int] = []
    for target, (others, count) in enumerate(zip(met, wanted, strict=True)):
        if not others:
            continue
        chosen = sorted(rng.permutation(others)[:count].tolist())
        sources += [int(source) for source in chosen]
        targets += [target] * len(chosen)
    size = settings.link_strength * np.exp(settings.strength_spread * rng.standard_normal(len(sources)))
    sign = np.where(rng.random(len(sources)) < settings.negative, -1.0, 1.0)
    return np.array([sources, targets], dtype=np.int64).reshape(2, -1), size * sign
