"""The command line: parse, call, print. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sphunc.cli.options import (
    Agent,
    AllowEmpty,
    AllowRare,
    AsCsv,
    AsJson,
    Config,
    Coverage,
    CutGroup,
    CutLink,
    DayFirst,
    Decimal,
    Delimiter,
    Do,
    DoOutcome,
    Drop,
    DropUnknown,
    Group,
    Missing,
    NanIsMissing,
    NewTables,
    Origin,
    Outcome,
    OutcomeKind,
    Questions,
    Rows,
    RunFolder,
    Samples,
    Seed,
    Steps,
    TableFile,
    Time,
    layout_arguments,
)
from sphunc.errors import SphuncError

VERBOSE = "--verbose"
WHAT_IF_FLAGS = {"do": "do", "do_outcome": "outcome", "cut_link": "cut_link", "cut_group": "cut_group"}
BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="sphunc",
    help="Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # typer's boxes import rich and its markdown: half of the time that help may take
)


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
    verbose: bool = typer.Option(False, VERBOSE, help="Show where an error arose; may stand anywhere."),
) -> None:
    """Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if."""
    if version:
        from sphunc import __version__

        typer.echo(__version__)
        raise typer.Exit
    del verbose  # main() takes it


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
    path: Annotated[Path, typer.Argument(help="A folder with features, groups, outcomes; one file of all; or HIF.")],
    config: Config = None,
    as_json: AsJson = False,
    agent: Agent = None,
    time: Time = None,
    group: Group = None,
    outcome: Outcome = None,
    drop: Drop = None,
    missing: Missing = None,
    dayfirst: DayFirst = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    table: TableFile = None,
    outcome_kind: OutcomeKind = "auto",
    nan_is_missing: NanIsMissing = False,
    drop_unknown: DropUnknown = False,
    allow_rare: AllowRare = False,
    allow_empty: AllowEmpty = False,
) -> None:
    """Say what is in a folder of tables, or list all its faults.

    Faults end with exit code 2. A file sphunc.toml in the folder may state any of the options on tables, such as
    agent = "pupil", for every command.
    """
    layout = layout_arguments(locals())
    from sphunc.cli.check import run

    run(path, as_json=as_json, options=layout)


@app.command("fit")
def fit_command(
    tables: Annotated[
        Path | None, typer.Argument(help="As for check; left out, the fit in --out goes on.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; made if it does not exist.")] = None,
    config: Config = None,
    horizon: Annotated[int, typer.Option(help="Steps from the origin of a forecast to its target.")] = 1,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Last time to learn from; later ones are for evaluate.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice; the same seed gives the same numbers.")] = 0,
    dim: Annotated[int, typer.Option(help="Most state axes; the data choose how many are used.")] = 128,
    quick: Annotated[
        bool, typer.Option("--quick", help="A regression on covariates alone: no states, no links.")
    ] = False,
    samples: Annotated[int, typer.Option(help="Monte Carlo samples of interventions.")] = 100,
    coverage: Annotated[float, typer.Option(help="Of the sets or intervals in the forecast.")] = 0.9,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew where --out holds another fit.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    agent: Agent = None,
    time: Time = None,
    group: Group = None,
    outcome: Outcome = None,
    drop: Drop = None,
    missing: Missing = None,
    dayfirst: DayFirst = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    table: TableFile = None,
    outcome_kind: OutcomeKind = "auto",
    nan_is_missing: NanIsMissing = False,
    drop_unknown: DropUnknown = False,
    allow_rare: AllowRare = False,
    allow_empty: AllowEmpty = False,
) -> None:
    """Learn from tables, into the folder of a run.

    The same command in the same folder goes on with a fit that was stopped. Ctrl-C keeps finished stages. The folder
    holds settings, data, log, model and results as plain files, and may be copied to another machine.

    Exit code: 0 done, 2 bad input or a folder in use by another run, 130 after Ctrl-C.
    """
    layout = layout_arguments(locals())
    from sphunc.cli.fit import run
    from sphunc.cli.output import form_of
    from sphunc.runs import RunSettings

    settings = None
    if tables is not None:
        settings = RunSettings(dim, horizon, seed, quick, samples, until, coverage)
    code = run(tables, out, settings=settings, layout=layout, form=form_of(as_json, as_csv), overwrite=overwrite)
    raise typer.Exit(code)


@app.command("predict")
def predict_command(
    folder: RunFolder,
    tables: NewTables = None,
    config: Config = None,
    coverage: Coverage = 0.9,
    origin: Origin = None,
    rows: Rows = 10,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Forecast every agent's outcome, with its uncertainty.

    New tables may hold only what came after the fit: earlier times are taken from the run.
    """
    from sphunc.cli.output import form_of
    from sphunc.cli.predict import run

    run(folder, tables, coverage=coverage, origin=origin, form=form_of(as_json, as_csv), rows=rows)


