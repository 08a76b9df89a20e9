"""``sphunc.json`` in a folder of tables: what CSV cannot say, so that what was written is read back the same.

It is optional and only ever adds knowledge: agents, times and classes that the tables have beyond it are taken too.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.faults import Fault, single_fault
from sphunc.io.files import write_text
from sphunc.io.times import Time, written_time

NAME = "sphunc.json"


class Manifest(BaseModel):
    """Contents of ``sphunc.json``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: str = "sphunc-tables"
    version: int = 1
    agents: list[int] | list[str] = []
    agent_ids: str = ""
    group_ids: str = ""
    times: list[int] | list[str] = []
    time_zone: str = ""
    outcome: str = "auto"
    classes: list[str] = []
    influence_kind: str = ""
    allow_empty_groups: bool = False
    allow_rare_classes: bool = False
    attributes: dict[str, object] = {}

    def parsed_times(self) -> list[Time]:
        """Return the times as integers, dates or datetimes."""
        return [self._parsed_time(time) for time in self.times]

    def _parsed_time(self, time: int | str) -> Time:
        if isinstance(time, int):
            return time
        try:
            return date.fromisoformat(time)
        except ValueError:
            moment = datetime.fromisoformat(time)
        if self.time_zone:
            return moment.astimezone(ZoneInfo(self.time_zone))
        return moment


def read_manifest(folder: Path) -> Manifest:
    """Read ``sphunc.json``; a folder without one has the default."""
    path = folder / NAME
    if not path.is_file():
        return Manifest()
    try:
        manifest = Manifest.model_validate(json.loads(path.read_text(encoding="utf-8")))
        manifest.parsed_times()
    except (ValueError, ValidationError, OSError, RecursionError, KeyError) as error:
        reason = str(error).splitlines()[0]
        problem = f"the file cannot be used ({reason})"
        raise single_fault(Fault(NAME, problem, "Correct it, or remove it")) from error
    return manifest


def write_manifest(data: TemporalHypergraph, folder: Path, kinds: tuple[str, str]) -> None:
    """Write ``sphunc.json``.

    Args:
        data: what the tables hold.
        folder: of the tables.
        kinds: of agent ids and of group ids, each "integer" or "text".
    """
    outcome = "auto"
    rare = False
    if data.class_names and data.y is not None:
        outcome = "class"
        rare = bool((torch.bincount(data.y[data.y_mask]) == 1).any())
    elif data.y is not None:
        outcome = "number"
    zone = getattr(data.times[0], "tzinfo", None)
    manifest = Manifest(
        agents=list(data.node_ids),  # pyright: ignore[reportArgumentType]
        agent_ids=kinds[0],
        group_ids=kinds[1],
        times=[written_time(time) for time in data.times],  # pyright: ignore[reportArgumentType]
        time_zone=getattr(zone, "key", ""),
        outcome=outcome,
        classes=list(data.class_names),
        influence_kind=data.influence_kind,
        allow_empty_groups=True,
        allow_rare_classes=rare,
        attributes=dict(data.attributes),
    )
    write_text(folder / NAME, manifest.model_dump_json(indent=1) + "\n")
