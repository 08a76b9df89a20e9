"""`sphunc benchmark` runs a file, prints for people and programs, and says with its exit code how it went."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

from sphunc.cli import app
from sphunc.cli import benchmark as command
from sphunc.errors import ArgumentError, DataError
from sphunc.evaluation.benchmark import Engine, Outcome, Progress, expand, quick_matrix, read_matrix
from sphunc.evaluation.benchmark.engines import attempt

EXAMPLES = Path(__file__).parents[2] / "examples"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TEXT = """
name = "small"
models = ["majority", "persistence"]
reference = "persistence"
seeds = [0, 1]
[[data]]
world = "snare"
knobs = { agents = 30, times = 6 }
"""
WILD = '{ name = "logistic", settings = { learning_rate = 1e30 } }, "majority"'


class SerialEngine(Engine):
    """One task after the other, in this process; stops like a person would after so many."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__(workers=1)
        self.stop_after = stop_after

    def run(self, work, tasks) -> Iterator[Outcome]:
        for index, task in enumerate(tasks):
            if index == self.stop_after:
                raise KeyboardInterrupt
            yield Outcome(index, *attempt(work, task, 1))


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, text: str = TEXT, stop_after: int | None = None):
        monkeypatch.setattr(command, "_engine", lambda name, workers, threads: SerialEngine(stop_after))
        (tmp_path / "small.toml").write_text(text)
        return CliRunner().invoke(app, ["benchmark", *arguments])

    return call


def test_prints_for_people_and_leaves_results(invoke, tmp_path: Path) -> None:
    result = invoke("small.toml")
    assert result.exit_code == 0, result.output
    for word in ("Accuracy", "Macro-F1", "AUC", "NLL", "Brier", "ECE", "AURC", "Way to oracle", "oracle", "majority"):
        assert word in result.output
    assert "[6/6]" in result.stderr
    assert "left" in result.stderr
    assert (tmp_path / "results" / "small" / "results.parquet").is_file()
    again = invoke("small.toml")
    assert "6 of 6 cells are finished already, and stay." in again.stderr


def test_prints_for_programs(invoke) -> None:
    result = invoke("small.toml", "--json", "--out", "elsewhere")
    content = json.loads(result.stdout)
    assert content["cells"] == {"total": 6, "finished": 6, "measured_now": 6, "by_other_code": 0}
    assert content["store"] == "elsewhere"
    (section,) = content["sections"]
    assert section["standings"]["nll"]["oracle"]["mean"] < section["standings"]["nll"]["majority"]["mean"]
    assert section["tests"]["nll"]["majority"]["name"] == "corrected resampled t-test"


def test_experiment_in_the_help_is_valid_as_it_stands(invoke, tmp_path: Path) -> None:
    lines = invoke("--help").output.splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith("name ="))
    shown = [line.strip() for line in lines[first : first + 5]]
    (tmp_path / "shown.toml").write_text("\n".join(shown))
    assert len(expand(read_matrix(tmp_path / "shown.toml"))) == 12


def test_failed_cell_is_one_line_and_exit_code_1(invoke) -> None:
    result = invoke("small.toml", text=TEXT.replace('"majority"', WILD))
    assert result.exit_code == 1
    lines = [line for line in result.stderr.splitlines() if line.startswith("FAILED")]
    assert len(lines) == 2
    assert "FAILED logistic · snare · seed 0: ArgumentError: learning_rate is 1e+30" in lines[0]
    assert "Traceback: results/small/failed/" in lines[0]
    assert "Failed cells: 2. Mend what FAILED says above, then run the same command." in result.stderr
    assert "to measure the other" not in result.stderr
    assert "Accuracy" in result.stdout
    assert "Note: logistic is not shown for snare: 2 of its 2 cells failed." in result.stdout


def test_what_failed_and_what_waits_are_distinct_titles(invoke) -> None:
    stopped = invoke("small.toml", text=TEXT.replace('"majority"', WILD), stop_after=3)
    assert "2 of 8 cells are in results/small/results.parquet. Failed cells: 1. Mend what FAILED says" in stopped.stderr
    assert "Run the same command to measure the other 5." in stopped.stderr


def test_interrupt_ends_with_130_and_goes_on(invoke) -> None:
    stopped = invoke("small.toml", stop_after=2)
    assert stopped.exit_code == 130
    assert "Run the same command to measure the other 4." in stopped.stderr
    assert "2 of 6 cells are finished already" in invoke("small.toml").stderr


def age(folder: Path, count: int) -> None:
    """Let the first so many cells be those of other code."""
    for file in sorted((folder / "cells").iterdir())[:count]:
        pl.read_parquet(file).with_columns(code=pl.lit("old")).write_parquet(file)


def test_numbers_of_other_code_are_counted_as_what_they_are(invoke, tmp_path: Path) -> None:
    invoke("small.toml")
    age(tmp_path / "results" / "small", 2)
    kept = invoke("small.toml", "--keep-old")
    assert "4 of 6 cells are finished already, and stay." in kept.stderr
    assert "2 of 6 cells were measured by other code: they stay (--keep-old)." in kept.stderr
    assert "again now" not in kept.stderr
    assert "6 of 6 cells are in results/small/results.parquet. Other code measured 2 of them. Run with" in kept.stderr
    cells = json.loads(invoke("small.toml", "--keep-old", "--json").stdout)["cells"]
    assert cells == {"total": 6, "finished": 6, "measured_now": 0, "by_other_code": 2}
    stopped = invoke("small.toml", stop_after=1)
    assert "2 of 6 cells were measured by other code: again now, unless --keep-old." in stopped.stderr
    assert "Other code measured 1 of them. Run the same command to measure them again." in stopped.stderr
    again = invoke("small.toml")
    assert "[6/6]" in again.stderr
    assert "ther code measured" not in again.stderr


def test_bar_begins_with_what_stays() -> None:
    cells = expand(quick_matrix())[:6]
    stored = Progress(cells[:3], cells[3:5], cells[5:])
    for keep_old, done in ((True, 5), (False, 3)):
        with command.Board(Console(file=StringIO(), force_terminal=True), keep_old=keep_old) as board:
            board.begin(stored)
            (task,) = board._bar.tasks
            assert (task.completed, task.total) == (done, 6)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ([], ArgumentError, "give either an experiment FILE or --quick"),
        (["small.toml", "--quick"], ArgumentError, "give either an experiment FILE or --quick"),
        (["none.toml"], DataError, "none.toml: cannot be read"),
        (
            ["small.toml", "--out", "small.toml"],
            ArgumentError,
            r"results cannot be kept in small.toml \(.*\). Give a folder",
        ),
    ],
)
def test_bad_input_is_refused_in_words(invoke, tmp_path: Path, arguments, kind, message) -> None:
    (tmp_path / "small.toml").write_text(TEXT)
    with pytest.raises(kind, match=message):
        CliRunner().invoke(app, ["benchmark", *arguments], catch_exceptions=False)


def test_unknown_engine_names_those_that_are_known() -> None:
    with pytest.raises(ArgumentError, match="--engine 'slurm' is not known; choose local or ray"):
        command._engine("slurm", None, 1)


@pytest.mark.parametrize(
    "file",
    [EXAMPLES / "experiment.toml", BENCHMARKS / "six_systems.toml", BENCHMARKS / "six_systems_small.toml"],
    ids=lambda f: f.name,
)
def test_shipped_experiments_are_valid(file: Path) -> None:
    assert expand(read_matrix(file))
