"""All forecasters by name; a new one adds a row here and inherits the conformance suite."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sphunc.baselines.forecaster import Forecaster
from sphunc.baselines.saving import PEER, saved_name
from sphunc.errors import ArgumentError
from sphunc.forecasting.storage import has_bundle

FORECASTERS = MappingProxyType(
    {
        "sphunc": "sphunc.estimator:SphUnc",
        "hypergcn": "sphunc.baselines.hypergcn:HyperGCN",
        "sshgnn": "sphunc.baselines.sshgnn:SSHGNN",
        "spherenet": "sphunc.baselines.spherenet:SphereNet",
        "cignn": "sphunc.baselines.cignn:CIGNN",
        "causal_sphhn": "sphunc.baselines.causal_sphhn:CausalSphHN",
        "majority": "sphunc.baselines.trivial:Majority",
        "persistence": "sphunc.baselines.trivial:Persistence",
        "logistic": "sphunc.baselines.controls:Logistic",
        "recurrent": "sphunc.baselines.controls:Recurrent",
    }
)
"""Name to "module:class"; loaded on first use."""


def forecaster_class(name: str) -> type[Any]:
    """Return the class of a forecaster."""
    if name not in FORECASTERS:
        raise ArgumentError(f"forecaster {name!r} is not known; choose one of {', '.join(FORECASTERS)}")
    module, _, leaf = FORECASTERS[name].partition(":")
    return getattr(import_module(module), leaf)


def forecaster(name: str, **settings: Any) -> Forecaster:
    """Make an unfitted forecaster.

    Example:
        >>> forecaster("hypergcn", seed=0, width=32)
        HyperGCN(horizon=1, seed=0, width=32)
    """
    return forecaster_class(name)(**settings)


def load_forecaster(folder: str | os.PathLike[str]) -> Forecaster:
    """Read any fitted forecaster, whichever it is."""
    name = saved_name(Path(folder)) if has_bundle(Path(folder), PEER) else "sphunc"
    return forecaster_class(name).load(folder)
