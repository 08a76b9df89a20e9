import pytest

import sphunc
from sphunc.report import fit_worth


def test_rows_are_those_of_the_comparison_and_the_verdict_comes_first(fitted: sphunc.SphUnc) -> None:
    table = fit_worth(fitted)
    assert table.frame["nll"].to_list() == fitted.comparison_["nll"].to_list()
    assert table.note.lower().startswith(fitted.verdict_[:40].lower())
    first = table.frame.row(0, named=True)
    assert first["gain"] is None
    assert first["reading"] == "the floor"


def test_readings_follow_from_gain_and_error(fitted: sphunc.SphUnc) -> None:
    for row in fit_worth(fitted).frame.rows(named=True)[1:]:
        assert row["high"] - row["low"] == pytest.approx(4 * row["standard_error"])
        assert row["reading"].startswith("better") == (row["low"] > 0)
        assert row["reading"].startswith("worse") == (row["high"] < 0)
