"""`sphunc benchmark`: run an experiment matrix with progress, and print what it shows."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sphunc.cli.benchmark_tables import show_sections
from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark.cells import expand
from sphunc.evaluation.benchmark.engines import Engine, LocalEngine
from sphunc.evaluation.benchmark.matrix import Matrix
from sphunc.evaluation.benchmark.quick import quick_matrix
from sphunc.evaluation.benchmark.ray_engine import RayEngine
from sphunc.evaluation.benchmark.reading import read_matrix
from sphunc.evaluation.benchmark.runner import Event, Report, run_matrix
from sphunc.evaluation.benchmark.store import Progress as Stored
from sphunc.evaluation.benchmark.store import Store
from sphunc.evaluation.benchmark.summary import absent_notes, sections_of

ENGINES = ("local", "ray")
RESULTS_FOLDER = Path("results")
FAILED, INTERRUPTED = 1, 130


def run(
    file: Path | None,
    *,
    quick: bool,
    out: Path | None,
    workers: int | None,
    threads: int,
    engine: str,
    keep_old: bool,
    as_json: bool,
) -> int:
    """Run the experiment and print it; returns the exit code: 0, 1 if a cell failed, 130 after Ctrl-C."""
    matrix = _matrix(file, quick)
    store = Store(RESULTS_FOLDER / matrix.name if out is None else out)
    crew = _engine(engine, workers, threads)
    console = Console(stderr=True)
    with Board(console, keep_old=keep_old) as board:
        report = run_matrix(matrix, store, crew, begin=board.begin, watch=board.watch, keep_old=keep_old)
    _print(matrix, store, report, as_json)
    _tell_end(console, store, report, keep_old)
    return INTERRUPTED if report.interrupted else FAILED if report.failed else 0


class Board:
    """Shows how far a run is: a bar with the time left on a terminal, a line per cell elsewhere.

    Args:
        console: where to print.
        keep_old: whether cells that other code measured stay.
    """

    def __init__(self, console: Console, *, keep_old: bool = False) -> None:
        self._console, self._keep_old = console, keep_old
        columns = (TextColumn("{task.completed}/{task.total} cells"), BarColumn(), TimeElapsedColumn())
        left = TextColumn("{task.fields[left]}  {task.fields[last]}")
        self._bar = Progress(*columns, left, console=console, disable=not console.is_terminal)

    def __enter__(self) -> Board:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, stored: Stored) -> None:
        """Show what the store already has."""
        total = len(stored.finished) + len(stored.stale) + len(stored.missing)
        if stored.finished:
            self._say(f"{len(stored.finished)} of {total} cells are finished already, and stay.")
        if stored.stale:
            fate = "they stay (--keep-old)" if self._keep_old else "again now, unless --keep-old"
            self._say(f"{len(stored.stale)} of {total} cells were measured by other code: {fate}.")
        done = len(stored.finished) + (len(stored.stale) if self._keep_old else 0)
        self._task = self._bar.add_task("", total=total, completed=done, left="", last="")

    def watch(self, event: Event) -> None:
        """Show a cell that has ended."""
        left = "" if event.left is None else f"about {timedelta(seconds=math.ceil(event.left))} left"
        self._bar.update(self._task, completed=event.done, left=left, last=str(event.cell))
        if event.error:
            error = event.error.rstrip(".")
            self._say(f"FAILED {event.cell}: {error}. Traceback: {event.account}", style="bold red")
        elif not self._console.is_terminal:
            nll = event.row["nll"] if event.row else math.nan
            self._say(f"[{event.done}/{event.total}] {event.cell}: NLL {nll:.3f} in {event.seconds:.0f} s; {left}")

    def _say(self, line: str, style: str | None = None) -> None:
        self._console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _matrix(file: Path | None, quick: bool) -> Matrix:
    if (file is None) != quick:
        got = "both" if quick else "neither"
        raise ArgumentError(f"give an experiment FILE or --quick; got {got}. Try: sphunc benchmark --quick")
    return quick_matrix() if file is None else read_matrix(file)


def _engine(name: str, workers: int | None, threads: int) -> Engine:
    if name not in ENGINES:
        raise ArgumentError(f"--engine {name!r} is not known; choose {' or '.join(ENGINES)}.")
    return LocalEngine(workers, threads) if name == "local" else RayEngine(workers, threads)


def _print(matrix: Matrix, store: Store, report: Report, as_json: bool) -> None:
    sections = sections_of(report.table, matrix.reference)
    if as_json:
        failed = [{"cell": str(e.cell), "error": e.error, "traceback": e.account} for e in report.failed]
        content: dict[str, Any] = {
            "experiment": matrix.name,
            "store": str(store.folder),
            "cells": {
                "total": report.total,
                "finished": report.table.height,
                "measured_now": report.measured,
                "by_other_code": report.stale,
            },
            "failed": failed,
            "interrupted": report.interrupted,
            "sections": [section.to_dict() for section in sections],
        }
        typer.echo(json.dumps(_finite(content), indent=2, allow_nan=False))
        return
    show_sections(Console(), sections)
    for note in absent_notes(report.table, expand(matrix), (event.cell for event in report.failed)):
        Console().print(f"Note: {note}", highlight=False, markup=False)


def _tell_end(console: Console, store: Store, report: Report, keep_old: bool) -> None:
    failed, absent = len(report.failed), sum(store.row(event.cell) is None for event in report.failed)
    waiting = report.total - report.table.height - absent
    lines = [f"{report.table.height} of {report.total} cells are in {store.folder}/results.parquet."]
    if report.stale:
        remedy = "Run without --keep-old" if keep_old else "Run the same command"
        lines.append(f"Other code measured {report.stale} of them. {remedy} to measure them again.")
    if failed:
        count = "1 cell" if failed == 1 else f"{failed} cells"
        lines.append(f"{count} failed: mend what FAILED says above, then run the same command.")
    if waiting:
        lines.append(f"Run the same command to measure the other {waiting}.")
    console.print(" ".join(lines), highlight=False, markup=False, soft_wrap=True)


def _finite(value: Any) -> Any:
    """The same with null for what JSON cannot say (infinite, not a number)."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