@app.command("influence")
def influence_command(
    folder: RunFolder,
    config: Config = None,
    by_agent: Annotated[bool, typer.Option("--agents", help="A row per agent in place of a row per link.")] = False,
    rows: Rows = 10,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Say who influences whom, and whether to trust it."""
    from sphunc.cli.influence import run
    from sphunc.cli.output import form_of

    run(folder, form=form_of(as_json, as_csv), rows=rows, by_agent=by_agent)


@app.command("intervene")
def intervene_command(
    folder: RunFolder,
    do: Do = None,
    do_outcome: DoOutcome = None,
    cut_link: CutLink = None,
    cut_group: CutGroup = None,
    questions: Questions = None,
    horizon: Steps = None,
    tables: NewTables = None,
    config: Config = None,
    origin: Origin = None,
    samples: Samples = None,
    seed: Seed = 0,
    rows: Rows = 10,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Simulate what would happen if.

    Flags together are one question. A file of questions is a JSON list of objects:

    \b
        [{"name": "calm ann", "do": {"ann": "calm"}, "horizon": 3},
         {"outcome": {"bob": "upset"}, "cut_link": [["ann", "bob"]],
          "cut_group": ["choir"]}]
    """
    _what_if("intervene", locals())


@app.command("counterfactual")
def counterfactual_command(
    folder: RunFolder,
    do: Do = None,
    do_outcome: DoOutcome = None,
    cut_link: CutLink = None,
    cut_group: CutGroup = None,
    questions: Questions = None,
    horizon: Steps = None,
    tables: NewTables = None,
    config: Config = None,
    origin: Origin = None,
    samples: Samples = None,
    seed: Seed = 0,
    rows: Rows = 10,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Say what would have happened if, given what did happen.

    It starts at --origin, by default as many steps before the last time as the horizon has. Flags and files of
    questions are those of intervene.
    """
    _what_if("counterfactual", locals())


def _what_if(asked: str, values: dict[str, object]) -> None:
    from sphunc.cli.output import form_of
    from sphunc.cli.what_if import run

    flags = {name: values[flag] or () for flag, name in WHAT_IF_FLAGS.items()}
    same = ("questions", "tables", "origin", "horizon", "samples", "seed", "rows")
    form = form_of(bool(values["as_json"]), bool(values["as_csv"]))
    options = {name: values[name] for name in same}
    run(values["folder"], asked=asked, form=form, **flags, **options)  # pyright: ignore[reportArgumentType]


@app.command("evaluate")
def evaluate_command(
    folder: RunFolder,
    tables: NewTables = None,
    config: Config = None,
    coverage: Coverage = 0.9,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Compare forecasts with what happened later.

    Without --tables with what fit --until held back. Class frequencies and the last outcome stand beside the model.
    """
    from sphunc.cli.evaluate import run
    from sphunc.cli.output import form_of

    run(folder, tables, coverage=coverage, form=form_of(as_json, as_csv))


@app.command("report")
def report_command(
    folder: RunFolder,
    out: Annotated[Path | None, typer.Option(help="The file; report.html in the folder unless given.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write Markdown in place of HTML.")] = False,
) -> None:
    """Write one page with all that a run says."""
    from sphunc.cli.report import run

    run(folder, out=out, markdown=markdown)


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


@app.command("tables")
def tables_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tables of the paper, such as main or ablation; all unless given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small worlds, few seeds: minutes instead of hours.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where results and tables go; results/tables unless given.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Cells at the same time; as many as cores allow unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the tables of the paper, beside its own.

    Tables: datasets, hyperparameters, main, ece, causal, significance, ablation, robustness, cases. Finished cells
    stay: after a kill, run the same command. Each table is also written as text, Markdown, LaTeX and CSV.
    """
    from sphunc.cli.tables import run

    run(names or [], quick=quick, out=out, workers=workers, as_json=as_json)


@app.command("figures")
def figures_command(
    source: Annotated[Path, typer.Argument(help="Folder of a run (fit), or of results (benchmark, tables).")],
    out: Annotated[Path, typer.Option(help="Where figures go; made if it does not exist.")] = Path("figures"),
    formats: Annotated[list[str] | None, typer.Option("--format", help="png, svg or pdf; all unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw the figures of a run, or of an experiment."""
    from sphunc.cli.figures import run

    run(source, out=out, formats=formats or ("png", "svg", "pdf"), as_json=as_json)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; bad input ends with exit code 2 and one clear line.

    Args:
        arguments: those of the process unless given.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    verbose = VERBOSE in given
    given = [word for word in given if word != VERBOSE]
    code = 0
    try:
        code = app(given, prog_name="sphunc", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        _end("stopped", verbose, INTERRUPTED)
    except (SphuncError, OSError) as error:  # OSError: a folder that cannot be made, a disk that is full
        from sphunc.cli.output import for_command_line

        _end(f"error: {for_command_line(str(error))}", verbose, BAD_INPUT)
    except Exception as error:
        if hasattr(error, "format_message"):  # click's: a flag or an argument that is not right
            _end(f"error: {_usage(error)}", verbose, BAD_INPUT)
        else:
            kind = type(error).__name__
            _end(f"error: this should not happen ({kind}: {error}); {VERBOSE} shows where", verbose, 1)
    sys.exit(code or 0)


def _usage(error: Exception) -> str:
    """Return what click found wrong, in one line, with where to read on."""
    message = " ".join(error.format_message().replace("?.", "?").split())  # pyright: ignore[reportAttributeAccessIssue]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "sphunc"
    if not message.endswith((".", "?")):
        message += "."
    return f"{message} Try: {command} --help"


def _end(line: str, verbose: bool, code: int) -> None:
    if verbose:
        import traceback

        typer.echo(traceback.format_exc(), err=True, nl=False)
    typer.echo(line, err=True)
    sys.exit(code)
