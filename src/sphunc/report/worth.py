"""What the fit is worth: nested models on held-out outcomes, with paired errors and the verdict."""

from __future__ import annotations

import polars as pl

from sphunc.estimator import SphUnc
from sphunc.report.checks import check_fitted
from sphunc.report.table import Table

CLEAR = 2.0
"""Standard errors from which on a gain can be seen."""


def fit_worth(model: SphUnc) -> Table:
    """Held-out negative log-likelihood of nested models, what each adds to the one before it, and the verdict.

    Args:
        model: as fitted.

    Example:
        >>> import sphunc
        >>> data = sphunc.simulate("snare", agents=40, times=6, seed=0).data
        >>> fit_worth(sphunc.SphUnc(quick=True).fit(data, verbose=False)).frame.columns
        ['model', 'nll', 'gain', 'standard_error', 'low', 'high', 'reading']
    """
    check_fitted("fit_worth", model)
    rows = model.comparison_.rows(named=True)
    found = []
    for k, row in enumerate(rows):
        is_first = k == 0
        half = CLEAR * row["error"]
        found.append(
            {
                "model": row["model"],
                "nll": row["nll"],
                "gain": None if is_first else row["gain"],
                "standard_error": None if is_first else row["error"],
                "low": None if is_first else row["gain"] - half,
                "high": None if is_first else row["gain"] + half,
                "reading": "the floor" if is_first else _reading(row["gain"], row["error"], rows[k - 1]["model"]),
            }
        )
    schema = {"model": pl.String, "nll": pl.Float64, "gain": pl.Float64, "standard_error": pl.Float64}
    schema |= {"low": pl.Float64, "high": pl.Float64, "reading": pl.String}
    note = (
        "Negative log-likelihood of outcomes that were held out, in nats: smaller is better. The gain is over the row "
        "above, on the same outcomes, with an error clustered by agent; low and high lie two errors away."
    )
    return Table("What the fit is worth", pl.DataFrame(found, schema=schema), f"{_sentence(model.verdict_)} {note}")


def _reading(gain: float, error: float, before: str) -> str:
    if gain > CLEAR * error:
        return f"better than {before}"
    if gain < -CLEAR * error:
        return f"worse than {before}"
    return f"no different from {before} as far as can be seen"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
