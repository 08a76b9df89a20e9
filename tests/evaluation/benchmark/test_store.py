"""A store keeps whole cells only, and tells finished from stale from missing."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sphunc.errors import ArgumentError, DataError
from sphunc.evaluation.benchmark.cells import Cell
from sphunc.evaluation.benchmark.store import Store, read_results

CELL = Cell("majority", "majority", {"world": "snare"}, "snare", "default", 0, code="now")
ROW = {"nll": 1.0, "code": "now", "seconds": 2.0}


def test_cell_is_missing_then_finished_then_stale(tmp_path: Path) -> None:
    store = Store(tmp_path / "made")
    assert store.progress([CELL]).missing == (CELL,)
    store.keep(CELL, ROW)
    assert store.progress([CELL]).finished == (CELL,)
    later = replace(CELL, code="later")
    assert store.progress([later]).stale == (later,)
    assert store.progress([replace(CELL, seed=1)]).finished == ()


def test_half_written_cell_never_counts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.keep(CELL, ROW)
    file = next((tmp_path / "cells").iterdir())
    whole = file.read_bytes()
    for length in (0, 4, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert store.progress([CELL]).missing == (CELL,)
    file.write_bytes(whole)
    assert store.progress([CELL]).finished == (CELL,)


def test_kill_while_writing_leaves_the_old_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.keep(CELL, ROW)

    def die(self: pl.DataFrame, file: Path) -> None:
        Path(file).write_bytes(b"PAR1half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", die)
    with pytest.raises(KeyboardInterrupt):
        store.keep(CELL, {**ROW, "nll": 2.0})
    assert store.row(CELL)["nll"] == 1.0
    assert len(list((tmp_path / "cells").iterdir())) == 1


def test_failure_is_kept_until_the_cell_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path)
    file = store.keep_failure(CELL, "Traceback ...")
    assert file.read_text().startswith("majority · snare · seed 0\n")
    assert "Traceback ..." in store.failure(CELL)
    assert store.progress([CELL]).missing == (CELL,)
    store.keep(CELL, ROW)
    assert store.failure(CELL) is None


def test_table_joins_cells_with_different_measures(tmp_path: Path) -> None:
    store = Store(tmp_path)
    other = replace(CELL, seed=1)
    store.keep(CELL, {**ROW, "p_at_10": None})
    store.keep(other, {**ROW, "p_at_10": 0.5, "auprc": 0.1})
    table = store.conclude([CELL, other, replace(CELL, seed=2)], "{}")
    assert table["p_at_10"].to_list() == [None, 0.5]
    assert table["auprc"].to_list() == [None, 0.1]
    assert read_results(tmp_path).equals(table)


def test_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no results.parquet. Run sphunc benchmark FILE --out"):
        read_results(tmp_path)


def test_place_that_is_no_folder_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ArgumentError, match=r"results cannot be kept in .*file.* \(.*\). Give a folder, new or of"):
            Store(place)
