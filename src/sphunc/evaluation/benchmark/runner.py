"""Run an experiment matrix: what is finished stays, the rest is measured in parallel, failures are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import polars as pl

from sphunc.evaluation.benchmark.cells import Cell, expand
from sphunc.evaluation.benchmark.engines import Engine
from sphunc.evaluation.benchmark.matrix import Matrix
from sphunc.evaluation.benchmark.measuring import Row, measure
from sphunc.evaluation.benchmark.provenance import git_state
from sphunc.evaluation.benchmark.store import Progress, Store


class Event(NamedTuple):
    """A cell has ended.

    Attributes:
        cell: which.
        row: what was measured; empty if it failed.
        error: why it failed, in one line; empty if it did not.
        account: path of the traceback; empty if it did not fail.
        seconds: time it took.
        done: cells that have ended, those of earlier runs included.
        total: cells of the matrix.
        left: estimate of the seconds that remain; None before anything is known.
    """

    cell: Cell
    row: Row
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
    cells = expand(matrix)
    with store.lock():
        progress = store.progress(cells)
        begin(progress)
        todo = list(progress.missing)
        if not keep_old:
            todo += progress.stale
        events: list[Event] = []
        interrupted = False
        try:
            _measure(todo, store, engine, len(cells), events, watch)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            table = store.conclude(cells, matrix.model_dump_json(indent=2))
        stale = store.progress(cells).stale
    failed = tuple(event for event in events if event.error)
    return Report(table, len(cells), len(events) - len(failed), len(stale), failed, interrupted)


def _measure(
    todo: list[Cell], store: Store, engine: Engine, total: int, events: list[Event], watch: Callable[[Event], None]
) -> None:
    """Measure cells, keep what comes, and append an event for each."""
    source = git_state()
    seconds: list[float] = []
    waiting = dict(enumerate(todo))
    outcomes = engine.run(measure, todo)
    try:
        for outcome in outcomes:
            cell = waiting.pop(outcome.task)
            row: Row = {}
            account = ""
            if outcome.error:
                account = str(store.keep_failure(cell, outcome.account))
            else:
                measured = outcome.value
                row = {**measured.row, **source, "seconds": outcome.seconds, "code": cell.code}
                store.keep(cell, row, measured.frames)
                seconds.append(outcome.seconds)
            left = None
            if seconds:
                left = fmean(seconds) * len(waiting) / engine.workers
            done = total - len(waiting)
            event = Event(cell, row, outcome.error, account, outcome.seconds, done, total, left)
            events.append(event)
            watch(event)
    finally:
        outcomes.close()  # pyright: ignore[reportAttributeAccessIssue]  # a generator: stops what is running
