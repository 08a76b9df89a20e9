"""`sphunc benchmark`: run an experiment matrix with progress, and print what it shows."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from pathlib import Path
from types import TracebackType

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sphunc.cli.benchmark_tables import show_sections
from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark import (
    Engine,
    Event,
    LocalEngine,
    Matrix,
    RayEngine,
    Report,
    Store,
    absent_notes,
    expand,
    quick_matrix,
    read_matrix,
    run_matrix,
    sections_of,
)
from sphunc.evaluation.benchmark import Progress as Stored

ENGINES: dict[str, type[Engine]] = {"local": LocalEngine, "ray": RayEngine}
RESULTS_FOLDER = Path("results")
FAILED = 1
INTERRUPTED = 130


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
    """Run the experiment and print it; returns the exit code: 0, 1 if a cell failed, 130 after Ctrl-C.

    Args:
        file: of the experiment; None with ``quick``.
        quick: run the small built-in experiment instead.
        out: folder of the results; results/NAME unless given.
        workers: cells at the same time.
        threads: of each cell.
        engine: "local" or "ray".
        keep_old: keep numbers that other code measured.
        as_json: print for a program.
    """
    matrix = _matrix(file, quick)
    store = Store(out or RESULTS_FOLDER / matrix.name)
    crew = _engine(engine, workers, threads)
    console = Console(stderr=True)
    with Board(console, keep_old=keep_old) as board:
        report = run_matrix(matrix, store, crew, begin=board.begin, watch=board.watch, keep_old=keep_old)
    if as_json:
        _print_json(matrix, store, report)
    else:
        _print_tables(matrix, report)
    _say(console, _closing_words(store, report, keep_old))
    if report.interrupted:
        return INTERRUPTED
    if report.failed:
        return FAILED
    return 0


class Board:
    """Shows how far a run is: a bar with the time left on a terminal, a line per cell elsewhere.

    Args:
        console: where to print.
        keep_old: whether cells that other code measured stay.
    """

    def __init__(self, console: Console, *, keep_old: bool = False) -> None:
        self._console = console
        self._keep_old = keep_old
        self._bar = Progress(
            TextColumn("{task.completed}/{task.total} cells"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}  {task.fields[last]}"),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Board:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, stored: Stored) -> None:
        """Show what the store already has."""
        done = len(stored.finished)
        stale = len(stored.stale)
        total = done + stale + len(stored.missing)
        if done:
            _say(self._console, f"{done} of {total} cells are finished already, and stay.")
        if stale:
            fate = "again now, unless --keep-old"
            if self._keep_old:
                fate = "they stay (--keep-old)"
                done += stale
            _say(self._console, f"{stale} of {total} cells were measured by other code: {fate}.")
        self._task = self._bar.add_task("", total=total, completed=done, left="", last="")

    def watch(self, event: Event) -> None:
        """Show a cell that has ended."""
        left = ""
        if event.left is not None:
            left = f"about {timedelta(seconds=math.ceil(event.left))} left"
        self._bar.update(self._task, completed=event.done, left=left, last=str(event.cell))
        if event.error:
            error = event.error.rstrip(".")
            _say(self._console, f"FAILED {event.cell}: {error}. Traceback: {event.account}", style="bold red")
        elif not self._console.is_terminal:
            measured = f"NLL {event.row['nll']:.3f} in {event.seconds:.0f} s"
            _say(self._console, f"[{event.done}/{event.total}] {event.cell}: {measured}; {left}")


def _say(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _matrix(file: Path | None, quick: bool) -> Matrix:
    if quick and file is None:
        return quick_matrix()
    if file is None or quick:
        raise ArgumentError("give either an experiment FILE or --quick. Try: sphunc benchmark --quick")
    return read_matrix(file)


def _engine(name: str, workers: int | None, threads: int) -> Engine:
    if name not in ENGINES:
        raise ArgumentError(f"--engine {name!r} is not known; choose {' or '.join(ENGINES)}.")
    return ENGINES[name](workers, threads)


def _print_tables(matrix: Matrix, report: Report) -> None:
    console = Console()
    show_sections(console, sections_of(report.table, matrix.reference))
    for note in absent_notes(report.table, expand(matrix), [event.cell for event in report.failed]):
        console.print(f"Note: {note}", highlight=False, markup=False)


def _print_json(matrix: Matrix, store: Store, report: Report) -> None:
    content = {
        "experiment": matrix.name,
        "store": str(store.folder),
        "cells": {
            "total": report.total,
            "finished": report.table.height,
            "measured_now": report.measured,
            "by_other_code": report.stale,
        },
        "failed": [
            {"cell": str(event.cell), "error": event.error, "traceback": event.account} for event in report.failed
        ],
        "interrupted": report.interrupted,
        "sections": [section.to_dict() for section in sections_of(report.table, matrix.reference)],
    }
    typer.echo(json.dumps(_finite(content), indent=2, allow_nan=False))


def _closing_words(store: Store, report: Report, keep_old: bool) -> str:
    """What is in the store, and what the next run would do."""
    failed = len(report.failed)
    never_measured = sum(store.row(event.cell) is None for event in report.failed)
    waiting = report.total - report.table.height - never_measured
    lines = [f"{report.table.height} of {report.total} cells are in {store.folder}/results.parquet."]
    if report.stale:
        remedy = "Run the same command"
        if keep_old:
            remedy = "Run without --keep-old"
        lines.append(f"Other code measured {report.stale} of them. {remedy} to measure them again.")
    if failed:
        lines.append(f"Failed cells: {failed}. Mend what FAILED says above, then run the same command.")
    if waiting:
        lines.append(f"Run the same command to measure the other {waiting}.")
    return " ".join(lines)


def _finite(value: object) -> object:
    """The same with null for what JSON cannot say (infinite, not a number)."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
