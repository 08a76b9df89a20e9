"""All forecasters by name; a new one adds a row here and inherits the conformance suite."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sphunc._checks import did_you_mean
from sphunc.baselines.baseline import BUNDLE
from sphunc.baselines.forecaster import Forecaster
from sphunc.errors import ArgumentError
from sphunc.forecasting import has_bundle, read_bundle

FORECASTERS = MappingProxyType(
    {
        "sphunc": "sphunc.estimator:SphUnc",
        "sphunc_paper": "sphunc.baselines.paper:sphunc_paper",
        "hypergcn": "sphunc.baselines.networks.hypergcn:HyperGCN",
        "sshgnn": "sphunc.baselines.networks.sshgnn:SSHGNN",
        "spherenet": "sphunc.baselines.networks.spherenet.network:SphereNet",
        "cignn": "sphunc.baselines.networks.cignn:CIGNN",
        "causal_sphhn": "sphunc.baselines.networks.causal_sphhn:CausalSphHN",
        "hgnn": "sphunc.baselines.networks.hgnn:HGNN",
        "unigcnii": "sphunc.baselines.networks.unigcnii:UniGCNII",
        "allset": "sphunc.baselines.networks.allset:AllSetTransformer",
        "edhnn": "sphunc.baselines.networks.edhnn:EDHNN",
        "gpn": "sphunc.baselines.networks.gpn:GPN",
        "majority": "sphunc.baselines.controls.frequencies:Majority",
        "persistence": "sphunc.baselines.controls.frequencies:Persistence",
        "logistic": "sphunc.baselines.regressions.logistic:Logistic",
        "mlp": "sphunc.baselines.regressions.mlp:Perceptron",
        "boosting": "sphunc.baselines.regressions.boosting:Boosting",
        "recurrent": "sphunc.baselines.controls.recurrent:Recurrent",
        "ensemble": "sphunc.baselines.sampling:Ensemble",
        "mc_dropout": "sphunc.baselines.sampling:MCDropout",
    }
)
"""Name to "module:class"; loaded on first use."""
WRAPPERS = ("ensemble", "mc_dropout")
"""Systems made of another one, which their setting ``of`` names."""
WRAPPED = "edhnn"
"""What they are made of unless it is given."""


def forecaster_class(name: str) -> Any:
    """Return the class of a forecaster; for ``sphunc_paper`` the function that makes it."""
    if name not in FORECASTERS:
        hint = did_you_mean(name, list(FORECASTERS))
        raise ArgumentError(f"forecaster {name!r} is not known{hint}; choose one of {', '.join(FORECASTERS)}")
    module, _, leaf = FORECASTERS[name].partition(":")
    return getattr(import_module(module), leaf)


def forecaster(name: str, **settings: object) -> Forecaster:
    """Make an unfitted forecaster.

    Args:
        name: a key of :data:`FORECASTERS`.
        **settings: of the forecaster.

    Example:
        >>> forecaster("hypergcn", seed=0, width=32)
        HyperGCN(horizon=1, seed=0, width=32)
    """
    return forecaster_class(name)(**settings)


def load_forecaster(folder: str | os.PathLike[str]) -> Forecaster:
    """Read any fitted forecaster, whichever it is."""
    name = "sphunc"
    if has_bundle(Path(folder), BUNDLE):
        document, _ = read_bundle(Path(folder), BUNDLE)
        name = str(document.get("baseline"))
    return forecaster_class(name).load(folder)
