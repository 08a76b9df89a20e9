"""Random streams: one independent generator per ingredient, so that turning one knob leaves the other draws alone.

PCG64 and float64 throughout; numpy documents the streams as reproducible between platforms.
"""

from __future__ import annotations

from numpy.random import PCG64, Generator, SeedSequence

from sphunc.errors import ArgumentError

INGREDIENTS = ("population", "presence", "meetings", "links", "path", "features", "masks", "outcomes", "future")


def stream(seed: int, ingredient: str, part: int = 0) -> Generator:
    """Return the generator of one ingredient (and one part of it) of the world with this seed."""
    return Generator(PCG64(SeedSequence(entropy=seed, spawn_key=(INGREDIENTS.index(ingredient), part))))


def check_seed(seed: object) -> None:
    """Refuse a seed that numpy would refuse, with the argument named."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ArgumentError(f"seed={seed!r} must be a whole number of at least 0; choose for instance seed=0")
