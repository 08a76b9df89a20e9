"""The command line: parse, call, print. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sphunc.errors import SphuncError

app = typer.Typer(
    name="sphunc",
    help="Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # typer's boxes import rich and its markdown: half of the time that help may take
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if."""
    if version:
        from sphunc import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.command("demo")
def demo_command() -> None:
    """Show what sphunc does, on an embedded default."""
    from sphunc.cli.demo import run

    run()


@app.command("simulate")
def simulate_command(
    preset: Annotated[str, typer.Argument(help="snare, pheme, amigos, financial or collaboration.")],
    folder: Annotated[Path, typer.Argument(help="Where the tables go; made if it does not exist.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same world.")] = 0,
    agents: Annotated[int | None, typer.Option(help="Number of agents; the preset's unless given.")] = None,
    times: Annotated[int | None, typer.Option(help="Number of times.")] = None,
    groups: Annotated[int | None, typer.Option(help="Groups over all times; follow agents and times.")] = None,
    classes: Annotated[int | None, typer.Option(help="Number of outcome classes.")] = None,
    features: Annotated[int | None, typer.Option(help="Number of features per agent.")] = None,
    knobs: Annotated[list[str] | None, typer.Option("--set", metavar="KNOB=NUMBER", help="Any other knob.")] = None,
    format: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
) -> None:
    """Make a world whose truth is known, and write its tables."""
    from sphunc.cli.simulate import run

    sizes = {"agents": agents, "times": times, "groups": groups, "classes": classes, "features": features}
    run(preset, folder, seed=seed, sizes=sizes, knobs=knobs or [], format=format)


@app.command("check")
def check_command(
    path: Annotated[Path, typer.Argument(help="A folder with features, groups, outcomes; or a HIF file.")],
    as_json: bool = typer.Option(False, "--json", help="Print for a program instead of a person."),
    drop_unknown: bool = typer.Option(False, "--drop-unknown", help="Leave out rows with unknown agents or times."),
    allow_rare: bool = typer.Option(False, "--allow-rare", help="Accept classes that are seen only once."),
    allow_empty: bool = typer.Option(False, "--allow-empty", help="Accept groups without members."),
    nan_is_missing: bool = typer.Option(False, "--nan-is-missing", help="Take NaN as not observed."),
    delimiter: str | None = typer.Option(None, help="Delimiter of CSV files, if not a comma."),
) -> None:
    """Say what is in a folder of tables, or list all its faults.

    Faults end with exit code 2.
    """
    from sphunc.cli.check import run

    options = {
        "drop_unknown": drop_unknown,
        "allow_rare_classes": allow_rare,
        "allow_empty_groups": allow_empty,
        "nan_is_missing": nan_is_missing,
        "delimiter": delimiter,
    }
    run(path, as_json=as_json, options=options)


@app.command("benchmark")
def benchmark_command(
    file: Annotated[Path | None, typer.Argument(help="An experiment in TOML or JSON; see docs/benchmark.md.")] = None,
    quick: bool = typer.Option(
        False,
        "--quick",
        help="Six systems, two strong and three trivial ones on one small world: no file needed, minutes.",
    ),
    out: Annotated[Path | None, typer.Option(help="Where results go; results/NAME unless given.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Cells at the same time; as many as cores allow unless given.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads of each cell.")] = 1,
    engine: Annotated[str, typer.Option(help="local, or ray (RAY_ADDRESS names a cluster).")] = "local",
    keep_old: bool = typer.Option(
        False, "--keep-old", help="Keep numbers that an earlier code measured, instead of measuring again."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print for a program instead of a person."),
) -> None:
    """Compare systems over data, seeds and variants.

    A cell is one system on one data set with one seed. Finished cells stay: after a kill, run the same command.

    The smallest experiment file:

    \b
        name = "mine"
        models = ["sphunc", "hypergcn", "majority"]
        seeds = [0, 1, 2]
        [[data]]
        world = "snare"

    Exit code: 0 all is there, 1 a cell failed, 2 bad input or a folder in use by another run, 130 after Ctrl-C.
    """
    from sphunc.cli.benchmark import run

    options = {"workers": workers, "threads": threads, "engine": engine, "keep_old": keep_old}
    code = run(file, quick=quick, out=out, as_json=as_json, **options)
    raise typer.Exit(code)


def main() -> None:
    """Run the command line; bad input ends with exit code 2 and one clear line."""
    try:
        app()
    except (SphuncError, OSError) as error:  # OSError: a folder that cannot be made, a disk that is full
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
