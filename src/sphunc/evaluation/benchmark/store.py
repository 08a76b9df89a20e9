"""A store of measured cells: a folder with one Parquet file per cell, whole or absent, and a table of all of them.

``cells/KEY.parquet`` appears by renaming a complete file, so that a kill leaves no half of one.
``frames/KEY.NAME.parquet`` holds what figures are drawn from: forecasts, links, history.
``failed/KEY.txt`` keeps the traceback of a cell that failed, until it succeeds. ``results.parquet``
has a row per finished cell. ``.lock`` holds the process id of the run that measures here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark.cells import Cell, as_json
from sphunc.io import replacing, write_text

try:
    import fcntl
except ImportError:  # Windows: nothing refuses a second run there
    fcntl = None

RESULTS = "results.parquet"
EXPERIMENT = "experiment.json"
LOCK = ".lock"


class Progress(NamedTuple):
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
            for part in ("cells", "failed", "frames"):
                (self.folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(
                f"results cannot be kept in {self.folder} ({error.strerror}). Give a folder, new or of an earlier run, "
                "that may be written to."
            ) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder while the block runs; refuse if another process holds it.

        The lock is one of the operating system on an open file: it ends with its process, and
        nothing has to be removed after a kill. The file names the process for whoever comes second.
        """
        with (self.folder / LOCK).open("a+", encoding="utf-8") as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise ArgumentError(
                    f"another run is at work in {self.folder}: process {file.read()}. Wait until it ends, or stop it, "
                    "then run the same command: what it finished stays. To run both at once, give this one another "
                    "folder (--out)."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def progress(self, cells: Iterable[Cell]) -> Progress:
        """Sort cells into finished, stale and missing."""
        finished = []
        stale = []
        missing = []
        for cell in cells:
            row = self.row(cell)
            if row is None:
                missing.append(cell)
            elif row["code"] == cell.code:
                finished.append(cell)
            else:
                stale.append(cell)
        return Progress(tuple(finished), tuple(stale), tuple(missing))

    def row(self, cell: Cell) -> dict[str, Any] | None:
        """What was measured for a cell, or None; a file that cannot be read does not count."""
        frame = self._frame(cell)
        if frame is None:
            return None
        return frame.row(0, named=True)

    def keep(self, cell: Cell, row: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> None:
        """Write what was measured, whole or not at all; forget that the cell failed before.

        Args:
            cell: which.
            row: its numbers, and what they depend on.
            frames: what figures are drawn from, by name.
        """
        for name, frame in frames.items():
            with replacing(self._frame_file(cell.key, name)) as temporary:
                frame.write_parquet(temporary)
        with replacing(self._file(cell)) as temporary:
            pl.DataFrame([{"key": cell.key, **row}]).write_parquet(temporary)
        self._failure(cell).unlink(missing_ok=True)

    def keep_failure(self, cell: Cell, account: str) -> Path:
        """Write why a cell failed; returns the file.

        Args:
            cell: which.
            account: the traceback.
        """
        file = self._failure(cell)
        write_text(file, f"{cell}\n{cell.model} {as_json(cell.settings)} {as_json(cell.data)}\n\n{account}")
        return file

    def conclude(self, cells: Iterable[Cell], experiment: str) -> pl.DataFrame:
        """Write the table of all finished or stale cells, and the experiment that it belongs to; returns the table.

        Args:
            cells: of the experiment, in the order of the table.
            experiment: the matrix as JSON.
        """
        frames = [frame for cell in cells if (frame := self._frame(cell)) is not None]
        table = pl.DataFrame()
        if frames:
            table = pl.concat(frames, how="diagonal_relaxed")
        with replacing(self.folder / RESULTS) as temporary:
            table.write_parquet(temporary)
        write_text(self.folder / EXPERIMENT, experiment)
        return table

    def table(self) -> pl.DataFrame:
        """The table of all finished cells, as the last run left it."""
        file = self.folder / RESULTS
        if not file.is_file():
            raise ArgumentError(
                f"{self.folder} holds no results. Give a folder that sphunc benchmark or sphunc tables wrote."
            )
        return pl.read_parquet(file)

    def frame(self, key: str, name: str) -> pl.DataFrame | None:
        """What a cell kept for figures, or None.

        Args:
            key: of the cell, as in the column ``key`` of the table.
            name: "forecasts", "links" or "history".
        """
        file = self._frame_file(key, name)
        if not file.is_file():
            return None
        return pl.read_parquet(file)

    def _frame_file(self, key: str, name: str) -> Path:
        return self.folder / "frames" / f"{key}.{name}.parquet"

    def _frame(self, cell: Cell) -> pl.DataFrame | None:
        file = self._file(cell)
        if not file.is_file():
            return None
        try:
            frame = pl.read_parquet(file)
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
            return None
        if frame.height != 1 or "code" not in frame.columns:
            return None
        return frame

    def _file(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.key}.parquet"

    def _failure(self, cell: Cell) -> Path:
        return self.folder / "failed" / f"{cell.key}.txt"
