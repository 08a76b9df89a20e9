"""A run goes on where the last one stopped, whatever stopped it."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark import cells as cells_module
from sphunc.evaluation.benchmark import runner
from sphunc.evaluation.benchmark.cells import expand
from sphunc.evaluation.benchmark.reading import make_matrix
from sphunc.evaluation.benchmark.runner import run_matrix
from sphunc.evaluation.benchmark.store import RESULTS, Store

COMMAND = Path(sys.executable).parent / "sphunc"


def test_finished_cells_are_never_measured_again(tmp_path, serial, content) -> None:
    matrix, store, seen = make_matrix(content), Store(tmp_path), []
    first = run_matrix(matrix, store, serial, watch=seen.append)
    assert (first.total, first.measured, first.failed, first.interrupted) == (6, 6, (), False)
    assert [event.done for event in seen] == [1, 2, 3, 4, 5, 6]
    assert seen[-1].left == 0
    assert seen[1].left == pytest.approx(4 * (seen[0].seconds + seen[1].seconds) / 2)
    again = run_matrix(matrix, store, serial)
    assert again.measured == 0
    assert again.table.equals(first.table)
    more = run_matrix(make_matrix({**content, "seeds": [0, 1, 2]}), store, serial)
    assert (more.total, more.measured) == (9, 3)


def test_row_carries_numbers_environment_and_git_state(tmp_path, serial, content) -> None:
    run_matrix(make_matrix({**content, "seeds": [0]}), Store(tmp_path), serial)
    columns = set(pl.read_parquet(tmp_path / RESULTS).columns)
    assert {"nll", "ece", "ece_floor", "aurc", "code", "git_commit", "git_dirty", "cpu", "threads"} <= columns
    assert {"version_torch", "version_python", "seconds", "measured_at", "split", "settings", "source"} <= columns


def test_other_code_is_noticed_and_measured_again_unless_kept(tmp_path, serial, content, monkeypatch) -> None:
    matrix, store = make_matrix({**content, "seeds": [0]}), Store(tmp_path)
    run_matrix(matrix, store, serial)
    monkeypatch.setattr(runner, "expand", lambda m: tuple(replace(c, code="later") for c in expand(m)))
    found = []
    kept = run_matrix(matrix, store, serial, begin=found.append, keep_old=True)
    assert (kept.measured, kept.stale, kept.table.height) == (0, 3, kept.total)
    assert len(found[0].stale) == 3
    assert run_matrix(matrix, store, serial).measured == 3
    assert run_matrix(matrix, store, serial).measured == 0


def test_failed_cell_is_kept_and_does_not_stop_the_rest(tmp_path, serial, content) -> None:
    wild = {"name": "logistic", "settings": {"learning_rate": 1e30}}
    matrix = make_matrix({**content, "seeds": [0], "models": [wild, *content["models"]]})
    report = run_matrix(matrix, Store(tmp_path), serial)
    assert (report.total, report.measured, len(report.failed)) == (4, 3, 1)
    event = report.failed[0]
    assert "learning_rate is 1e+30" in event.error
    assert "\n" not in event.error
    assert "Traceback" in Path(event.account).read_text()
    assert run_matrix(matrix, Store(tmp_path), serial).total == 4


def test_interrupt_leaves_a_store_that_goes_on(tmp_path, serial, content) -> None:
    def stop(event: runner.Event) -> None:
        if event.done == 2:
            raise KeyboardInterrupt

    matrix, store = make_matrix(content), Store(tmp_path)
    stopped = run_matrix(matrix, store, serial, watch=stop)
    assert (stopped.interrupted, stopped.table.height) == (True, 2)
    assert run_matrix(matrix, store, serial).measured == 4


def test_second_run_in_the_same_store_is_refused_and_measures_nothing(tmp_path, serial, content) -> None:
    matrix, refused = make_matrix({**content, "seeds": [0]}), []

    def begin_another(event: runner.Event) -> None:
        with pytest.raises(ArgumentError, match="another run is at work in") as error:
            run_matrix(matrix, Store(tmp_path), serial, watch=refused.append)
        assert "then run the same command: what it finished stays" in str(error.value)

    assert run_matrix(matrix, Store(tmp_path), serial, watch=begin_another).measured == 3
    assert refused == []
    assert run_matrix(matrix, Store(tmp_path), serial).measured == 0


def processes_of(group: int) -> list[int]:
    run = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in run.stdout.splitlines()]
    return [int(pid) for pid, pgid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


def wait_until(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_run_that_is_killed_goes_on_where_it_was(tmp_path, content, stop) -> None:
    content = {**content, "models": ["majority", {"name": "hypergcn", "settings": {"epochs": 120}}]}
    content = {**content, "seeds": [0, 1, 2], "reference": "hypergcn"}
    (tmp_path / "small.json").write_text(make_matrix(content).model_dump_json())
    command = [COMMAND, "benchmark", "small.json", "--workers", "2", "--out", "store"]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    cells = tmp_path / "store" / "cells"
    wait_until(lambda: cells.is_dir() and len(list(cells.glob("[!.]*.parquet"))) >= 2, 120)
    run.send_signal(stop)
    _, printed = run.communicate(timeout=60)
    wait_until(lambda: not processes_of(run.pid), 30)
    before = {file.name: file.stat().st_mtime_ns for file in cells.glob("[!.]*.parquet")}
    if stop == signal.SIGINT:
        assert run.returncode == 130
        assert "Run the same command to measure the other" in printed
        assert pl.read_parquet(tmp_path / "store" / RESULTS).height == len(before)
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{len(before)} of 9 cells are finished already, and stay." in again.stderr
    after = {file.name: file.stat().st_mtime_ns for file in cells.glob("[!.]*.parquet")}
    assert len(after) == 9
    assert {name: after[name] for name in before} == before
    assert "HyperGCN" in again.stdout


def test_fingerprints_are_made_once_per_system(content, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(cells_module, "code_fingerprint", lambda *roots, apart: calls.append(roots) or "code")
    cells_module._code.cache_clear()
    expand(make_matrix(content))
    cells_module._code.cache_clear()
    assert len(calls) == 3
