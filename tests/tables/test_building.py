"""Tables hold the means of the results, the best is marked whoever it is, and the paper's figures are quoted."""

import polars as pl
import pytest
from tests.tables.conftest import cell

from sphunc.tables.building import (
    ablation_table,
    best_cells,
    causal_table,
    datasets_table,
    ece_table,
    hyperparameters_table,
    main_table,
    mean_and_half,
    robustness_table,
    significance_table,
)
from sphunc.tables.quoted import ABLATION


def test_worlds_have_the_sizes_of_the_paper() -> None:
    frame = datasets_table().frame
    for column in ("agents", "classes", "features", "times"):
        assert frame[column].to_list() == frame[f"{column}_quoted"].to_list()


def test_hyperparameters_are_the_paper_s() -> None:
    rows = {row["component"]: row for row in hyperparameters_table().frame.iter_rows(named=True)}
    assert rows["spherical embedding dimension D"]["ours"] == "dim = 128"
    assert rows["learning rate"]["ours"] == "learning_rate = 0.0005"


def test_main_has_the_paper_s_measure_of_each_data_set(results: pl.DataFrame) -> None:
    table = main_table(results)
    first = table.frame.row(0, named=True)
    assert first["system"] == "SphUnc"
    assert first["snare macro-F1"].startswith("82.2 ± ")
    assert first["pheme AUC"] == first["amigos accuracy"] == first["snare macro-F1"]
    assert (first["snare quoted"], first["pheme quoted"], first["amigos quoted"]) == (78.5, 85.2, 75.1)
    assert "oracle" not in table.frame["system"].to_list()
    assert (0, "snare macro-F1") in table.best
    assert (0, "snare NLL") in table.best


def test_another_winner_is_marked() -> None:
    rows = [cell("sphunc", "snare", 0, 0.6), cell("boosting", "snare", 0, 0.7)]
    table = main_table(pl.DataFrame(rows, infer_schema_length=None))
    assert {row for row, _ in table.best} == {1}


def test_calibration_has_floors_and_an_average(results: pl.DataFrame) -> None:
    first = ece_table(results).frame.row(0, named=True)
    assert (first["snare floor"], first["snare in band"]) == ("0.020 ± 0.000", "3 of 3")
    assert first["average ECE"] == first["snare ECE"].split(" ")[0]


def test_systems_without_links_are_left_out(results: pl.DataFrame) -> None:
    frame = causal_table(results).frame
    assert "gradient boosting" not in frame["system"].to_list()
    assert "amigos P@10" not in frame.columns
    assert frame["snare quoted P@10"].to_list() == [0.78, 0.62, 0.45, None]


def test_gains_are_paired(results: pl.DataFrame) -> None:
    frame = significance_table(results).frame
    row = frame.filter(data="snare (macro-F1)", against="Causal-SphHN").row(0, named=True)
    assert row["gain in points"] == pytest.approx(10.0 - 0.2 * 6)
    assert (row["quoted gain"], row["quoted p"]) == (7.1, "0.003")
    assert 0 < row["p"] < 1


def test_ablation_has_ten_rows_in_the_paper_s_order() -> None:
    rows = [
        cell("sphunc_paper", data, 0, 0.5 + 0.01 * k, variant)
        for k, variant in enumerate(ABLATION)
        for data in ("snare", "pheme")
    ]
    table = ablation_table(pl.DataFrame(rows, infer_schema_length=None))
    assert table.frame["variant"][0] == "full"
    assert table.frame["snare macro-F1"].to_list() == [f"{50 + k:.1f}" for k in range(10)]
    assert (9, "pheme AUC") in table.best


def test_robustness_has_a_column_per_share() -> None:
    rows = [cell("sphunc", f"snare, {100 * lost:.0f} %", 0, 0.8 - lost / 2, lost=lost) for lost in (0.0, 0.2, 0.4, 0.6)]
    row = robustness_table(pl.DataFrame(rows, infer_schema_length=None)).frame.row(0, named=True)
    assert [row[f"{share} % lost"] for share in (0, 20, 40, 60)] == ["80.0", "70.0", "60.0", "50.0"]
    assert row["quoted, 60 %"] == 75.8


def test_mean_with_interval() -> None:
    assert mean_and_half(pl.Series([0.5, 0.7]), 100.0, 1) == "60.0 ± 127.1"
    assert mean_and_half(pl.Series([0.5]), 100.0, 1) == "50.0"
    assert mean_and_half(pl.Series([None, None], dtype=pl.Float64), 100.0, 1) is None


def test_ties_are_all_best_and_quoted_columns_never() -> None:
    frame = pl.DataFrame({"a ECE": ["0.1 ± 0.2", "0.1", None], "ECE quoted": ["0.0", "0.1", "0.2"]})
    assert best_cells(frame, higher=(), lower=("ECE",)) == ((0, "a ECE"), (1, "a ECE"))
