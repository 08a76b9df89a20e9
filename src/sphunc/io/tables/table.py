"""A user's table: a frame, the roles of its columns, and row numbers as a person sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sphunc.io.faults import MOST_SHOWN, Fault, FaultLog

Problem = str | Callable[[object], str]
"""What is wrong with a cell, or how to say it of the cell's value."""


@dataclass(frozen=True)
class Table:
    """A table on its way to the data object.

    Attributes:
        file: its name in messages.
        frame: its cells.
        roles: role -> column name.
        log: takes its faults.
        typed: False for CSV, where every cell is text until proven otherwise.
        first_row: number of the first row.
        lines: position of each row in the file, where that is not simply its number.
        kind: features, groups, outcomes, influence, or table (a long one that holds the first three).
        dropped: names of columns that were left out.
    """

    file: str
    frame: pl.DataFrame
    roles: Mapping[str, str]
    log: FaultLog
    typed: bool = True
    first_row: int = 0
    lines: np.ndarray | None = None
    kind: str = ""
    dropped: tuple[str, ...] = ()

    def column(self, role: str) -> pl.Series:
        """Return the column that plays ``role``."""
        return self.frame[self.roles[role]]

    @property
    def values(self) -> list[str]:
        """Columns that play no role: features, or outcomes."""
        return [name for name in self.frame.columns if name not in self.roles.values()]

    def without(self, columns: Sequence[str]) -> Table:
        """Return the table without some columns, which it remembers."""
        return replace(self, frame=self.frame.drop(columns), dropped=(*self.dropped, *columns))

    def note_whole(self, problem: str, remedy: str, column: str | None = None) -> None:
        """Note a fault of the whole table or of a whole column.

        Args:
            problem: what is wrong.
            remedy: what to do.
            column: its name, if it is one column.
        """
        self.log.add(Fault(self.file, problem, remedy, column=column))

    def note(self, bad: np.ndarray | pl.Series, column: str, problem: Problem, remedy: str) -> None:
        """Note a fault for every row where ``bad`` holds.

        Args:
            bad: one truth value per row.
            column: name of the column that holds the faulty cells.
            problem: what is wrong, or a function from the cell's value to the words.
            remedy: what to do.
        """
        rows = np.flatnonzero(np.asarray(bad))
        if len(rows) == 0:
            return
        numbers = self._row_numbers()
        faults = []
        for row in rows[:MOST_SHOWN].tolist():
            value = self.frame[column][row]
            words = problem
            if callable(words):
                words = words(value)
            faults.append(Fault(self.file, words, remedy, int(numbers[row]), column, value))
        self.log.extend(self.file, faults, len(rows))

    def note_if_empty(self, remedy: str) -> None:
        """Note a table without rows."""
        if self.frame.height == 0:
            self.note_whole("there is a header but no row", remedy)

    def _row_numbers(self) -> np.ndarray:
        rows = self.lines
        if rows is None:
            rows = np.arange(self.frame.height)
        rows = rows + self.first_row
        if self.typed:
            return rows
        # A cell of a CSV file may hold line breaks, which move all rows below it.
        text = [name for name, dtype in self.frame.schema.items() if dtype == pl.String]
        breaks = pl.col(text).str.count_matches("\n", literal=True).fill_null(0)
        breaks_in_row = self.frame.select(pl.sum_horizontal(breaks)).to_series()
        return rows + breaks_in_row.cum_sum().shift(1, fill_value=0).to_numpy()
