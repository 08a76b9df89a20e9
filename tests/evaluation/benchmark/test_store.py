"""A store keeps whole cells only, and tells finished from stale from missing."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark.cells import Cell
from sphunc.evaluation.benchmark.store import LOCK, RESULTS, Store

CELL = Cell("majority", "majority", {"world": "snare"}, "snare", "default", 0, code="now")
ROW = {"nll": 1.0, "code": "now", "seconds": 2.0}


def test_cell_is_missing_then_finished_then_stale(tmp_path: Path) -> None:
    store = Store(tmp_path / "made")
    assert store.progress([CELL]).missing == (CELL,)
    store.keep(CELL, ROW, {})
    assert store.progress([CELL]).finished == (CELL,)
    later = replace(CELL, code="later")
    assert store.progress([later]).stale == (later,)
    assert store.progress([replace(CELL, seed=1)]).finished == ()


def test_half_written_cell_never_counts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.keep(CELL, ROW, {})
    file = next((tmp_path / "cells").iterdir())
    whole = file.read_bytes()
    for length in (0, 4, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert store.progress([CELL]).missing == (CELL,)
    file.write_bytes(whole)
    assert store.progress([CELL]).finished == (CELL,)


def test_kill_while_writing_leaves_the_old_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.keep(CELL, ROW, {})

    def die(self: pl.DataFrame, file: Path) -> None:
        Path(file).write_bytes(b"PAR1half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", die)
    with pytest.raises(KeyboardInterrupt):
        store.keep(CELL, {**ROW, "nll": 2.0}, {})
    assert store.row(CELL)["nll"] == 1.0
    assert len(list((tmp_path / "cells").iterdir())) == 1


def test_failure_is_kept_until_the_cell_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path)
    file = store.keep_failure(CELL, "Traceback ...")
    assert file.read_text().startswith("majority · snare · seed 0\n")
    assert "Traceback ..." in file.read_text()
    assert store.progress([CELL]).missing == (CELL,)
    store.keep(CELL, ROW, {})
    assert not file.exists()


def test_table_joins_cells_with_different_measures(tmp_path: Path) -> None:
    store = Store(tmp_path)
    other = replace(CELL, seed=1)
    store.keep(CELL, {**ROW, "p_at_10": None}, {})
    store.keep(other, {**ROW, "p_at_10": 0.5, "auprc": 0.1}, {})
    table = store.conclude([CELL, other, replace(CELL, seed=2)], "{}")
    assert table["p_at_10"].to_list() == [None, 0.5]
    assert table["auprc"].to_list() == [None, 0.1]
    assert pl.read_parquet(tmp_path / RESULTS).equals(table)


def test_place_that_is_no_folder_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ArgumentError, match=r"results cannot be kept in .*file.* \(.*\). Give a folder, new or of"):
            Store(place)


HOLD = """
import fcntl, os, sys, time
file = open(sys.argv[1], "a+")
fcntl.flock(file, fcntl.LOCK_EX)
file.write(str(os.getpid()))
file.flush()
print("held", flush=True)
time.sleep(60)
"""


def test_second_run_is_refused_with_the_process_that_holds_the_folder(tmp_path: Path) -> None:
    words = rf"at work in {re.escape(str(tmp_path))}: process {os.getpid()}. Wait until it ends, or stop it"
    with Store(tmp_path).lock():
        for _ in range(2):
            with pytest.raises(ArgumentError, match=words), Store(tmp_path).lock():
                pass
        with Store(tmp_path / "other").lock():
            pass


def test_folder_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Store(tmp_path).lock():
        raise KeyboardInterrupt
    with Store(tmp_path).lock():
        pass


def test_killed_process_holds_nothing_whatever_its_file_says(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / LOCK], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "held\n"
        with pytest.raises(ArgumentError, match=f"process {run.pid}"), store.lock():
            pass
        run.kill()
    assert str(run.pid) in (tmp_path / LOCK).read_text()
    with store.lock():
        assert (tmp_path / LOCK).read_text() == str(os.getpid())
