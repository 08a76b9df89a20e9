"""A progress bar with the three losses, the calibration error and the time left; silent where nobody looks."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn

from sphunc.legacy.history import EpochRecord

TEXT = "{task.fields[stage]:<9} {task.completed:>4.0f}/{task.total:.0f}"
LOSSES = "pred {task.fields[prediction]} · entropy {task.fields[entropy]} · causal {task.fields[causal]}"
HELD_OUT = "held-out {task.fields[validation]} · ECE {task.fields[ece]}"
# On a narrow terminal the bar gives way, and words are cut short: figures never are.
WIDE = 140
SHORT_TEXT = "{task.fields[stage]:<9}{task.completed:>4.0f}/{task.total:.0f}"
SHORT_LOSSES = "pred {task.fields[prediction]} ent {task.fields[entropy]} caus {task.fields[causal]}"
SHORT_HELD_OUT = "held {task.fields[validation]} ECE {task.fields[ece]}"


class ProgressBar:
    """Shows every :class:`~sphunc.legacy.history.EpochRecord` it is called with; use as a context manager.

    Args:
        verbose: True shows it, False does not; None shows it when the console is a terminal.
        console: where to draw; standard error by default, so that piped output stays clean.
    """

    def __init__(self, verbose: bool | None = None, console: Console | None = None) -> None:
        console = Console(stderr=True) if console is None else console
        shown = console.is_terminal if verbose is None else verbose
        self._progress = Progress(*_columns(console.width), console=console, disable=not shown)
        self._tasks: dict[tuple[str, bool], TaskID] = {}

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def say(self, words: str) -> None:
        """Show a line above the bar."""
        if not self._progress.disable:
            self._progress.console.print(words, highlight=False, markup=False)

    def __call__(self, record: EpochRecord) -> None:
        """Show one more pass."""
        shown: dict[str, Any] = {
            "stage": record.stage,
            "prediction": f"{record.prediction:.3f}",
            "entropy": f"{record.entropy:.3f}",
            "causal": f"{record.causal:.3f}",
            "validation": "-" if record.validation is None else f"{record.validation:.3f}",
            "ece": "-" if record.ece is None else f"{record.ece:.3f}",
        }
        key = record.stage, record.rival
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task("", total=record.epochs, **shown)
        self._progress.update(self._tasks[key], completed=record.epoch + 1, **shown)


def _columns(width: int) -> list[ProgressColumn]:
    if width >= WIDE:
        return [TextColumn(TEXT), BarColumn(), TextColumn(LOSSES), TextColumn(HELD_OUT), TimeRemainingColumn()]
    return [*map(TextColumn, (SHORT_TEXT, SHORT_LOSSES, SHORT_HELD_OUT)), TimeRemainingColumn()]
