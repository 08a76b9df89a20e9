"""`sphunc simulate`: make a world and write the tables that a user would bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sphunc.errors import ArgumentError


def run(preset: str, folder: Path, *, seed: int, sizes: dict[str, int | None], knobs: list[str], format: str) -> None:
    """Simulate a world, write its tables (true links included) and say what was written.

    Args:
        preset: of the world.
        folder: where the tables go.
        seed: of the world.
        sizes: agents, times, groups, classes, features; None keeps the preset's.
        knobs: others, each as "KNOB=NUMBER".
        format: "csv" or "parquet".
    """
    from sphunc import simulate, write_tables

    overrides = {name: size for name, size in sizes.items() if size is not None} | dict(map(_knob, knobs))
    world = simulate(preset, seed=seed, **overrides)
    write_tables(world.data, folder, format=format)
    typer.echo(f"{world!r}\nwritten to {folder}; check it with: sphunc check {folder}")


def _knob(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentError(f"--set {text!r} must read KNOB=NUMBER, for instance --set unseen=0.1")
    try:
        return name.strip(), int(value)
    except ValueError:
        pass
    try:
        return name.strip(), float(value)
    except ValueError:
        raise ArgumentError(f"--set {text!r}: {value!r} is not a number; write for instance --set {name}=0.1") from None
