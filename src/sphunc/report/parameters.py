"""The parameter table: coefficients of the base, dynamics of the states, share and size of the links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from sphunc.estimator import SphUnc
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model import ParameterEstimate, base_estimates, block_estimates, state_estimates
from sphunc.report.checks import check_fitted, default_model
from sphunc.report.table import Table

CLASS_NOTE = (
    "Base: log odds of the class against all others, and their odds ratio, per unit of the covariate with all others "
    "held; coefficients are shrunk towards 0, and intervals are those of the posterior. "
)
NUMBER_NOTE = (
    "Base: change of the number, in its own unit, per unit of the covariate with all others held; coefficients are "
    "shrunk towards 0, and intervals are those of the posterior. "
)
STATE_NOTE = (
    "States: geometric means over agents or axes, errors from the marginal likelihood of the features, clustered by "
    "agent, with links held fixed. Links: over structures drawn from the posterior. "
)
UNUSED = " (not in the forecast)"
UNUSED_NOTE = (
    "States have weight 0 in the forecast: it is that of the base alone, and rows marked as not in the forecast "
    "describe features only; neither forecasts nor effects rest on them. "
)
NONE_NOTE = "The paper's model is a network; its weights have no meaning one by one."
SCHEMA = {
    "block": pl.String,
    "parameter": pl.String,
    "outcome": pl.String,
    "unit": pl.String,
    "estimate": pl.Float64,
    "standard_error": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "odds_ratio": pl.Float64,
    "odds_low": pl.Float64,
    "odds_high": pl.Float64,
}


def parameter_table(model: SphUnc, data: TemporalHypergraph | None = None) -> Table:
    """All parameters with standard error, 95 % interval and odds ratio, those of states and links first.

    Coefficients of the base follow in the order of their evidence, the largest estimate in units of its error first.

    Args:
        model: as fitted.
        data: the training data, from which errors of the dynamics are computed; without it these are left out.
    """
    check_fitted("parameter_table", model)
    learned = default_model(model)
    if learned is None:
        return Table("Parameters", pl.DataFrame(schema=SCHEMA), NONE_NOTE)
    past = None if data is None else data.until(model.schema_.last)
    of_states = state_estimates(learned, model.schema_, model.preparation_, past)
    of_base = base_estimates(learned, model.schema_, model.preparation_)
    of_base.sort(key=lambda one: -abs(one.estimate) / one.error)
    note = NUMBER_NOTE if model.schema_.numeric else CLASS_NOTE
    if of_states:
        note = note + STATE_NOTE
    if of_states and learned.weight == 0:
        of_states = [replace(one, block=f"{one.block}{UNUSED}") for one in of_states]
        note = UNUSED_NOTE + note
    return Table("Parameters", _frame([*of_states, *of_base]), note.strip())


def _frame(estimates: Sequence[ParameterEstimate]) -> pl.DataFrame:
    rows = []
    for one in estimates:
        row = {
            "block": one.block,
            "parameter": one.parameter,
            "outcome": one.outcome,
            "unit": one.unit,
            "estimate": one.estimate,
            "standard_error": _known(one.error),
            "low": _known(one.low),
            "high": _known(one.high),
        }
        if one.is_log_odds:
            row |= {
                "odds_ratio": math.exp(min(one.estimate, 50.0)),
                "odds_low": math.exp(min(one.low, 50.0)),
                "odds_high": math.exp(min(one.high, 50.0)),
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def block_table(model: SphUnc) -> Table:
    """What each block of covariates has to say: columns, penalty, effective parameters, its clearest coefficient.

    Args:
        model: as fitted.
    """
    check_fitted("block_table", model)
    learned = default_model(model)
    schema = {
        "block": pl.String,
        "columns": pl.Int64,
        "penalty": pl.Float64,
        "effective_parameters": pl.Float64,
        "clearest": pl.String,
        "estimate_over_error": pl.Float64,
    }
    title = "Blocks of the regression"
    if learned is None:
        return Table(title, pl.DataFrame(schema=schema), NONE_NOTE)
    estimates = base_estimates(learned, model.schema_, model.preparation_)
    rows = []
    for block in block_estimates(learned):
        own = [one for one in estimates if one.block == block.block]
        clearest = max(own, key=lambda one: abs(one.estimate) / one.error)
        rows.append(
            {
                "block": block.block,
                "columns": block.columns,
                "penalty": block.penalty,
                "effective_parameters": block.parameters,
                "clearest": f"{clearest.parameter} → {clearest.outcome}",
                "estimate_over_error": clearest.estimate / clearest.error,
            }
        )
    note = (
        "The data choose the penalty of every block: a large one says that the block tells little, and the effective "
        "parameters are those that the data rather than the penalty decide."
    )
    return Table(title, pl.DataFrame(rows, schema=schema), note)
