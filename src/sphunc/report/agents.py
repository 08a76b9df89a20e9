"""Agents to look at first, and why: likely to change, hard to forecast, little known, acting on many."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import polars as pl
import torch

from sphunc._checks import whole_number
from sphunc._typing import Float, Tensor, Whole
from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentError
from sphunc.estimator import SphUnc
from sphunc.forecasting import Forecast, align, id_column
from sphunc.hypergraph import TemporalHypergraph
from sphunc.report.checks import check_fitted
from sphunc.report.table import Table, display

TITLE = "Who stands out, and why"
NOTE = (
    "Likely to change: the forecast differs from the last outcome. Hard to forecast: the largest total uncertainty. "
    "Little known: the largest epistemic part, which observing them would lower. Acts on many: the largest sum of "
    "link strengths times probabilities. Epistemic is between 0 (state known) and 1 (nothing known)."
)
DEVIATIONS = "Aleatoric and total are standard deviations in the unit of the outcome."


def agents_to_look_at(
    model: SphUnc, data: TemporalHypergraph, forecast: Forecast | None = None, *, count: Whole = 4
) -> Table:
    """The agents that stand out in the forecast or in the influence graph, with the reasons.

    Args:
        model: as fitted.
        data: the past.
        forecast: from its last time; made here where None.
        count: most agents per reason.
    """
    check_fitted("agents_to_look_at", model)
    most = whole_number("count", count, least=1)
    if forecast is None:
        forecast = model.predict(data)
    aligned = align(data, model.schema_)
    last, has_last = last_outcomes(aligned)
    reasons: dict[int, list[str]] = {}
    for agent, text in _changes(forecast, last, has_last, most):
        reasons.setdefault(agent, []).append(text)
    for agent in _largest(forecast.total, most):
        reasons.setdefault(agent, []).append("hard to forecast")
    for agent in _largest(forecast.epistemic_scaled, most):
        reasons.setdefault(agent, []).append("little known")
    place = {agent: k for k, agent in enumerate(forecast.agents)}
    for agent, text in _influencers(model, most):
        if agent in place:
            reasons.setdefault(place[agent], []).append(text)
    ids = id_column(forecast.agents)
    aleatoric, total = shown_uncertainty(forecast)
    rows: list[dict[str, Any]] = []
    for agent, texts in reasons.items():
        rows.append(
            {
                "agent": ids[agent],
                "why": "; ".join(texts),
                "last_outcome": _shown(last[agent], forecast) if bool(has_last[agent]) else None,
                "forecast": _forecast(forecast, agent),
                "epistemic": float(forecast.epistemic_scaled[agent]),
                "aleatoric": float(aleatoric[agent]),
                "total": float(total[agent]),
            }
        )
    note = f"{NOTE} {DEVIATIONS}" if forecast.numeric else NOTE
    return Table(TITLE, pl.DataFrame(rows, strict=False), note)


def shown_uncertainty(forecast: Forecast) -> tuple[Float[Tensor, " agent"], Float[Tensor, " agent"]]:
    """Aleatoric part and total as they are shown: of numbers as deviations in the unit of the outcome.

    Their total is the deviation of the predictive distribution, and no part is larger.

    Args:
        forecast: of all agents.
    """
    if forecast.variance is None:
        return forecast.aleatoric, forecast.total
    total = forecast.variance.double().mean(-1).sqrt()
    return torch.minimum(forecast.aleatoric.double().sqrt(), total), total


def last_outcomes(data: TemporalHypergraph) -> tuple[Tensor, Tensor]:
    """Last observed outcome of every agent, and whether there is one.

    Args:
        data: with outcomes.
    """
    assert data.y is not None
    last = data.y[0].clone()
    has_last = torch.zeros(data.num_nodes, dtype=torch.bool)
    for time in range(data.num_times):
        mask = data.y_mask[time]
        last[mask] = data.y[time][mask]
        has_last |= mask
    return last, has_last


def _largest(values: Float[Tensor, " agent"], most: int) -> list[int]:
    """Agents with the largest values; none where all are alike."""
    if float(values.max() - values.min()) < 1e-9:
        return []
    return torch.argsort(values, descending=True, stable=True)[:most].tolist()


def _changes(forecast: Forecast, last: Tensor, has_last: Tensor, most: int) -> list[tuple[int, str]]:
    if forecast.probabilities is not None:
        named = forecast.prediction
        chance = torch.where(has_last & (named != last), forecast.confidence, 0.0)
        order = torch.argsort(chance, descending=True, stable=True)[:most]
        return [
            (k, f"likely to change: {forecast.class_names[int(named[k])]} with probability {float(chance[k]):.2f}")
            for k in order.tolist()
            if float(chance[k]) > 0
        ]
    assert forecast.mean is not None
    assert forecast.variance is not None
    score = ((forecast.mean - last) / forecast.variance.sqrt()).abs().amax(-1)
    score = torch.where(has_last, score, 0.0)
    order = torch.argsort(score, descending=True, stable=True)[:most]
    return [(k, f"likely to change, by {float(score[k]):.1f} deviations") for k in order.tolist() if score[k] > 1]


def _influencers(model: SphUnc, most: int) -> list[tuple[Hashable, str]]:
    graph = found_graph(model)
    if graph is None:
        return []
    shown = graph.is_informative()
    sent = torch.where(shown, graph.coefficient.abs(), 0.0)
    source = graph.links[0].long()
    total = torch.zeros(graph.num_agents, dtype=sent.dtype).index_add_(0, source, sent)
    count = torch.bincount(source[shown & (graph.probability > 0.5)], minlength=graph.num_agents)
    order = torch.argsort(total, descending=True, stable=True)[:most].tolist()
    return [(graph.agents[k], f"acts on {int(count[k])} others") for k in order if int(count[k]) > 0]


def found_graph(model: SphUnc) -> InfluenceGraph | None:
    """The influence graph of a fit; None where none could be learned."""
    try:
        return model.influence()
    except ArgumentError:
        return None


def _shown(value: Tensor, forecast: Forecast) -> str:
    if not forecast.numeric:
        return forecast.class_names[int(value)]
    return ", ".join(display(float(one)) for one in value)


def _forecast(forecast: Forecast, agent: int) -> str:
    if not forecast.numeric:
        name = forecast.class_names[int(forecast.prediction[agent])]
        return f"{name} ({float(forecast.confidence[agent]):.2f})"
    assert forecast.mean is not None
    assert forecast.variance is not None
    pairs = zip(forecast.mean[agent].tolist(), forecast.variance[agent].sqrt().tolist(), strict=True)
    return ", ".join(f"{display(mean)} ± {display(spread)}" for mean, spread in pairs)
