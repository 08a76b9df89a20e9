"""Where the numbers of each table come from: an experiment file, sizes of presets, settings, or scenarios."""

from __future__ import annotations

from pathlib import Path

from sphunc._checks import did_you_mean
from sphunc.errors import ArgumentError

EXPERIMENTS = Path(__file__).parent / "experiments"
SOURCES = {
    "datasets": "",
    "hyperparameters": "",
    "main": "main",
    "ece": "main",
    "causal": "main",
    "significance": "main",
    "ablation": "ablation",
    "robustness": "robustness",
    "cases": "",
}
"""Table names, and the experiment that each needs; empty where no benchmark is run."""


def check_table(name: str) -> str:
    """Return the name of a table, or refuse it with the one that was probably meant."""
    if name not in SOURCES:
        raise ArgumentError(f"table is {name!r}{did_you_mean(name, list(SOURCES))}; choose {', '.join(SOURCES)}")
    return name


def experiment_file(name: str, *, quick: bool) -> Path | None:
    """The experiment that a table needs; None where it needs none.

    Args:
        name: of the table.
        quick: the small size, minutes instead of hours.
    """
    experiment = SOURCES[check_table(name)]
    if not experiment:
        return None
    folder = EXPERIMENTS / "quick" if quick else EXPERIMENTS
    return folder / f"{experiment}.toml"
