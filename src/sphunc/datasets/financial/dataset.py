"""The financial data set: its card, its options, and the way from prices to tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sphunc._checks import whole_number
from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.financial.prices import (
    NO_SECTOR,
    Prices,
    layout,
    read_rsr,
    read_stocknet,
    read_table_folder,
    rsr_market,
)
from sphunc.datasets.financial.windows import FEATURES, daily_returns, quantile_classes, split_windows, window_features
from sphunc.datasets.tables import DatasetTables, choose, large_groups
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
            whole_number(name, getattr(self, name), least=least)


def read(root: Path, options: FinancialOptions) -> DatasetTables:
    """Read whichever layout is there, and cut it into windows.

    Args:
        root: folder of the data set.
        options: how prices become tables.
    """
    found = layout(root)
    if found is None:
        refuse(CARD, root, "holds no prices")
    release = {"stocknet": "stocknet", "table": "tables"}.get(found, found)
    try:
        if found == "stocknet":
            prices = read_stocknet(root)
        elif found == "table":
            prices = read_table_folder(root)
        else:
            prices = read_rsr(root, options.market)
            release = f"rsr {rsr_market(root, options.market)}"
    except DataError as error:
        refuse(CARD, root, str(error))
    return price_tables(prices, release, options)


def price_tables(prices: Prices, release: str, options: FinancialOptions) -> DatasetTables:
    """Return features, groups and outcomes per window; everything of a window is known on its last day.

    Args:
        prices: daily prices and sectors.
        release: name of the release.
        options: how prices become tables.
    """
    windows = split_windows(daily_returns(prices.close), options.window)
    count = windows.shape[1]
    if count < 2:
        raise DataError(f"{len(prices.days)} days make fewer than 2 windows of {options.window}; give window= smaller")
    features = window_features(windows)
    classified = features[..., FEATURES.index(options.outcome)]
    classes = quantile_classes(classified, options.classes, options.thresholds, options.reference)
    names = class_names(options.classes)
    last_days = prices.days[options.window :: options.window][:count]

    present = ~np.isnan(features[..., 0])
    ticker, window = np.nonzero(present)
    keys = pl.DataFrame({"time": [last_days[w] for w in window], "agent": [prices.tickers[t] for t in ticker]})
    outcomes = pl.Series("outcome", [names[c] for c in classes[present]], dtype=pl.String)
    return DatasetTables(
        features=keys.with_columns(pl.Series(name, features[present][:, i]) for i, name in enumerate(FEATURES)),
        groups=large_groups(_sector_groups(keys, prices), options.smallest_group),
        outcomes=keys.with_columns(outcomes),
        class_names=names,
        release=release,
        counts=_counts(prices, count),
        times=last_days,
        agents=prices.tickers,
        notes=(f"{options.outcome} per window, thresholds: {options.thresholds}",),
    )


def class_names(count: int) -> tuple[str, ...]:
    """Return the names of the quantile classes, in order; five have words, others numbers."""
    if count == len(_FIVE):
        return _FIVE
    return tuple(f"quantile {i + 1} of {count}" for i in range(count))


def _sector_groups(keys: pl.DataFrame, prices: Prices) -> pl.DataFrame:
    """Return a group per sector and window: the stocks of the sector that were traded then. "n/a" is no sector."""
    named = {ticker: sector for ticker, sector in prices.sectors.items() if sector.strip().lower() not in NO_SECTOR}
    sector = pl.col("agent").replace_strict(named, default=None, return_dtype=pl.String).alias("group")
    return keys.with_columns(sector).drop_nulls()


def _counts(prices: Prices, windows: int) -> dict[str, int]:
    sectors = [prices.sectors[ticker] for ticker in prices.tickers if ticker in prices.sectors]
    return {
        "stocks": len(prices.tickers),
        "days": len(prices.days),
        "windows": windows,
        "sectors": len(set(sectors)),
        "sectors named": len(set(prices.sectors.values())),
        "stocks without sector": len(prices.tickers) - len(sectors),
    }


DATASET = Dataset(CARD, FinancialOptions, read)
