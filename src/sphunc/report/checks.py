"""Checks of what every result of the report is given: a fitted model, and data."""

from __future__ import annotations

from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentTypeError, NotFittedError
from sphunc.estimator import SphUnc
from sphunc.model import FittedModel


def check_fitted(asked: str, model: object) -> SphUnc:
    """Take a fitted :class:`~sphunc.SphUnc`.

    Args:
        asked: what needs it, for the error.
        model: what was given.
    """
    if not isinstance(model, SphUnc):
        raise ArgumentTypeError(f"model is a {type(model).__name__}; {asked} takes a fitted sphunc.SphUnc")
    if "model_" not in vars(model):
        raise NotFittedError(f"{asked} needs a fitted model; call fit(data), or SphUnc.load(folder), first")
    return model


def check_graph(graph: object) -> InfluenceGraph:
    """Take an influence graph."""
    if not isinstance(graph, InfluenceGraph):
        raise ArgumentTypeError(f"graph is a {type(graph).__name__}; give model.influence(), or what discover returned")
    return graph


def default_model(model: SphUnc) -> FittedModel | None:
    """The parts of the default model; None for the paper's."""
    learned = model.model_
    return learned if isinstance(learned, FittedModel) else None
