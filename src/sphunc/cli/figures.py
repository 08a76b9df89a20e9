"""`sphunc figures`: draw every figure that a run, or the results of an experiment, hold the numbers for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark import Store
from sphunc.figures import FORMATS, Drawn, draw_fitted, draw_results, save_figure


def run(source: Path, *, out: Path, formats: Sequence[str], as_json: bool) -> None:
    """Draw and write figures; print a line for each.

    Args:
        source: folder of a run (sphunc fit) or of results (sphunc benchmark, sphunc tables).
        out: where figures go.
        formats: of :data:`~sphunc.figures.FORMATS`.
        as_json: print for a program.
    """
    unknown = [kind for kind in formats if kind not in FORMATS]
    if unknown:
        raise ArgumentError(f"--format is {unknown[0]!r}; choose {', '.join(FORMATS)}")
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for drawn in figures_of(source):
        paths = save_figure(drawn.figure, out, drawn.name, drawn.alt, formats)
        count += 1
        if as_json:
            typer.echo(json.dumps({"figure": drawn.name, "alt": drawn.alt, "files": [str(path) for path in paths]}))
        else:
            typer.echo(f"{drawn.name}: {drawn.alt}")
    if not as_json:
        typer.echo(f"{count} figures in {out}, each as {', '.join(formats)}, with its alternative text in .txt")


def figures_of(source: Path) -> Iterator[Drawn]:
    """Figures of a folder, whichever kind it is.

    Args:
        source: of a run or of results.
    """
    if (source / "results.parquet").is_file():
        return draw_results(Store(source))
    from sphunc.runs import Run

    found = Run.open(source)
    return draw_fitted(found.model, found.all_data)
