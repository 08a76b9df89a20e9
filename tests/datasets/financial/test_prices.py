import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sphunc.datasets.financial.prices import layout, read_rsr, read_stocknet, read_table_folder
from sphunc.errors import DataError

DAYS = [date(2020, 1, 1) + timedelta(days=i) for i in range(6)]
WIDE = pl.DataFrame({"Date": DAYS, "OAK": [1.0, 2, 3, 4, 5, 6], "ELM": [2.0, None, 3, 4, 5, 6]})
SECTORS = "ticker,sector\nOAK,trees\nELM,trees\n"


def test_wide_and_long_csv_and_parquet_agree(tmp_path: Path) -> None:
    long = WIDE.unpivot(index="Date", variable_name="ticker", value_name="close").drop_nulls()
    found = []
    for number, (table, suffix) in enumerate([(WIDE, "csv"), (WIDE, "parquet"), (long, "csv"), (long, "parquet")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "sectors.csv").write_text(SECTORS)
        getattr(table, f"write_{suffix}")(folder / f"prices.{suffix}")
        assert layout(folder) == "table"
        found.append(read_table_folder(folder))
    for prices in found:
        assert prices.tickers == ("ELM", "OAK")
        assert prices.days == tuple(DAYS)
        assert np.array_equal(prices.close, found[0].close, equal_nan=True)
        assert np.isnan(prices.close[0, 1])
        assert prices.sectors == {"OAK": "trees", "ELM": "trees"}


def test_stocknet_folder(tmp_path: Path) -> None:
    raw = tmp_path / "price" / "raw"
    raw.mkdir(parents=True)
    for ticker, start in (("OAK", 0), ("RDS-B", 2)):
        rows = [f"{day},1,1,1,9,{i + 1.5},100" for i, day in enumerate(DAYS[start:])]
        (raw / f"{ticker}.csv").write_text("\n".join(["Date,Open,High,Low,Close,Adj Close,Volume", *rows]))
    (tmp_path / "StockTable").write_text("Sector\tSymbol\tCompany\nTrees\t$OAK\tOak & Co\nOil\t$RDS-B\tShells \n")
    prices = read_stocknet(tmp_path)
    assert layout(tmp_path) == "stocknet"
    assert prices.tickers == ("OAK", "RDS-B")
    assert prices.sectors == {"OAK": "Trees", "RDS-B": "Oil"}
    assert prices.close[0, 0] == 1.5  # adjusted close, not close
    assert np.isnan(prices.close[1, :2]).all()
    (tmp_path / "StockTable").unlink()
    with pytest.raises(DataError, match="StockTable: is not there"):
        read_stocknet(tmp_path)


def write_rsr(folder: Path, market: str = "MARS") -> None:
    close = np.array([[0.5, -1234, 0.6], [0.1, 0.2, np.nan]], dtype=np.float32)
    np.savez(folder / f"{market}_close_norm_2013_2017.npz", close=close, tickers=np.array(["OAK", "ELM"]))
    (folder / f"{market}_industry_ticker.json").write_text(json.dumps({"trees": ["OAK"], "n/a": ["ELM"]}))
    lines = [f"2012-12-{day} 16:00:00" for day in range(10, 15)]
    (folder / f"{market}_aver_line_dates.csv").write_text("\n".join(lines) + "\n")


def test_rsr_takes_the_last_dates_and_its_own_code_for_missing(tmp_path: Path) -> None:
    write_rsr(tmp_path)
    prices = read_rsr(tmp_path, None)
    assert prices.days == (date(2012, 12, 12), date(2012, 12, 13), date(2012, 12, 14))
    assert np.isnan(prices.close).sum() == 2
    assert prices.sectors == {"OAK": "trees", "ELM": "n/a"}
    (tmp_path / "MARS_aver_line_dates.csv").unlink()
    assert read_rsr(tmp_path, None).days == (0, 1, 2)


def test_rsr_market_must_be_chosen(tmp_path: Path) -> None:
    write_rsr(tmp_path)
    write_rsr(tmp_path, "MOON")
    with pytest.raises(DataError, match="holds the markets MARS, MOON; choose one with market="):
        read_rsr(tmp_path, None)
    assert read_rsr(tmp_path, "MOON").tickers == ("OAK", "ELM")
    with pytest.raises(DataError, match="has no market 'SUN'; it holds MARS, MOON"):
        read_rsr(tmp_path, "SUN")


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ("day,ticker,close\n2020-01-01,OAK,1\n2020-01-01,OAK,2\n", "OAK has two prices on 2020-01-01"),
        ("date,ticker,close\n2020-01-01,OAK,one\n", r"row 2, column close: 'one' is not a number"),
        ("date,ticker,close\nyesterday,OAK,1\n", "1 rows have no readable date"),
        ("ticker,close\nOAK,1\n", "has no column date or day or time"),
        ("date,ticker\n2020-01-01,OAK\n", "has no column adj close"),
    ],
)
def test_faulty_prices_are_named(tmp_path: Path, prices: str, message: str) -> None:
    (tmp_path / "prices.csv").write_text(prices)
    (tmp_path / "sectors.csv").write_text(SECTORS)
    with pytest.raises(DataError, match=message):
        read_table_folder(tmp_path)


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"])
def test_days_as_numbers_dates_or_date_times(tmp_path: Path, form: str) -> None:
    WIDE.with_columns(pl.col("Date").cast(pl.Datetime).dt.strftime(form)).write_csv(tmp_path / "prices.csv")
    (tmp_path / "sectors.csv").write_text(SECTORS)
    assert read_table_folder(tmp_path).days == tuple(DAYS)


def test_sectors_are_needed(tmp_path: Path) -> None:
    WIDE.write_csv(tmp_path / "prices.csv")
    with pytest.raises(DataError, match=r"has neither sectors\.csv"):
        read_table_folder(tmp_path)
    (tmp_path / "sectors.json").write_text('{"trees": ["OAK", "ELM"]}')
    assert read_table_folder(tmp_path).sectors["OAK"] == "trees"
    assert layout(tmp_path / "nowhere") is None
