"""A run: a folder that holds one fit, its data, its settings and what was asked of it, all in plain files."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict, dataclass
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from sphunc.errors import ArgumentError, ArgumentTypeError, CheckpointError
from sphunc.estimator import SphUnc
from sphunc.forecasting import Forecast
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import Layout, read_hif, read_tables, write_hif, write_tables, write_text
from sphunc.runs.toml_text import toml_text

CONFIG = "config.toml"
DATA = "data"
HIF = "data.hif.json"
MODEL = "model"
STATUS = "status.json"
OWN_ENTRIES = (
    CONFIG,
    DATA,
    MODEL,
    STATUS,
    "answers",
    "comparison.csv",
    "data.json",
    "evaluation",
    "forecast.csv",
    "history.csv",
    "influence.csv",
    "lock.json",
    "log.txt",
    "metrics.json",
    "report.html",
    "report.md",
    "versions.json",
)
"""What stands in the folder of a run."""
YEAR_MONTH = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True)
class RunSettings:
    """What a fit was asked for.

    Attributes:
        dim: most state axes.
        horizon: steps ahead.
        seed: of every random choice.
        quick: the regression on covariates alone.
        samples: Monte Carlo samples of interventions.
        until: label of the last time to learn from, as text; None uses all.
        coverage: of the sets or intervals in the forecast.
    """

    dim: int = 128
    horizon: int = 1
    seed: int = 0
    quick: bool = False
    samples: int = 100
    until: str | None = None
    coverage: float = 0.9

    def model(self) -> SphUnc:
        """Return the model, not fitted."""
        return SphUnc(self.dim, self.horizon, self.seed, quick=self.quick, samples=self.samples)


@dataclass(frozen=True)
class Run:
    """A folder with one fit; :meth:`open` checks that it is one.

    Attributes:
        folder: where it is.

    Example:
        >>> import sphunc, tempfile
        >>> from sphunc.runs import Run, RunSettings, fit_run
        >>> folder = tempfile.mkdtemp() + "/run"
        >>> world = sphunc.simulate("snare", agents=40, times=5, seed=0)
        >>> run = fit_run(folder, world.data, RunSettings(quick=True))
        >>> Run.open(folder).model.predict(run.data).probabilities.shape
        torch.Size([40, 3])
    """

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """Open the folder of a fit that has ended.

        Args:
            folder: that ``sphunc fit TABLES --out FOLDER`` made.
        """
        path = Path(folder)
        if not path.is_dir():
            raise ArgumentError(f"{path} is not there; make a run with: sphunc fit TABLES --out {path}")
        run = cls(path)
        if not (path / CONFIG).is_file():
            raise ArgumentError(f"{path} is no run (it has no {CONFIG}); make one with: sphunc fit TABLES --out FOLDER")
        if run.state != "done":
            raise ArgumentError(f"the fit in {path} has not ended; go on with it: sphunc fit --out {path}")
        return run

    @property
    def state(self) -> str:
        """ "running", "stopped", "failed" or "done"."""
        return str(read_json(self.folder / STATUS).get("state", "running"))

    @cached_property
    def config(self) -> dict[str, Any]:
        """Settings of the fit, layout of the tables, and where these came from."""
        path = self.folder / CONFIG
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} cannot be read ({error}); copy the folder again") from None

    @cached_property
    def settings(self) -> RunSettings:
        """What the fit was asked for."""
        try:
            return RunSettings(**self.config["fit"])
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"{self.folder / CONFIG} is not of this version ({error}); fit again") from None

    @cached_property
    def layout(self) -> dict[str, Any]:
        """How the tables are written, as arguments of :func:`sphunc.read_tables`."""
        return dict(self.config.get("tables", {}))

    @cached_property
    def all_data(self) -> TemporalHypergraph:
        """All that the tables held, also what is later than the fit."""
        return read_data(self.folder)

    @cached_property
    def data(self) -> TemporalHypergraph:
        """What the model learned from."""
        until = self.settings.until
        if until is None:
            return self.all_data
        return self.all_data.until(time_of(self.all_data, until))

    @cached_property
    def model(self) -> SphUnc:
        """The fitted model."""
        return SphUnc.load(self.folder / MODEL)

    @cached_property
    def forecast(self) -> Forecast:
        """Forecast from the last time of the data."""
        return self.model.predict(self.data, coverage=self.settings.coverage)

    @property
    def comparison(self) -> pl.DataFrame:
        """Nested models on held-out outcomes."""
        return self.model.comparison_

    @property
    def verdict(self) -> str:
        """What the fit is worth, in one sentence."""
        return self.model.verdict_

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Verdict, comparison and sizes, as they stand in ``metrics.json``."""
        return read_json(self.folder / "metrics.json")

    @cached_property
    def info(self) -> dict[str, Any]:
        """How it was made: settings, versions, data, state."""
        return {
            **self.config,
            "versions": read_json(self.folder / "versions.json"),
            "data": read_json(self.folder / "data.json"),
            "status": read_json(self.folder / STATUS),
        }

    def log(self, sentence: str) -> None:
        """Add a line with the time to ``log.txt``."""
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        with (self.folder / "log.txt").open("a", encoding="utf-8") as stream:
            stream.write(f"{now} {sentence}\n")

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.state})"


def write_config(folder: Path, settings: RunSettings, layout: dict[str, Any], source: str) -> None:
    """Write ``config.toml``.

    Args:
        folder: of the run.
        settings: of the fit.
        layout: of the tables, by argument of :func:`sphunc.read_tables`.
        source: where the tables were.
    """
    given = {name: value for name, value in layout.items() if value != getattr(Layout(), name, None)}
    document = {"fit": asdict(settings), "tables": given, "source": {"path": source}}
    write_text(folder / CONFIG, toml_text(document, "Settings of this run; change them with a new one."))


def write_data(folder: Path, data: TemporalHypergraph) -> None:
    """Keep the data as Parquet tables, or as HIF where ids or times are of kinds that tables do not hold.

    Args:
        folder: of the run.
        data: what the tables held.
    """
    try:
        write_tables(data, folder / DATA, format="parquet")
    except (ArgumentError, ArgumentTypeError):
        (folder / DATA).mkdir(parents=True, exist_ok=True)
        write_hif(data, folder / DATA / HIF)


def read_data(folder: Path) -> TemporalHypergraph:
    """Read what :func:`write_data` wrote.

    Args:
        folder: of the run.
    """
    hif = folder / DATA / HIF
    if hif.is_file():
        return read_hif(hif)
    return read_tables(folder / DATA, allow_rare_classes=True)


def time_of(data: TemporalHypergraph, text: str) -> object:
    """Return the label of a time that is given as text.

    Args:
        data: has the times.
        text: "5", "2026-01-31" or "2026-01-31T12:00:00"; "2026-01" where one time alone is in that month.
    """
    labels = {str(time): time for time in data.times}
    labels |= {time.isoformat(): time for time in data.times if isinstance(time, date)}
    if text in labels:
        return labels[text]
    if YEAR_MONTH.fullmatch(text):
        within = [time for time in data.times if isinstance(time, date) and time.isoformat().startswith(text)]
        if len(within) == 1:
            return within[0]
    return data.times[data.time_index(text)]


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; a file that is not there is an empty one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON ({error}); copy the folder again") from None


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON object, whole or not at all.

    Args:
        path: the file.
        document: its content; what is not plain is written as text.
    """
    write_text(path, json.dumps(document, indent=1, default=str, ensure_ascii=False) + "\n")
