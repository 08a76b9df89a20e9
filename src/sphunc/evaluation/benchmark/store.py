"""A store of measured cells: a folder with one Parquet file per cell, whole or absent, and a table of all of them.

``cells/KEY.parquet`` appears by renaming a complete file, so that a kill leaves no half of one. ``failed/KEY.txt``
keeps the traceback of a cell that failed, until it succeeds. ``results.parquet`` has a row per finished cell.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sphunc.errors import ArgumentError, DataError
from sphunc.evaluation.benchmark.cells import Cell
from sphunc.io.files import replacing, write_text

RESULTS = "results.parquet"
EXPERIMENT = "experiment.json"


@dataclass(frozen=True)
class Progress:
    """What a store holds of an experiment.

    Attributes:
        finished: cells whose number is there, measured by the code as it is now.
        stale: cells measured by other code.
        missing: cells that were never finished, or whose file cannot be read.
    """

    finished: tuple[Cell, ...]
    stale: tuple[Cell, ...]
    missing: tuple[Cell, ...]


class Store:
    """The folder of one experiment; made when it does not exist.

    Args:
        folder: where it is.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            for part in ("cells", "failed"):
                (self.folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(
                f"results cannot be kept in {self.folder} ({error.strerror}). Give a folder, new or of an earlier run, "
                "that may be written to."
            ) from None

    def progress(self, cells: Iterable[Cell]) -> Progress:
        """Sort cells into finished, stale and missing."""
        sorted_out: dict[str, list[Cell]] = {"finished": [], "stale": [], "missing": []}
        for cell in cells:
            row = self.row(cell)
            state = "missing" if row is None else "finished" if row["code"] == cell.code else "stale"
            sorted_out[state].append(cell)
        return Progress(**{state: tuple(found) for state, found in sorted_out.items()})

    def row(self, cell: Cell) -> dict[str, Any] | None:
        """What was measured for a cell, or None; a file that cannot be read does not count."""
        frame = self._frame(cell)
        return None if frame is None else frame.row(0, named=True)

    def keep(self, cell: Cell, row: Mapping[str, Any]) -> None:
        """Write what was measured, whole or not at all; forget that the cell failed before."""
        with replacing(self._file(cell)) as temporary:
            pl.DataFrame([dict(row)]).write_parquet(temporary)
        self._failure(cell).unlink(missing_ok=True)

    def keep_failure(self, cell: Cell, account: str) -> Path:
        """Write why a cell failed; returns the file."""
        described = json.dumps(
            {"model": cell.model, "settings": cell.settings, "data": cell.data, "seed": cell.seed}, default=str
        )
        write_text(self._failure(cell), f"{cell}\n{described}\n\n{account}")
        return self._failure(cell)

    def failure(self, cell: Cell) -> str | None:
        """Why a cell failed the last time it ran, or None."""
        file = self._failure(cell)
        return file.read_text(encoding="utf-8") if file.is_file() else None

    def table(self, cells: Iterable[Cell]) -> pl.DataFrame:
        """A row per finished or stale cell, in the order given."""
        frames = [frame for cell in cells if (frame := self._frame(cell)) is not None]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()

    def conclude(self, cells: Iterable[Cell], experiment: str) -> pl.DataFrame:
        """Write the table of all finished cells and the experiment that it belongs to; returns the table."""
        table = self.table(cells)
        with replacing(self.folder / RESULTS) as temporary:
            table.write_parquet(temporary)
        write_text(self.folder / EXPERIMENT, experiment)
        return table

    def _frame(self, cell: Cell) -> pl.DataFrame | None:
        file = self._file(cell)
        if not file.is_file():
            return None
        try:
            frame = pl.read_parquet(file)
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
            return None
        return frame if frame.height == 1 and "code" in frame.columns else None

    def _file(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.key}.parquet"

    def _failure(self, cell: Cell) -> Path:
        return self.folder / "failed" / f"{cell.key}.txt"


def read_results(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """The table that a run left in its store."""
    file = Path(folder) / RESULTS
    if not file.is_file():
        raise DataError(f"{folder} holds no {RESULTS}. Run sphunc benchmark FILE --out {folder} first.")
    return pl.read_parquet(file)
