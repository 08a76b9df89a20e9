"""Run an experiment matrix: what is finished stays, the rest is measured in parallel, failures are kept and told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars as pl

from sphunc.evaluation.benchmark.cells import Cell, expand
from sphunc.evaluation.benchmark.engines import Engine, Outcome
from sphunc.evaluation.benchmark.environment import git_state
from sphunc.evaluation.benchmark.lock import only_run
from sphunc.evaluation.benchmark.matrix import Matrix
from sphunc.evaluation.benchmark.measuring import measure
from sphunc.evaluation.benchmark.store import Progress, Store


@dataclass(frozen=True)
class Event:
    """A cell has ended.

    Attributes:
        cell: which.
        row: what was measured; None if it failed.
        error: why it failed, in one line; empty if it did not.
        account: path of the traceback; empty if it did not fail.
        seconds: time it took.
        done: cells that have ended, those of earlier runs included.
        total: cells of the matrix.
        left: estimate of the seconds that remain; None before anything is known.
    """

    cell: Cell
    row: Mapping[str, Any] | None
    error: str
    account: str
    seconds: float
    done: int
    total: int
    left: float | None


@dataclass(frozen=True)
class Report:
    """What a run has come to.

    Attributes:
        table: a row per finished cell.
        total: cells of the matrix.
        measured: cells measured in this run.
        stale: finished cells whose numbers other code measured.
        failed: the events of cells that failed in this run.
        interrupted: True when it was stopped before its end; what is finished is kept.
    """

    table: pl.DataFrame
    total: int
    measured: int
    stale: int
    failed: tuple[Event, ...]
    interrupted: bool


class Pace:
    """Guesses how long cells take from those that have ended: same system and data, else same system, else any."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], list[float]] = defaultdict(list)

    def saw(self, label: str, data: str, seconds: float) -> None:
        """Learn from a cell that has ended."""
        for scope in ((label, data), (label,), ()):
            self._seen[scope].append(seconds)

    def left(self, cells: list[Cell], workers: int) -> float | None:
        """Seconds that these cells will take, so many at a time; None before any has ended."""
        if not self._seen:
            return None
        return sum(self._expected(cell) for cell in cells) / max(1, min(workers, len(cells)))

    def _expected(self, cell: Cell) -> float:
        scopes = ((cell.label, cell.data_label), (cell.label,), ())
        return next(fmean(self._seen[scope]) for scope in scopes if scope in self._seen)


def run_matrix(
    matrix: Matrix,
    store: Store,
    engine: Engine,
    *,
    begin: Callable[[Progress], None] = lambda progress: None,
    watch: Callable[[Event], None] = lambda event: None,
    keep_old: bool = False,
) -> Report:
    """Measure every cell that the store does not have yet; refuse while another run does so in the same store.

    Args:
        matrix: what to measure.
        store: where finished cells are, and go.
        engine: where the work runs.
        begin: called once with what the store already has.
        watch: called with each cell that ends.
        keep_old: take numbers that other code measured as they are, instead of measuring again.
    """
    with only_run(store.folder):
        return _run(matrix, store, engine, begin, watch, keep_old)


def _run(
    matrix: Matrix,
    store: Store,
    engine: Engine,
    begin: Callable[[Progress], None],
    watch: Callable[[Event], None],
    keep_old: bool,
) -> Report:
    cells = expand(matrix)
    progress = store.progress(cells)
    begin(progress)
    todo = [*progress.missing, *(() if keep_old else progress.stale)]
    clerk = _Clerk(store, cells, todo, engine.workers)
    interrupted = False
    outcomes = engine.run(measure, todo)
    try:
        for outcome in outcomes:
            watch(clerk.file(outcome))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        outcomes.close()  # pyright: ignore[reportAttributeAccessIssue]  # a generator: stops what is running
        table = store.conclude(cells, matrix.model_dump_json(indent=2))
    stale = len(store.progress(cells).stale)
    return Report(table, len(cells), clerk.measured, stale, tuple(clerk.failed), interrupted)


class _Clerk:
    """Files outcomes in the store and keeps count."""

    def __init__(self, store: Store, cells: tuple[Cell, ...], todo: list[Cell], workers: int) -> None:
        self._store, self._todo, self._workers = store, todo, workers
        self._waiting = dict.fromkeys(todo_key.key for todo_key in todo)
        self._total, self._source, self._pace = len(cells), git_state(), Pace()
        self.measured, self.failed = 0, list[Event]()
        for cell in cells:
            row = store.row(cell)
            if row is not None:
                self._pace.saw(cell.label, cell.data_label, row["seconds"])

    def file(self, outcome: Outcome) -> Event:
        cell = self._todo[outcome.index]
        self._waiting.pop(cell.key)
        row, account = None, ""
        if outcome.error:
            account = str(self._store.keep_failure(cell, outcome.account))
        else:
            row = {**outcome.value, **self._source, "seconds": outcome.seconds, "code": cell.code}
            self._store.keep(cell, row)
            self._pace.saw(cell.label, cell.data_label, outcome.seconds)
        event = self._event(cell, row, outcome, account)
        self.measured += row is not None
        self.failed += [event] if outcome.error else []
        return event

    def _event(self, cell: Cell, row: Mapping[str, Any] | None, outcome: Outcome, account: str) -> Event:
        waiting = [other for other in self._todo if other.key in self._waiting]
        left = self._pace.left(waiting, self._workers)
        done = self._total - len(waiting)
        return Event(cell, row, outcome.error, account, outcome.seconds, done, self._total, left)
