from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sphunc
from sphunc.datasets.financial import FinancialOptions
from sphunc.datasets.financial.dataset import class_names


@pytest.fixture
def market(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    days = [date(2020, 1, 1) + timedelta(days=i) for i in range(64)]
    close = 100 * np.exp(np.cumsum(0.01 * rng.normal(size=(64, 10)), axis=0))
    table = pl.DataFrame(close, schema=[f"S{i}" for i in range(10)]).insert_column(0, pl.Series("date", days))
    table.with_columns(S9=pl.when(pl.col("date") < days[22]).then(None).otherwise(pl.col("S9"))).write_csv(
        tmp_path / "prices.csv"
    )
    sectors = [f"S{i},{'n/a' if i == 0 else 'even' if i % 2 == 0 else 'odd'}" for i in range(10)]
    (tmp_path / "sectors.csv").write_text("\n".join(["ticker,sector", *sectors]))
    return tmp_path


def test_windows_sectors_and_classes(market: Path) -> None:
    data = sphunc.load_dataset("financial", market)
    assert data.times == (date(2020, 1, 21), date(2020, 2, 10), date(2020, 3, 1))
    assert data.num_nodes == 10
    assert data.class_names == ("lowest", "low", "middle", "high", "highest")
    assert sorted(data.hyperedge_ids) == ["even"] * 3 + ["odd"] * 3
    assert data.y is not None
    assert data.y[1][data.y_mask[1]].bincount().min() >= 1
    assert data.influence is None


def test_stock_that_is_not_yet_traded_is_absent(market: Path) -> None:
    data = sphunc.load_dataset("financial", market)
    late = data.node_ids.index("S9")
    assert data.present[:, late].tolist() == [False, True, True]
    first_odd = data.hyperedge_index[0, data.hyperedge_index[1] == data.hyperedge_ids.index("odd")]
    assert late not in first_odd.tolist()


def test_prices_after_a_window_do_not_change_it(market: Path) -> None:
    before = sphunc.load_dataset("financial", market)
    table = pl.read_csv(market / "prices.csv", try_parse_dates=True)
    later = pl.col("date") > date(2020, 2, 10)
    stocks = [f"S{i}" for i in range(10)]
    table.with_columns(pl.when(later).then(pl.col(stocks) * 3).otherwise(pl.col(stocks))).write_csv(
        market / "prices.csv"
    )
    after = sphunc.load_dataset("financial", market)
    assert before.x[:2].equal(after.x[:2])
    assert before.y is not None
    assert after.y is not None
    assert before.y[:2].equal(after.y[:2])
    assert not before.x[2].equal(after.x[2])


def test_too_few_days_are_told(market: Path) -> None:
    with pytest.raises(sphunc.DataError, match="64 days make fewer than 2 windows of 40; give window= smaller"):
        sphunc.load_dataset("financial", market, window=40)


def test_faults_come_with_the_papers(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("date,A\n2020-01-01,1\n")
    with pytest.raises(sphunc.DataError, match=r"has neither sectors\.csv(.|\n)*Licence: StockNet MIT"):
        sphunc.load_dataset("financial", tmp_path)


def test_options_are_checked() -> None:
    with pytest.raises(sphunc.ArgumentError, match="thresholds='future' is not known"):
        FinancialOptions(thresholds="future")
    with pytest.raises(sphunc.ArgumentError, match="classes=1 must be at least 2"):
        FinancialOptions(classes=1)
    assert class_names(3) == ("quantile 1 of 3", "quantile 2 of 3", "quantile 3 of 3")
