"""Random streams: one independent generator per ingredient, so that turning one knob leaves the other draws alone.

PCG64 and float64 throughout; numpy documents the streams as reproducible between platforms.
"""

from __future__ import annotations

from numpy.random import PCG64, Generator, SeedSequence

INGREDIENTS = ("population", "presence", "meetings", "links", "path", "features", "masks", "outcomes", "future")


def stream(seed: int, ingredient: str, part: int = 0) -> Generator:
    """Return the generator of one ingredient (and one part of it) of the world with this seed.

    Args:
        seed: of the world.
        ingredient: one of ``INGREDIENTS``.
        part: number of the part.
    """
    return Generator(PCG64(SeedSequence(entropy=seed, spawn_key=(INGREDIENTS.index(ingredient), part))))
