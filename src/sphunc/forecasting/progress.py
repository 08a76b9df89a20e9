"""A progress bar with the stage of a fit and the time left; silent where nobody looks."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@dataclass(frozen=True)
class StageRecord:
    """Progress of a fit, as callbacks get it.

    Attributes:
        stage: what is being done.
        share: of the work that is done, from 0 to 1.
        seconds: since the fit began.
    """

    stage: str
    share: float
    seconds: float


class ProgressBar:
    """Shows the stage of a fit; use as a context manager.

    Args:
        verbose: True shows it, False does not; None shows it when the console is a terminal.
        console: where to draw; standard error by default, so that piped output stays clean.
    """

    def __init__(self, verbose: bool | None = None, console: Console | None = None) -> None:
        chosen = Console(stderr=True) if console is None else console
        self.is_shown = chosen.is_terminal if verbose is None else verbose
        columns = (TextColumn("{task.description:<24}"), BarColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=chosen, disable=not self.is_shown, transient=True)
        self._task = self._progress.add_task("fit", total=1.0)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Show a line."""
        if self.is_shown:
            self._progress.console.print(text, highlight=False, markup=False)

    def __call__(self, record: StageRecord) -> None:
        """Show how far the fit is."""
        self._progress.update(self._task, description=record.stage, completed=record.share)
