"""Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if.

Public names are listed here and loaded on first use, so that importing the package costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphunc.baselines import Forecaster, forecaster
    from sphunc.causal import (
        CutGroup,
        CutLink,
        Do,
        Effect,
        Plan,
        Policy,
        ScaleLink,
        Shift,
        Stochastic,
    )
    from sphunc.datasets import load_dataset
    from sphunc.discovery import InfluenceGraph, discover
    from sphunc.errors import (
        ArgumentError,
        ArgumentTypeError,
        CheckpointError,
        DataError,
        MissingExtraError,
        NotFittedError,
        SphuncError,
    )
    from sphunc.hypergraph import TemporalHypergraph, time_split
    from sphunc.io import from_frames, read_hif, read_tables, write_hif, write_tables
    from sphunc.legacy import SphUncConfig
    from sphunc.legacy.estimator import SphUnc
    from sphunc.legacy.forecast import Forecast
    from sphunc.legacy.scenario import Scenario, known_links, no_links
    from sphunc.nn.conv import AngularHypergraphConv
    from sphunc.sphere import VonMisesFisher, vmf_entropy
    from sphunc.worlds import World, simulate

__version__ = "0.1.0"

_HOME = {
    "AngularHypergraphConv": "sphunc.nn.conv",
    "ArgumentError": "sphunc.errors",
    "ArgumentTypeError": "sphunc.errors",
    "CheckpointError": "sphunc.errors",
    "CutGroup": "sphunc.causal",
    "CutLink": "sphunc.causal",
    "DataError": "sphunc.errors",
    "Do": "sphunc.causal",
    "Effect": "sphunc.causal",
    "Forecast": "sphunc.legacy.forecast",
    "Forecaster": "sphunc.baselines",
    "InfluenceGraph": "sphunc.discovery",
    "MissingExtraError": "sphunc.errors",
    "NotFittedError": "sphunc.errors",
    "Plan": "sphunc.causal",
    "Policy": "sphunc.causal",
    "ScaleLink": "sphunc.causal",
    "Scenario": "sphunc.legacy.scenario",
    "Shift": "sphunc.causal",
    "SphUnc": "sphunc.legacy.estimator",
    "SphUncConfig": "sphunc.legacy",
    "SphuncError": "sphunc.errors",
    "Stochastic": "sphunc.causal",
    "TemporalHypergraph": "sphunc.hypergraph",
    "VonMisesFisher": "sphunc.sphere",
    "World": "sphunc.worlds",
    "discover": "sphunc.discovery",
    "forecaster": "sphunc.baselines",
    "from_frames": "sphunc.io",
    "known_links": "sphunc.legacy.scenario",
    "load_dataset": "sphunc.datasets",
    "no_links": "sphunc.legacy.scenario",
    "read_hif": "sphunc.io",
    "read_tables": "sphunc.io",
    "simulate": "sphunc.worlds",
    "time_split": "sphunc.hypergraph",
    "vmf_entropy": "sphunc.sphere",
    "write_hif": "sphunc.io",
    "write_tables": "sphunc.io",
}

_PACKAGES = (
    "baselines",
    "causal",
    "datasets",
    "discovery",
    "errors",
    "evaluation",
    "forecasting",
    "hypergraph",
    "interventions",
    "io",
    "legacy",
    "model",
    "nn",
    "sphere",
    "worlds",
)

__all__ = [
    "AngularHypergraphConv",
    "ArgumentError",
    "ArgumentTypeError",
    "CheckpointError",
    "CutGroup",
    "CutLink",
    "DataError",
    "Do",
    "Effect",
    "Forecast",
    "Forecaster",
    "InfluenceGraph",
    "MissingExtraError",
    "NotFittedError",
    "Plan",
    "Policy",
    "ScaleLink",
    "Scenario",
    "Shift",
    "SphUnc",
    "SphUncConfig",
    "SphuncError",
    "Stochastic",
    "TemporalHypergraph",
    "VonMisesFisher",
    "World",
    "__version__",
    "discover",
    "forecaster",
    "from_frames",
    "known_links",
    "load_dataset",
    "no_links",
    "read_hif",
    "read_tables",
    "simulate",
    "time_split",
    "vmf_entropy",
    "write_hif",
    "write_tables",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home, or a package of this one, on first use."""
    if name in _PACKAGES:
        return import_module(f"sphunc.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'sphunc' has no attribute {name!r}; public names: {', '.join(sorted(_HOME))}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names and packages, loaded or not."""
    return sorted([*__all__, *_PACKAGES])
