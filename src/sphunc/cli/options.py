"""Options that several commands share, and the TOML file that states any of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from sphunc.errors import ArgumentError


def read_config(context: Any, parameter: Any, file: Path | None) -> Path | None:
    """Take the values of a TOML file as defaults: a flag wins over the file.

    Args:
        context: of the command; its class is private to typer.
        parameter: the option itself.
        file: its keys are the long names of options, with or without dashes.
    """
    if file is None:
        return None
    flag = parameter.opts[0]
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{flag} {file} cannot be read: {error}") from None
    parameters = {name: option for option in context.command.params for name in _names(option)}
    defaults: dict[str, object] = {}
    for key, value in document.items():
        option = parameters.get(key.replace("-", "_"))
        if option is None or key == "config":
            from sphunc._checks import did_you_mean

            known = sorted(name for name in parameters if name not in ("config", "help") and not name.startswith("as_"))
            raise ArgumentError(
                f"{flag} {file}: {key!r} is not a key{did_you_mean(key, known)}; allowed: {', '.join(known)}"
            )
        if isinstance(value, dict):
            raise ArgumentError(f"{flag} {file}: {key} is a table; write keys = values without [tables]")
        if isinstance(value, list) != bool(getattr(option, "multiple", False)):
            value = value[0] if isinstance(value, list) and len(value) == 1 else [value]
        defaults[option.name or key] = value
    context.default_map = {**(context.default_map or {}), **defaults}
    return file


def _names(parameter: object) -> list[str]:
    """Return the names of an option as keys: its own, and its long flags without dashes."""
    flags = [flag[2:].replace("-", "_") for flag in getattr(parameter, "opts", []) if flag.startswith("--")]
    own = getattr(parameter, "name", None)
    if not flags:
        return [own] if own else []
    return [*flags, own] if own else flags


def layout_arguments(values: dict[str, object]) -> dict[str, object]:
    """Return arguments of the reader of tables from those of a command, whose other entries are left alone."""
    names = {
        "allow_rare": "allow_rare_classes",
        "allow_empty": "allow_empty_groups",
        **{name: name for name in LAYOUT},
    }
    return {argument: values[name] for name, argument in names.items() if values.get(name) not in (None, [], False)}


LAYOUT = (
    "agent",
    "time",
    "group",
    "outcome",
    "drop",
    "missing",
    "dayfirst",
    "delimiter",
    "decimal",
    "table",
    "outcome_kind",
    "nan_is_missing",
    "drop_unknown",
)
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="TOML",
        help="File with options: each key is the long name of one below, such as seed = 1. Flags win.",
        callback=read_config,
        is_eager=True,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for a program.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV, for a spreadsheet; formulas are escaped.")]
Agent = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of agents, if not called agent.")]
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of times, if not called time.")]
Group = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of groups, if not called group.")]
Outcome = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of outcomes, in outcomes or among the features.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="CODE", help="What stands for a missing value, such as -99; may be repeated."),
]
DayFirst = Annotated[
    bool | None, typer.Option("--dayfirst/--monthfirst", help="31/01/2026 or 01/31/2026; neither is read unless said.")
]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Between cells of CSV; found in the header unless given.")
]
Decimal = Annotated[str | None, typer.Option(metavar="SIGN", help="Decimal sign, . or , in CSV; found unless given.")]
TableFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="One long table in the folder: agent, time, group, outcome, features."),
]
OutcomeKind = Annotated[str, typer.Option(metavar="KIND", help="class, number, or auto: by the values.")]
NanIsMissing = Annotated[bool, typer.Option("--nan-is-missing", help="Take NaN in Parquet as not observed.")]
DropUnknown = Annotated[bool, typer.Option("--drop-unknown", help="Leave out rows with unknown agents or times.")]
AllowRare = Annotated[bool, typer.Option("--allow-rare", help="Accept classes that are seen only once.")]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Accept groups without members.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that fit made.")]
NewTables = Annotated[
    Path | None, typer.Option(help="New tables, written as those of the fit; they may hold only later times.")
]
Coverage = Annotated[float, typer.Option(help="Of the sets or intervals, between 0 and 1.")]
Origin = Annotated[str | None, typer.Option(metavar="TIME", help="Time to start from; the last one unless given.")]
Rows = Annotated[int, typer.Option(min=1, help="Most rows that are shown; --json and --csv give all.")]
Do = Annotated[
    list[str] | None,
    typer.Option(metavar="AGENT=CLASS", help="Set the agent's state to the direction of a class; may be repeated."),
]
DoOutcome = Annotated[
    list[str] | None,
    typer.Option(metavar="AGENT=OUTCOME", help="Hold the agent's outcome at a class or number; may be repeated."),
]
CutLink = Annotated[
    list[str] | None, typer.Option(metavar="SOURCE:TARGET", help="Remove an influence; may be repeated.")
]
CutGroup = Annotated[
    list[str] | None, typer.Option(metavar="GROUP", help="Keep a group from meeting; may be repeated.")
]
Questions = Annotated[Path | None, typer.Option(metavar="FILE", help="JSON with several questions.")]
Steps = Annotated[int | None, typer.Option(min=1, help="Steps to simulate; those of the fit unless given.")]
Samples = Annotated[int | None, typer.Option(min=1, help="Monte Carlo samples; those of the fit unless given.")]
Seed = Annotated[int, typer.Option(help="Of noise, structures and coefficients.")]
