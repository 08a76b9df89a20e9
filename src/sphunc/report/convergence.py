"""Convergence: did the fit end by itself, what stopped it, and what to do if not."""

from __future__ import annotations

import math

import polars as pl

from sphunc.estimator import SphUnc
from sphunc.model import FittedModel, sampler_agreement
from sphunc.report.checks import check_fitted, default_model
from sphunc.report.table import Table

AGREEMENT = 1.2
"""Split R-hat from which on the chains of the sampler are said to differ (Gelman and Rubin 1992)."""
SCHEMA = {"what": pl.String, "found": pl.String, "ended_by_itself": pl.Boolean, "what_to_do": pl.String}


def convergence(model: SphUnc) -> Table:
    """Every iterative part of the fit: what was found, whether it ended by itself, what to do if not.

    Args:
        model: as fitted.
    """
    check_fitted("convergence", model)
    learned = default_model(model)
    rows = _epochs(model) if learned is None else _stages(model, learned)
    return Table("Convergence", pl.DataFrame(rows, schema=SCHEMA))


def _row(what: str, found: str, ended: bool | None, to_do: str) -> dict[str, str | bool | None]:
    return {"what": what, "found": found, "ended_by_itself": ended, "what_to_do": "nothing" if ended else to_do}


def _stages(model: SphUnc, learned: FittedModel) -> list[dict[str, str | bool | None]]:
    history = model.history_
    is_done = bool(history) and history[-1].stage == "done"
    seconds = history[-1].seconds if history else math.nan
    last = history[-1].stage if history else "nothing"
    rows = [
        _row(
            "the fit",
            f"all stages done in {seconds:.1f} s" if is_done else f"stopped at: {last}",
            is_done,
            "fit(data, resume=folder) goes on where it stopped",
        ),
        _row(
            "base regression",
            f"convex, solved to tolerance on {learned.predictor.base.rows:,} rows; penalties chosen on held-out "
            f"{learned.predictor.base.held_out}",
            True,
            "",
        ),
    ]
    half_life = learned.predictor.base.half_life
    if math.isfinite(half_life):
        found = f"the process changed: rows count half after {half_life:g} times"
        rows.append(_row("stationarity", found, False, "read all results as those of the recent past"))
    held = {
        "origins": ("pool, temperature and sets were chosen on held-out times", True),
        "agents": ("few times: pool, temperature and sets were chosen on held-out agents", True),
        "nothing": ("too few outcomes to hold any out: nothing was calibrated", False),
    }
    found, is_good = held[learned.held_out]
    rows.append(_row("calibration", found, is_good, "observe more agents or more times"))
    states = learned.predictor.states
    if states is None or states.structure is None:
        return rows
    agreement = sampler_agreement(states.structure)
    if math.isnan(agreement):
        rows.append(_row("sampler of the links", "too few structures were kept to compare its chains", None, "nothing"))
        return rows
    rows.append(
        _row(
            "sampler of the links",
            f"split R-hat {agreement:.2f} of the number of links, over two chains",
            agreement < AGREEMENT,
            "fit again with other seeds, and trust only links that all of them find",
        )
    )
    return rows


def _epochs(model: SphUnc) -> list[dict[str, str | bool | None]]:
    asked = getattr(model.config_, "epochs", 0)
    run = len(model.history_)
    ended = run < asked
    found = f"{run} of {asked} epochs"
    if ended:
        found += "; stopped because validation no longer improved"
    return [_row("training", found, ended, "allow more: SphUncConfig.paper(epochs=...)")]
