"""Returns per window of days: features that look back only, and classes whose thresholds do not know the future."""

from __future__ import annotations

import numpy as np

FEATURES = (
    "return",
    "volatility",
    "downside",
    "best_day",
    "worst_day",
    "up_share",
    "autocorrelation",
    "drawdown",
    "return_3_windows",
    "volatility_3_windows",
)
LOOK_BACK = 3  # windows in the two features with memory


def daily_returns(close: np.ndarray) -> np.ndarray:
    """Logarithmic returns, ``[tickers, days - 1]``; NaN where either price is missing or not positive."""
    price = np.where((close > 0) & np.isfinite(close), close, np.nan)
    return np.diff(np.log(price), axis=1)


def split_windows(returns: np.ndarray, length: int) -> np.ndarray:
    """Cut returns into whole windows, ``[tickers, windows, length]``; days after the last whole window are left out.

    Args:
        returns: ``[tickers, days]``.
        length: days per window.
    """
    count = returns.shape[1] // length
    return returns[:, : count * length].reshape(len(returns), count, length)


def enough(windows: np.ndarray) -> np.ndarray:
    """True where at least half of the days of a window, and 2, have a return, ``[tickers, windows]``."""
    known = (~np.isnan(windows)).sum(-1)
    return (known >= 2) & (2 * known >= windows.shape[-1])


def window_features(windows: np.ndarray) -> np.ndarray:
    """Return features ``[tickers, windows, 10]`` in the order of ``FEATURES``; window w uses days up to its own end."""
    known = ~np.isnan(windows)
    r = np.where(known, windows, 0.0)
    n = np.maximum(known.sum(-1), 1)
    total = r.sum(-1)
    square = (r**2).sum(-1) / n
    centred = np.where(known, windows - (total / n)[..., None], 0.0)
    variation = np.maximum((centred**2).sum(-1), np.finfo(float).tiny)
    path = np.concatenate([np.zeros((*r.shape[:-1], 1)), r.cumsum(-1)], axis=-1)
    usable = enough(windows)
    columns = [
        total,
        np.sqrt(square),
        np.sqrt((np.minimum(r, 0) ** 2).sum(-1) / n),
        r.max(-1),
        r.min(-1),
        (r > 0).sum(-1) / n,
        (centred[..., 1:] * centred[..., :-1]).sum(-1) / variation,
        (path - np.maximum.accumulate(path, axis=-1)).min(-1),
        _past_mean(total, usable) * LOOK_BACK,
        np.sqrt(_past_mean(square, usable)),
    ]
    return np.where(usable[..., None], np.stack(columns, axis=-1), np.nan)


def _past_mean(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mean over the known ones of a window and those before it, ``LOOK_BACK`` in all."""
    return _past_sum(np.where(known, values, 0.0)) / np.maximum(_past_sum(known.astype(float)), 1)


def _past_sum(values: np.ndarray) -> np.ndarray:
    padded = np.pad(values, ((0, 0), (LOOK_BACK - 1, 0)))
    return np.lib.stride_tricks.sliding_window_view(padded, LOOK_BACK, axis=1).sum(-1)


def quantile_classes(values: np.ndarray, count: int, thresholds: str, reference: int) -> np.ndarray:
    """Return classes 0 ... count - 1 by quantiles, -1 where the value is NaN, ``[tickers, windows]``.

    No threshold uses a value from after the window that it classifies (the reference windows themselves excepted:
    start testing later).

    Args:
        values: what is classified, ``[tickers, windows]``.
        count: number of classes.
        thresholds: "cross-section" takes quantiles over the tickers of the same window, so that a class says how a
            stock stands among the others at that time; "reference" those over the first windows, the same ever after.
        reference: number of those first windows.
    """
    levels = np.arange(1, count) / count
    classes = np.full(values.shape, -1)
    for window in range(values.shape[1]):
        basis = values[:, window]
        if thresholds == "reference":
            basis = values[:, :reference]
        basis = basis[~np.isnan(basis)]
        known = ~np.isnan(values[:, window])
        if len(basis):
            quantiles = np.quantile(basis, levels)
            classes[known, window] = np.searchsorted(quantiles, values[known, window], side="right")
    return classes
