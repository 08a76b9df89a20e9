"""How far a fit is: a bar with the time left on a terminal, a line per stage elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from sphunc.cli.output import is_lively, say
from sphunc.forecasting import ProgressBar


class FitProgress:
    """A callback of a fit; use as a context manager."""

    def __init__(self) -> None:
        self._bar = ProgressBar(is_lively())
        self._stage = ""

    def __enter__(self) -> FitProgress:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def __call__(self, record: Any) -> None:
        """Show a record of a stage."""
        if self._bar.is_shown:
            self._bar(record)
            return
        share = getattr(record, "share", None)
        stage = getattr(record, "stage", "")
        if share is None or stage == self._stage:
            return
        self._stage = stage
        left = ""
        if 0.05 < share < 1 and record.seconds > 1:
            left = f", about {record.seconds * (1 - share) / share:.0f} s left"
        say(f"{share:4.0%} {stage}{left}")
