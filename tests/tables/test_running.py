"""An experiment runs once for all the tables that need it."""

from pathlib import Path

import polars as pl

from sphunc.evaluation.benchmark import LocalEngine, Report
from sphunc.tables import make_tables


def test_experiment_of_several_tables_runs_once(results: pl.DataFrame, tmp_path: Path) -> None:
    runs = []

    def run(matrix, store, engine) -> Report:
        runs.append((matrix.name, store.folder.name))
        return Report(results, results.height, 0, 0, (), False)

    names = ["main", "ece", "datasets"]
    tables = dict(make_tables(names, tmp_path, LocalEngine(workers=1), run, quick=True))
    assert list(tables) == names
    assert runs == [("main-quick", "main-quick")]
    assert tables["main"].title == "Main results"


def test_table_without_a_finished_cell_is_left_out(tmp_path: Path) -> None:
    def run(matrix, store, engine) -> Report:
        return Report(pl.DataFrame(), 3, 0, 0, (), True)

    assert dict(make_tables(["main"], tmp_path, LocalEngine(workers=1), run, quick=True)) == {}
