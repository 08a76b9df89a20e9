"""What the fit is worth, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sphunc.model.fitting import ComparisonRow, FittedModel

CLEAR = 2.0
"""Standard errors from which on a gain can be seen."""
SIMPLE = {"class frequencies": "class frequencies", "mean": "the mean of all", "persistence": "the last outcome"}
"""Forecasts without covariates, and what the verdict calls them."""


def describe_fit(model: FittedModel) -> str:
    """Say what states and links add to a regression on the same covariates.

    Args:
        model: as fitted.
    """
    rows = {row.model: row for row in model.comparison}
    if model.held_out == "nothing":
        return "too few outcomes to hold any out: forecasts are those of a regression on covariates, not judged"
    if model.quick:
        alone = "a regression on covariates alone, as asked for (quick=True): no states, no links"
        return "; ".join(part for part in (_covariates(rows), alone) if part)
    parts = [_covariates(rows), _states(model, rows.get("covariates + states"))]
    links = rows.get("covariates + states + links")
    if model.weight > 0:
        parts.append(_links(links))
    where = {"origins": "held-out times", "agents": "held-out agents"}[model.held_out]
    return f"{'; '.join(part for part in parts if part)} (on {where})"


def _covariates(rows: Mapping[str, ComparisonRow]) -> str:
    """Say so where the regression is no better than a forecast without covariates."""
    row = rows.get("covariates")
    simple = [name for name in SIMPLE if name in rows]
    if row is None or not simple or row.gain > CLEAR * row.error:
        return ""
    best = min(simple, key=lambda name: rows[name].nll)
    return f"covariates add nothing that can be seen to {SIMPLE[best]}"


def _states(model: FittedModel, row: ComparisonRow | None) -> str:
    if model.num_axes == 0 or row is None:
        return "features show nothing that persists, so that there are no states: forecasts are those of a regression"
    if model.weight == 0:
        return "states add nothing that can be seen to a regression on the same covariates, and are left out"
    if row.gain <= 0:
        return "states add to a regression on the same covariates only together with their links"
    return f"states add {row.gain:.3f} nats to a regression on the same covariates"


def _links(row: ComparisonRow | None) -> str:
    if row is None:
        return "nobody ever meets, so that there are no links"
    if row.gain > CLEAR * row.error:
        return f"links add {row.gain:.3f} nats"
    return "links add nothing to the forecast that can be seen"


def comparison_frame(rows: Sequence[ComparisonRow]) -> pl.DataFrame:
    """Return the comparison as a frame: model, nll, gain over the model before it, its paired
    error.

    Args:
        rows: of the comparison.
    """
    columns = {
        "model": [row.model for row in rows],
        "nll": [row.nll for row in rows],
        "gain": [row.gain for row in rows],
        "error": [row.error for row in rows],
    }
    schema = {"model": pl.String, "nll": pl.Float64, "gain": pl.Float64, "error": pl.Float64}
    return pl.DataFrame(columns, schema=schema)


def comparison_table(rows: Sequence[ComparisonRow]) -> str:
    """Return the comparison as text, one line per model.

    Args:
        rows: of the comparison.
    """
    lines = ["model                          held-out NLL      gain    (error)"]
    for row in rows:
        change = "" if row.error == 0 else f"{row.gain:+10.4f}  ({row.error:.4f})"
        lines.append(f"{row.model:<30} {row.nll:12.4f}{change}")
    return "\n".join(lines)
