"""Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if.

Public names are listed here and loaded on first use, so that importing the package costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphunc.baselines import Forecaster, forecaster
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
    from sphunc.estimator import SphUnc
    from sphunc.forecasting import Forecast
    from sphunc.hypergraph import Split, TemporalHypergraph, time_split
    from sphunc.interventions import CutGroup, CutLink, Do, Effect, Plan, Policy, ScaleLink, Shift, Stochastic
    from sphunc.io import from_frames, read_hif, read_tables, write_hif, write_tables
    from sphunc.model import SphUncConfig
    from sphunc.nn import AngularHypergraphConv
    from sphunc.sphere import VonMisesFisher, vmf_entropy
    from sphunc.worlds import World, simulate

__version__ = "0.1.0"

_HOME = {
    "AngularHypergraphConv": "sphunc.nn",
    "ArgumentError": "sphunc.errors",
    "ArgumentTypeError": "sphunc.errors",
    "CheckpointError": "sphunc.errors",
    "CutGroup": "sphunc.interventions",
    "CutLink": "sphunc.interventions",
    "DataError": "sphunc.errors",
    "Do": "sphunc.interventions",
    "Effect": "sphunc.interventions",
    "Forecast": "sphunc.forecasting",
    "Forecaster": "sphunc.baselines",
    "InfluenceGraph": "sphunc.discovery",
    "MissingExtraError": "sphunc.errors",
    "NotFittedError": "sphunc.errors",
    "Plan": "sphunc.interventions",
    "Policy": "sphunc.interventions",
    "ScaleLink": "sphunc.interventions",
    "Shift": "sphunc.interventions",
    "SphUnc": "sphunc.estimator",
    "SphUncConfig": "sphunc.model",
    "SphuncError": "sphunc.errors",
    "Split": "sphunc.hypergraph",
    "Stochastic": "sphunc.interventions",
    "TemporalHypergraph": "sphunc.hypergraph",
    "VonMisesFisher": "sphunc.sphere",
    "World": "sphunc.worlds",
    "discover": "sphunc.discovery",
    "forecaster": "sphunc.baselines",
    "from_frames": "sphunc.io",
    "load_dataset": "sphunc.datasets",
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
    "datasets",
    "discovery",
    "errors",
    "estimator",
    "evaluation",
    "figures",
    "forecasting",
    "hypergraph",
    "interventions",
    "io",
    "model",
    "nn",
    "report",
    "runs",
    "sphere",
    "tables",
    "worlds",
)

_REMOVED = {
    "Scenario": "say what is known of links with fit(forbidden=, required=); change them with CutLink or ScaleLink",
    "causal": "sphunc.discovery has discover and InfluenceGraph, sphunc.interventions has Do and the others",
    "known_links": "give fit(required=[(source, target), ...]) the links that exist",
    "no_links": "give fit(forbidden=[(source, target), ...]) the links that do not exist, or cut them with CutLink",
}
"""Public names of earlier versions, and what to use in their place."""

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
    "Shift",
    "SphUnc",
    "SphUncConfig",
    "SphuncError",
    "Split",
    "Stochastic",
    "TemporalHypergraph",
    "VonMisesFisher",
    "World",
    "__version__",
    "discover",
    "forecaster",
    "from_frames",
    "load_dataset",
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
    if name in _REMOVED:
        raise AttributeError(f"sphunc.{name} is gone: {_REMOVED[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'sphunc' has no attribute {name!r}; public names: {', '.join(sorted(_HOME))}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names and packages, loaded or not."""
    return sorted([*__all__, *_PACKAGES])
