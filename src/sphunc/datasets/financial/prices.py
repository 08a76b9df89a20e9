"""Daily prices and sectors from the layouts in which they are published: one value for all of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

from sphunc.errors import DataError

NO_SECTOR = {"", "n/a", "na", "none", "nan"}
RSR_MISSING = -1234
_DATE_NAMES, _TICKER_NAMES = ("date", "day", "time"), ("ticker", "symbol", "stock", "asset")
_PRICE_NAMES = ("adj close", "adj_close", "close", "price")
_TABLES = ("prices.parquet", "prices.csv")


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices per ticker and day, ``[tickers, days]`` with NaN where there is none, and the sector of each ticker."""

    tickers: tuple[str, ...]
    days: tuple[date | int, ...]
    close: np.ndarray
    sectors: dict[str, str]


def layout(root: Path) -> str | None:
    """Return which layout a folder holds: "stocknet", "rsr", "table", or None."""
    if (root / "price" / "raw").is_dir():
        return "stocknet"
    if any(root.glob("*_close_norm_*.npz")):
        return "rsr"
    return "table" if any((root / name).is_file() for name in _TABLES) else None


def read_stocknet(root: Path) -> Prices:
    """Read StockNet: ``price/raw/<ticker>.csv`` (Date, ..., Adj Close) and ``StockTable`` (Sector, Symbol, Company)."""
    frames = []
    for path in sorted((root / "price" / "raw").glob("*.csv")):
        table = _read(path)
        price = _column(path, table, _PRICE_NAMES)
        day = _column(path, table, _DATE_NAMES)
        frames.append(table.select(pl.lit(path.stem).alias("ticker"), _day(table, day), _price(path, table, price)))
    if not frames:
        raise DataError(f"{root / 'price' / 'raw'}: holds no <ticker>.csv")
    return _from_long(pl.concat(frames), _stock_table(root / "StockTable"), str(root))


def _stock_table(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise DataError(f"{path}: is not there; it names the sector of each stock")
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    return {row["Symbol"].strip().removeprefix("$"): row["Sector"].strip() for row in rows if row.get("Symbol")}


def read_rsr(root: Path, market: str | None) -> Prices:
    """Read RSR: ``<M>_close_norm_*.npz`` (close, tickers), ``<M>_industry_ticker.json``, ``<M>_aver_line_dates.csv``.

    The prices were divided by their maximum, which returns do not feel. The dates begin before the prices do (their
    first weeks went into moving averages), so that the last dates belong to the prices.
    """
    markets = sorted(path.name.partition("_")[0] for path in root.glob("*_close_norm_*.npz"))
    if market is None and len(markets) > 1:
        raise DataError(f"{root}: holds the markets {', '.join(markets)}; choose one with market=")
    chosen = market or markets[0]
    path = next(iter(sorted(root.glob(f"{chosen}_close_norm_*.npz"))), None)
    if path is None:
        raise DataError(f"{root}: has no market {market!r}; it holds {', '.join(markets)}")
    with np.load(path, allow_pickle=False) as archive:
        close, tickers = archive["close"].astype(float), tuple(map(str, archive["tickers"]))
    close[close == RSR_MISSING] = np.nan
    days = _rsr_days(root / f"{chosen}_aver_line_dates.csv", close.shape[1])
    return Prices(tickers, days, close, _industries(root / f"{chosen}_industry_ticker.json"))


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
    path = next(root / name for name in _TABLES if (root / name).is_file())
    table = _read(path)
    day = _column(path, table, _DATE_NAMES)
    names = {name.lower(): name for name in table.columns}
    ticker = next((names[name] for name in _TICKER_NAMES if name in names), None)
    if ticker is None:
        table = table.unpivot(index=day, variable_name="ticker", value_name="close")
        ticker, price = "ticker", "close"
    else:
        price = _column(path, table, _PRICE_NAMES)
    long = table.select(pl.col(ticker).cast(pl.String).alias("ticker"), _day(table, day), _price(path, table, price))
    return _from_long(long, _sectors(root), str(path))


def _sectors(root: Path) -> dict[str, str]:
    if (root / "sectors.json").is_file():
        return _industries(root / "sectors.json")
    path = root / "sectors.csv"
    if not path.is_file():
        raise DataError(f"{root}: has neither sectors.csv (ticker, sector) nor sectors.json (sector -> tickers)")
    table = _read(path)
    ticker, sector = _column(path, table, _TICKER_NAMES), _column(path, table, ("sector", "industry", "group"))
    return {str(one): str(other) for one, other in table.select(ticker, sector).drop_nulls().iter_rows()}


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        return pl.read_csv(
            path, infer_schema_length=None, try_parse_dates=True, null_values=["", "NA", "nan", "NaN", "null"]
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read ({error}); give comma-separated UTF-8 text or Parquet") from error


def _column(path: Path, table: pl.DataFrame, names: Iterable[str]) -> str:
    present = {name.strip().lower(): name for name in table.columns}
    found = next((present[name] for name in names if name in present), None)
    if found is None:
        raise DataError(f"{path}: has no column {' or '.join(names)}; columns: {', '.join(table.columns[:10])}")
    return found


def _day(table: pl.DataFrame, name: str) -> pl.Expr:
    """Read dates, date-times, ISO text and numbers like 20200131; what is none of them becomes null."""
    if table.schema[name].is_temporal():
        return pl.col(name).cast(pl.Date).alias("day")
    text, form = pl.col(name).cast(pl.String), "%Y%m%d" if table.schema[name].is_integer() else "%Y-%m-%d"
    return text.str.slice(0, 10).str.to_date(form, strict=False).alias("day")


def _price(path: Path, table: pl.DataFrame, name: str) -> pl.Expr:
    if not table.schema[name].is_numeric() and table[name].null_count() < table.height:
        number = table[name].cast(pl.Float64, strict=False)
        row = int((number.is_null() & table[name].is_not_null()).arg_max() or 0)
        raise DataError(
            f"{path} row {row + 2}, column {name}: {table[name][row]!r} is not a number; correct or empty it"
        )
    return pl.col(name).cast(pl.Float64).alias("close")


def _from_long(long: pl.DataFrame, sectors: dict[str, str], where: str) -> Prices:
    if long["day"].null_count():
        raise DataError(f"{where}: {long['day'].null_count()} rows have no readable date; write dates as YYYY-MM-DD")
    if long.select("ticker", "day").is_duplicated().any():
        twice = long.filter(long.select("ticker", "day").is_duplicated()).row(0)
        raise DataError(f"{where}: {twice[0]} has two prices on {twice[1]}; keep one of them")
    wide = long.pivot(on="ticker", index="day", values="close").sort("day")
    tickers = sorted(name for name in wide.columns if name != "day")
    close = wide.select(tickers).cast(pl.Float64).fill_null(float("nan")).to_numpy().T
    return Prices(tuple(tickers), tuple(wide["day"]), np.array(close), sectors)
