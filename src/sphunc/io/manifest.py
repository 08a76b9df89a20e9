"""``sphunc.json`` beside the tables: what CSV cannot say, so that what was written is read back the same.

It is optional and only ever adds knowledge: agents, times and classes that the tables have beyond it are taken too.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, ValidationError

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.clock import kind_of
from sphunc.io.faults import single_fault
from sphunc.io.files import write_text

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
    attributes: dict[str, Any] = {}

    def parsed_times(self) -> list[Any]:
        """Return the times as integers, dates or datetimes."""
        return [time if isinstance(time, int) else self._in_zone(_from_iso(time)) for time in self.times]

    def _in_zone(self, time: Any) -> Any:
        return time.astimezone(ZoneInfo(self.time_zone)) if self.time_zone and isinstance(time, datetime) else time


def _from_iso(text: str) -> date | datetime:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)


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
        raise single_fault(NAME, f"the file cannot be used ({reason})", "Correct it, or remove it") from error
    return manifest


def write_manifest(data: TemporalHypergraph, folder: Path, kinds: tuple[str, str], *, rare: bool) -> None:
    """Write ``sphunc.json`` for ``data``."""
    aware = kind_of(data.times[0]) == "datetime with time zone"
    manifest = Manifest(
        agents=list(data.node_ids),  # pyright: ignore[reportArgumentType]
        agent_ids=kinds[0],
        group_ids=kinds[1],
        times=[time if isinstance(time, int) else time.isoformat() for time in data.times],
        time_zone=getattr(data.times[0].tzinfo, "key", "") if aware else "",
        outcome="auto" if data.y is None else "class" if data.class_names else "number",
        classes=list(data.class_names),
        influence_kind=data.influence_kind,
        allow_empty_groups=True,
        allow_rare_classes=rare,
        attributes=dict(data.attributes),
    )
    write_text(folder / NAME, manifest.model_dump_json(indent=1) + "\n")
