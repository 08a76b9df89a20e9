"""Daily prices and sectors from the layouts in which they are published: one value for all of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

from sphunc.errors import DataError

NO_SECTOR = {"", "n/a", "na", "none", "nan"}
RSR_MISSING = -1234
RSR_PRICES = "*_close_norm_*.npz"
DATE_NAMES = ("date", "day", "time")
TICKER_NAMES = ("ticker", "symbol", "stock", "asset")
PRICE_NAMES = ("adj close", "adj_close", "close", "price")
SECTOR_NAMES = ("sector", "industry", "group")
TABLES = ("prices.parquet", "prices.csv")


@dataclass(frozen=True, eq=False)
class Prices:
    """Daily prices.

    Attributes:
        tickers: of the stocks.
        days: dates, or numbers where there are none.
        close: ``[tickers, days]``, NaN where there is no price.
        sectors: ticker -> sector.
    """

    tickers: tuple[str, ...]
    days: tuple[date | int, ...]
    close: np.ndarray
    sectors: dict[str, str]


def layout(root: Path) -> str | None:
    """Return which layout a folder holds: "stocknet", "rsr", "table", or None."""
    if (root / "price" / "raw").is_dir():
        return "stocknet"
    if any(root.glob(RSR_PRICES)):
        return "rsr"
    if any((root / name).is_file() for name in TABLES):
        return "table"
    return None


def read_stocknet(root: Path) -> Prices:
    """Read StockNet: ``price/raw/<ticker>.csv`` (Date, ..., Adj Close) and ``StockTable`` (Sector, Symbol, Company)."""
    folder = root / "price" / "raw"
    frames = []
    for path in sorted(folder.glob("*.csv")):
        table = _read(path)
        price = _price(path, table, _column(path, table, PRICE_NAMES))
        day = _day(table, _column(path, table, DATE_NAMES))
        frames.append(table.select(pl.lit(path.stem).alias("ticker"), day, price))
    if not frames:
        raise DataError(f"{folder}: holds no <ticker>.csv")
    path = root / "StockTable"
    if not path.is_file():
        raise DataError(f"{path}: is not there; it names the sector of each stock")
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    sectors = {row["Symbol"].strip().removeprefix("$"): row["Sector"].strip() for row in rows if row.get("Symbol")}
    return _from_long(pl.concat(frames), sectors, str(root))


def rsr_market(root: Path, market: str | None) -> str:
    """Return which market of an RSR folder to read.

    Args:
        root: the folder.
        market: the one that is wanted; None takes the only one.
    """
    markets = sorted(path.name.partition("_")[0] for path in root.glob(RSR_PRICES))
    if market is None and len(markets) > 1:
        raise DataError(f"{root}: holds the markets {', '.join(markets)}; choose one with market=")
    if market is not None and market not in markets:
        raise DataError(f"{root}: has no market {market!r}; it holds {', '.join(markets)}")
    return market or markets[0]


def read_rsr(root: Path, market: str | None) -> Prices:
    """Read RSR: ``<M>_close_norm_*.npz`` (close, tickers), ``<M>_industry_ticker.json``, ``<M>_aver_line_dates.csv``.

    The prices were divided by their maximum, which returns do not feel. The dates begin before the prices do (their
    first weeks went into moving averages), so that the last dates belong to the prices.

    Args:
        root: the folder.
        market: M; None takes the only one.
    """
    market = rsr_market(root, market)
    path = min(root.glob(RSR_PRICES.replace("*", market, 1)))
    with np.load(path, allow_pickle=False) as archive:
        close = archive["close"].astype(float)
        tickers = tuple(map(str, archive["tickers"]))
    close[close == RSR_MISSING] = np.nan
    days = _rsr_days(root / f"{market}_aver_line_dates.csv", close.shape[1])
    return Prices(tickers, days, close, _industries(root / f"{market}_industry_ticker.json"))


def _rsr_days(path: Path, count: int) -> tuple[date | int, ...]:
    if not path.is_file():
        return tuple(range(count))  # days without dates are still in order
    days = [date.fromisoformat(line[:10]) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    if len(days) < count:
        raise DataError(f"{path}: {len(days)} dates for {count} prices")
    return tuple(days[-count:])


def _industries(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(ticker): str(sector) for sector, tickers in found.items() for ticker in tickers}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: is not a readable JSON of sector -> tickers ({error})") from error


def read_table_folder(root: Path) -> Prices:
    """Read ``prices`` (wide: date, one column per ticker; long: date, ticker, close) and ``sectors`` (CSV or JSON)."""
    path = next(root / name for name in TABLES if (root / name).is_file())
    table = _read(path)
    day = _column(path, table, DATE_NAMES)
    ticker = _find_column(table, TICKER_NAMES)
    price = "close"
    if ticker is None:
        ticker = "ticker"
        table = table.unpivot(index=day, variable_name=ticker, value_name=price)
    else:
        price = _column(path, table, PRICE_NAMES)
    name = pl.col(ticker).cast(pl.String).alias("ticker")
    return _from_long(table.select(name, _day(table, day), _price(path, table, price)), _sectors(root), str(path))


def _sectors(root: Path) -> dict[str, str]:
    if (root / "sectors.json").is_file():
        return _industries(root / "sectors.json")
    path = root / "sectors.csv"
    if not path.is_file():
        raise DataError(f"{root}: has neither sectors.csv (ticker, sector) nor sectors.json (sector -> tickers)")
    table = _read(path)
    columns = table.select(_column(path, table, TICKER_NAMES), _column(path, table, SECTOR_NAMES))
    return dict(columns.drop_nulls().cast(pl.String).rows())


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        missing = ["", "NA", "nan", "NaN", "null"]
        return pl.read_csv(path, infer_schema_length=None, try_parse_dates=True, null_values=missing)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read ({error}); give comma-separated UTF-8 text or Parquet") from error


def _find_column(table: pl.DataFrame, names: Sequence[str]) -> str | None:
    present = {name.strip().lower(): name for name in table.columns}
    return next((present[name] for name in names if name in present), None)


def _column(path: Path, table: pl.DataFrame, names: Sequence[str]) -> str:
    found = _find_column(table, names)
    if found is None:
        raise DataError(f"{path}: has no column {' or '.join(names)}; columns: {', '.join(table.columns[:10])}")
    return found


def _day(table: pl.DataFrame, name: str) -> pl.Expr:
    """Read dates, date-times, ISO text and numbers like 20200131; what is none of them becomes null."""
    dtype = table.schema[name]
    if dtype.is_temporal():
        return pl.col(name).cast(pl.Date).alias("day")
    form = "%Y-%m-%d"
    if dtype.is_integer():
        form = "%Y%m%d"
    text = pl.col(name).cast(pl.String).str.slice(0, 10)
    return text.str.to_date(form, strict=False).alias("day")


def _price(path: Path, table: pl.DataFrame, name: str) -> pl.Expr:
    column = table[name]
    if not column.dtype.is_numeric() and column.null_count() < table.height:
        unreadable = column.cast(pl.Float64, strict=False).is_null() & column.is_not_null()
        row = unreadable.arg_max() or 0
        raise DataError(f"{path} row {row + 2}, column {name}: {column[row]!r} is not a number; correct or empty it")
    return pl.col(name).cast(pl.Float64).alias("close")


def _from_long(long: pl.DataFrame, sectors: dict[str, str], where: str) -> Prices:
    """Take one row per ticker and day as prices."""
    undated = long["day"].null_count()
    if undated:
        raise DataError(f"{where}: {undated} rows have no readable date; write dates as YYYY-MM-DD")
    twice = long.filter(long.select("ticker", "day").is_duplicated())
    if twice.height:
        raise DataError(f"{where}: {twice['ticker'][0]} has two prices on {twice['day'][0]}; keep one of them")
    wide = long.pivot(on="ticker", index="day", values="close").sort("day")
    tickers = sorted(name for name in wide.columns if name != "day")
    close = wide.select(tickers).fill_null(float("nan")).to_numpy().T
    return Prices(tuple(tickers), tuple(wide["day"]), np.array(close), sectors)
