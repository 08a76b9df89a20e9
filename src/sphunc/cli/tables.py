"""`sphunc tables`: run what the paper's tables need, print them, and write them as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from sphunc.cli.benchmark import Board
from sphunc.evaluation.benchmark import Engine, LocalEngine, Matrix, Report, Store, run_matrix
from sphunc.io import write_text
from sphunc.report import Table
from sphunc.tables import make_tables

RESULTS_FOLDER = Path("results")


def run(names: Sequence[str], *, quick: bool, out: Path | None, workers: int | None, as_json: bool) -> None:
    """Make tables, print each as it is ready, and write it into ``tables`` of the results.

    Args:
        names: of tables; none stands for all.
        quick: the small sizes.
        out: folder of results and tables; results/tables unless given.
        workers: cells at the same time.
        as_json: print for a program.
    """
    folder = out or RESULTS_FOLDER / "tables"
    console = Console(stderr=True)

    def measure(matrix: Matrix, store: Store, engine: Engine) -> Report:
        with Board(console) as board:
            return run_matrix(matrix, store, engine, begin=board.begin, watch=board.watch)

    for name, table in make_tables(names, folder, LocalEngine(workers), measure, quick=quick):
        write_table(table, folder, name)
        if as_json:
            typer.echo(
                json.dumps({"table": name, "title": table.title, "rows": table.frame.to_dicts(), "note": table.note})
            )
        else:
            typer.echo(f"{table}\n")
    if not as_json:
        console.print(f"written to {folder}: .txt, .md, .tex, .csv", highlight=False, soft_wrap=True)


def write_table(table: Table, folder: Path, name: str) -> None:
    """Write a table in every format.

    Args:
        table: what to write.
        folder: where files go.
        name: of the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "txt": f"{table}\n",
        "md": table.to_markdown(),
        "tex": table.to_latex(),
        "csv": table.to_csv(),
    }
    for ending, content in contents.items():
        write_text(folder / f"{name}.{ending}", content)
