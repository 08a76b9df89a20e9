"""Ground truth by Arb ball arithmetic: the textbook formulas at whatever precision makes them certain.

Nothing here is shared with the code under test. Precision is doubled until every quantity has 70 certified bits.
"""

from __future__ import annotations

import random
from functools import lru_cache
from types import SimpleNamespace

import pytest
from flint import arb, ctx

CERTIFIED_BITS = 70

DIMS = (2, 3, 4, 8, 16, 64, 128, 512, 4096, 100_000)
KAPPAS = (0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0, 50.0, 100.0, 200.0, 1e3, 1e5, 1e7, 1e9)
GRID = tuple((dim, kappa) for dim in DIMS for kappa in KAPPAS)


def held_out(seed: int, count: int = 250) -> tuple[tuple[int, float], ...]:
    """Random points of the whole domain, small dimensions and the seams between regions included."""
    rng = random.Random(seed)
    dims = [rng.randint(2, 70) if rng.random() < 0.6 else int(2 * 10 ** rng.uniform(0, 4.69)) for _ in range(count)]
    spread = [(dim, 10 ** rng.uniform(-6, 9) if rng.random() < 0.6 else 10 ** rng.uniform(-1, 3)) for dim in dims]
    return (*spread, *((dim, kappa) for dim in (2, 3, 7, 20, 53, 54) for kappa in (31.999, 32.0, 32.001)))


def log_area(dim: int) -> arb:
    half = arb(dim) / 2
    return arb(2).log() + half * arb.pi().log() - half.lgamma()


def at_zero(dim: int) -> dict[str, arb]:
    D, area = arb(dim), log_area(dim)
    return {
        "entropy": area, "log_normalizer": -area, "peak": -area, "kl": arb(0), "kl_slope": arb(0), "g": arb(0),
        "g_gap": arb(0), "A": arb(0), "gap": arb(1), "A1": 1 / D, "A2": arb(0), "A3": -6 / (D * D * (D + 2)),
    }  # fmt: skip


def from_bessel(dim: int, kappa: float) -> dict[str, arb]:
    k, nu, n = arb(kappa), arb(dim) / 2 - 1, arb(dim) - 1
    below, above = k.bessel_i(nu, scaled=True), k.bessel_i(nu + 1, scaled=True)
    A = above / below
    A1 = 1 - A * A - n * A / k
    A2 = -2 * A * A1 - n * (A1 / k - A / k**2)
    A3 = -2 * A1 * A1 - 2 * A * A2 - n * (A2 / k - 2 * A1 / k**2 + 2 * A / k**3)
    g = below.log() + k + (nu + 1).lgamma() - nu * (k / 2).log()
    area = log_area(dim)
    return {
        "entropy": area + g - k * A, "log_normalizer": -area - g, "peak": k - area - g, "kl": k * A - g,
        "kl_slope": k * A1, "g": g, "g_gap": g - k, "A": A, "gap": 1 - A, "A1": A1, "A2": A2, "A3": A3,
    }  # fmt: skip


@lru_cache(maxsize=4096)
def truth(dim: int, kappa: float) -> dict[str, arb]:
    """All radial quantities at one point."""
    for bits in (200, 400, 800, 1600, 3200, 6400):
        ctx.prec = bits
        values = at_zero(dim) if kappa == 0 else from_bessel(dim, kappa)
        if all(value.rel_accuracy_bits() > CERTIFIED_BITS for value in values.values()):
            return values
    raise AssertionError(f"Arb is not certain at D={dim}, kappa={kappa}")


def error(value: float, exact: arb, floor: float = 0.0) -> float:
    """|value - exact| / max(floor, |exact|), subtracted in ball arithmetic; 0 where both are 0."""
    ctx.prec = 400
    missed = abs(float(arb(value) - exact))
    return missed / max(floor, abs(float(exact))) if missed else 0.0


POINTS = {"grid": GRID, "held-out": held_out(seed=20261115)}


@pytest.fixture(scope="session")
def arb_truth() -> SimpleNamespace:
    """The functions above, for test modules: ``at(dim, kappa)[name]``, ``error(value, exact, floor)``, ``points``."""
    return SimpleNamespace(at=truth, error=error, points=POINTS)
