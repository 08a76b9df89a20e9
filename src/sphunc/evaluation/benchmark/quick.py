"""The small experiment behind ``sphunc benchmark --quick``: six systems and three trivial ones on one small world."""

from __future__ import annotations

from typing import Any

from sphunc.evaluation.benchmark.matrix import Matrix
from sphunc.evaluation.benchmark.reading import make_matrix

SIX_SYSTEMS = ("sphunc", "hypergcn", "sshgnn", "spherenet", "cignn", "causal_sphhn")
"""SphUnc and the five systems of the paper."""

QUICK: dict[str, Any] = {
    "name": "quick",
    "models": [*SIX_SYSTEMS, "majority", "persistence", "logistic"],
    "data": [{"world": "snare", "knobs": {"agents": 100, "times": 10}, "label": "small snare world"}],
    "seeds": [0, 1, 2],
    "trials": 1,
}
"""Sized to end within 3 minutes on 2 cores; too small to rank systems that lie close together, and it says so."""


def quick_matrix() -> Matrix:
    """The small experiment, checked."""
    return make_matrix(QUICK, "--quick")
