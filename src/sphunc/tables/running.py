"""One table, or all of them: run what they need, resume what was begun, build them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from sphunc.evaluation.benchmark import Engine, Matrix, Report, Store, read_matrix
from sphunc.report import Table
from sphunc.tables.building import (
    ablation_table,
    causal_table,
    datasets_table,
    ece_table,
    hyperparameters_table,
    main_table,
    robustness_table,
    significance_table,
)
from sphunc.tables.cases import cases_table
from sphunc.tables.specifications import SOURCES, check_table, experiment_file

FROM_RESULTS: Mapping[str, Callable[[pl.DataFrame], Table]] = {
    "main": main_table,
    "ece": ece_table,
    "causal": causal_table,
    "significance": significance_table,
    "ablation": ablation_table,
    "robustness": robustness_table,
}
Run = Callable[[Matrix, Store, Engine], Report]


def make_tables(
    names: Sequence[str], folder: Path, engine: Engine, run: Run, *, quick: bool
) -> Iterator[tuple[str, Table]]:
    """Yield tables with their names; each experiment is run once, and what is finished stays.

    Args:
        names: of tables; none stands for all.
        folder: results go into a folder of the experiment's name inside it.
        engine: where the work runs.
        run: runs a matrix, such as :func:`~sphunc.evaluation.benchmark.run_matrix`, with or without showing progress.
        quick: the small sizes.
    """
    wanted = [check_table(name) for name in names] or list(SOURCES)
    results: dict[Path, pl.DataFrame] = {}
    for name in wanted:
        file = experiment_file(name, quick=quick)
        if file is None:
            yield name, table_without_results(name)
            continue
        if file not in results:
            matrix = read_matrix(file)
            results[file] = run(matrix, Store(folder / matrix.name), engine).table
        if not results[file].is_empty():
            yield name, FROM_RESULTS[name](results[file])


def table_without_results(name: str) -> Table:
    """A table that needs no benchmark.

    Args:
        name: "datasets", "hyperparameters" or "cases".
    """
    if name == "datasets":
        return datasets_table()
    if name == "hyperparameters":
        return hyperparameters_table()
    return cases_table()
