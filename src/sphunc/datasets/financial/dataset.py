"""The financial data set: its card, its options, and the way from prices to tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.financial.prices import NO_SECTOR, Prices, layout, read_rsr, read_stocknet, read_table_folder
from sphunc.datasets.financial.windows import FEATURES, classes, daily_returns, quantity, split_windows, window_features
from sphunc.datasets.reading import Reading, at_least, choose, large_groups
from sphunc.errors import DataError

_FIVE = ("lowest", "low", "middle", "high", "highest")

CARD = DatasetCard(
    name="financial",
    title="Stocks: daily prices, grouped by sector or industry",
    source=(
        "StockNet: https://github.com/yumoxu/stocknet-dataset (88 stocks, 9 sectors, 2012-2017)",
        "RSR: https://github.com/fulifeng/Temporal_Relational_Stock_Ranking (NASDAQ 1026, NYSE 1737 stocks, 2013-2017)",
    ),
    licence="StockNet MIT; RSR AGPL-3 for its repository, the prices were taken from Google Finance; your own: yours",
    citation="Xu and Cohen 2018, ACL (StockNet); Feng et al. 2019, ACM TOIS 37(2) (RSR)",
    obtain="clone one of the repositories (see source), or lay your own prices and sectors into a folder",
    layout=(
        "StockNet: price/raw/<ticker>.csv and StockTable",
        "RSR:      <M>_close_norm_*.npz (close, tickers), <M>_industry_ticker.json, <M>_aver_line_dates.csv",
        "tables:   prices.csv or prices.parquet (wide: date, one column per ticker; long: date, ticker, close),",
        "          sectors.csv (ticker, sector) or sectors.json (sector -> tickers)",
    ),
    redistributable=False,
    expected={
        "stocknet": {"stocks": 88, "sectors": 9},
        "rsr NASDAQ": {"stocks": 1026, "days": 1246, "sectors named": 113},
        "rsr NYSE": {"stocks": 1737, "days": 1245, "sectors named": 130},
    },
    checksums={
        "rsr NASDAQ": {
            "NASDAQ_industry_ticker.json": "1e3fa58416d0f16783368fc1a7cc4a118e8067c1a4ee8667a1ae46a40747e852"
        }
    },
)


@dataclass(frozen=True, kw_only=True)
class FinancialOptions:
    """How prices become times, groups and outcomes.

    Attributes:
        window: trading days per time; the time is the last day of the window.
        outcome: the quantity that is classified per window, "volatility" or "return".
        classes: number of quantile classes.
        thresholds: "cross-section" = among the stocks of the same window; "reference" = over the first windows.
        reference: number of those first windows.
        market: which market of an RSR folder with several.
        smallest_group: sectors with fewer stocks make no group.
    """

    window: int = 20
    outcome: str = "volatility"
    classes: int = 5
    thresholds: str = "cross-section"
    reference: int = 12
    market: str | None = None
    smallest_group: int = 2

    def __post_init__(self) -> None:
        choose("outcome", self.outcome, ("volatility", "return"))
        choose("thresholds", self.thresholds, ("cross-section", "reference"))
        for name, least in (("window", 2), ("classes", 2), ("reference", 1), ("smallest_group", 1)):
            at_least(name, getattr(self, name), least)


def read(root: Path, options: FinancialOptions) -> Reading:
    """Read whichever layout is there, and cut it into windows."""
    found = layout(root) if root.is_dir() else None
    try:
        if found == "stocknet":
            prices, release = read_stocknet(root), "stocknet"
        elif found == "rsr":
            prices = read_rsr(root, options.market)
            release = f"rsr {options.market or next(root.glob('*_close_norm_*.npz')).name.partition('_')[0]}"
        elif found == "table":
            prices, release = read_table_folder(root), "tables"
        else:
            refuse(CARD, root, "holds no prices")
    except DataError as error:
        if CARD.obtain in str(error):
            raise
        refuse(CARD, root, str(error))
    return tables(prices, release, options)


def tables(prices: Prices, release: str, options: FinancialOptions) -> Reading:
    """Return features, groups and outcomes per window; everything of a window is known on its last day."""
    windows = split_windows(daily_returns(prices.close), options.window)
    if windows.shape[1] < 2:
        raise DataError(f"{len(prices.days)} days make fewer than 2 windows of {options.window}; give window= smaller")
    features = window_features(windows)
    cut = classes(quantity(features, options.outcome), options.classes, options.thresholds, options.reference)
    ends = [prices.days[options.window * (w + 1)] for w in range(windows.shape[1])]
    names = class_names(options.classes)
    present = ~np.isnan(features[..., 0])
    keys = _keys(prices, ends, present)
    labels = [names[c] for c in cut[present]]
    return Reading(
        features=keys.with_columns(pl.Series(name, features[present][:, i]) for i, name in enumerate(FEATURES)),
        groups=large_groups(_sector_groups(keys, prices), options.smallest_group),
        outcomes=keys.with_columns(pl.Series("outcome", labels, dtype=pl.String)),
        class_names=names,
        release=release,
        counts=_counts(prices, len(ends)),
        times=tuple(ends),
        agents=prices.tickers,
        notes=(f"{options.outcome} per window, thresholds: {options.thresholds}",),
    )


def class_names(count: int) -> tuple[str, ...]:
    """Return the names of the quantile classes, in order; five have words, others numbers."""
    return _FIVE if count == len(_FIVE) else tuple(f"quantile {i + 1} of {count}" for i in range(count))


def _keys(prices: Prices, ends: list, present: np.ndarray) -> pl.DataFrame:
    ticker, window = np.nonzero(present)
    return pl.DataFrame({"time": [ends[w] for w in window], "agent": [prices.tickers[t] for t in ticker]})


def _sector_groups(keys: pl.DataFrame, prices: Prices) -> pl.DataFrame:
    """Return a group per sector and window: the stocks of the sector that were traded then. "n/a" is no sector."""
    named = {ticker: sector for ticker, sector in prices.sectors.items() if sector.strip().lower() not in NO_SECTOR}
    sector = pl.col("agent").replace_strict(named, default=None, return_dtype=pl.String).alias("group")
    return keys.with_columns(sector).drop_nulls().select("time", "group", "agent")


def _counts(prices: Prices, windows: int) -> dict[str, int]:
    known = {prices.sectors.get(ticker) for ticker in prices.tickers} - {None}
    return {
        "stocks": len(prices.tickers),
        "days": len(prices.days),
        "windows": windows,
        "sectors": len(known),
        "sectors named": len(set(prices.sectors.values())),
        "stocks without sector": sum(ticker not in prices.sectors for ticker in prices.tickers),
    }


DATASET = Dataset(CARD, FinancialOptions, read)
