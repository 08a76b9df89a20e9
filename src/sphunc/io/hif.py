"""HIF JSON files: read and written offline, with time, weights, attributes, empty groups and isolated agents.

Time stands in ``edges[].attrs.timestamp``. What the format has no place for (features, outcomes, links) stands in
``nodes[].attrs`` and ``metadata.sphunc``, so that :func:`read_hif` gives back what :func:`write_hif` took.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph, assemble
from sphunc.io.clock import kind_of, parse_time
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.files import replacing
from sphunc.io.hif_schema import check_hif, is_id
from sphunc.io.panel import panel_from_nodes, panel_to_nodes

TIME_KEYS = ("timestamp", "time", "t", "date", "presence", "_presence")
NODE_KEYS = ("features", "outcomes")
EDGE_KEYS = ("timestamp", "group")
VERSION = 1
MISFITS = (AttributeError, RuntimeError, OverflowError)  # what torch and dictionaries raise on records of a wrong form


def read_hif(path: str | Path) -> TemporalHypergraph:
    """Read a HIF file (``.json``, also ``.json.gz``); groups without a time all belong to time 0.

    The time of a group is ``attrs.timestamp`` (or ``time``, ``t``, ``date``, or the first instant of ``presence``):
    integers, dates or ISO datetimes. Agents and groups keep their ids and the order of the file.

    Raises:
        DataError: lists every fault; rows count the records of a list from 0.
    """
    path = Path(path)
    log = FaultLog()
    content = _load(path)
    check_hif(content, path.name, log)
    log.raise_if_any()
    return from_hif(content, path.name)


def write_hif(data: TemporalHypergraph, path: str | Path) -> None:
    """Write ``data`` as a HIF file (``.json`` or ``.json.gz``), whole or not at all."""
    path = Path(path)
    text = json.dumps(to_hif(data), allow_nan=False, separators=(",", ":"))
    packed = text.encode() if path.suffix != ".gz" else gzip.compress(text.encode(), mtime=0)
    with replacing(path) as temporary:
        temporary.write_bytes(packed)


def to_hif(data: TemporalHypergraph) -> dict[str, Any]:
    """Return ``data`` as the object that a HIF file holds."""
    data = data.to("cpu")
    _check_ids(data)
    carried = {key: value for key, value in data.attributes.items() if key not in ("nodes", "edges", "incidences")}
    names = _edge_names(data)
    return {
        "network-type": carried.pop("network-type", "undirected"),
        "metadata": {**carried.pop("metadata", {}), "sphunc": _facts(data, carried)},
        "nodes": _node_records(data),
        "edges": _edge_records(data, names),
        "incidences": _incidence_records(data, names),
    }


def from_hif(content: Mapping[str, Any], file: str = "HIF") -> TemporalHypergraph:
    """Build the data object from the object that a checked HIF file holds."""
    facts = _checked_facts(content, file)
    log = FaultLog()
    nodes = _in_order([record["node"] for name in ("nodes", "incidences") for record in content.get(name, [])])
    edges = _in_order([record["edge"] for name in ("edges", "incidences") for record in content.get(name, [])])
    records = {record["edge"]: record for record in content.get("edges", [])}
    stamps = [_timestamp(records.get(edge, {}).get("attrs", {})) for edge in edges]
    times = _times(stamps, facts, file, log)
    log.raise_if_any()
    place = {time: i for i, time in enumerate(times)}
    try:
        data = assemble(
            times=times,
            node_ids=list(nodes),
            hyperedge_ids=[_group_name(records[edge]["attrs"], edge) if facts else edge for edge in edges],
            hyperedge_time=[place[parse_time(stamp)] if stamp is not None else 0 for stamp in stamps],
            memberships=_memberships(content["incidences"], nodes, edges),
            attributes=_carried(content, facts),
        )
        return panel_from_nodes(data, content.get("nodes", []), facts)
    except (ArgumentError, ArgumentTypeError, LookupError, TypeError, ValueError, *MISFITS) as error:
        remedy = "Give every agent once per group and every group a name of its own, or write the file again"
        raise single_fault(file, f"the records do not fit together ({error})", remedy) from error


def _load(path: Path) -> Any:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        return json.loads(content, parse_constant=_refuse)
    except (OSError, EOFError, RecursionError) as error:
        raise single_fault(path.name, f"the file cannot be read ({error})", "Give the path of a HIF file") from error
    except ValueError as error:
        raise single_fault(path.name, f"this is not JSON ({error})", "Write the file again, in UTF-8") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


def _in_order(ids: list[Any]) -> dict[Any, int]:
    return {one: i for i, one in enumerate(dict.fromkeys(ids))}


def _timestamp(attrs: Mapping[str, Any]) -> Any:
    for key in TIME_KEYS:
        stamp = attrs.get(key)
        while isinstance(stamp, list) and stamp:  # presence: instants, or [start, end] intervals
            stamp = stamp[0]
        if stamp is not None and not isinstance(stamp, list):
            return stamp
    return None


def _group_name(attrs: Mapping[str, Any], edge: Any) -> Any:
    name = attrs.get("group", edge)
    if not is_id(name):
        raise ArgumentTypeError(f"attrs.group of {edge!r} is {name!r}, not a text or an integer")
    return name


def _times(stamps: list[Any], facts: Mapping[str, Any], file: str, log: FaultLog) -> list[Any]:
    known = [parse_time(time) for time in facts.get("times", [])]
    for row, stamp in enumerate(stamps):
        if stamp is None and not known and any(other is not None for other in stamps):
            problem = f"group number {row} has no timestamp, but others have"
            log.add(Fault(file, problem, "Add attrs.timestamp", row=row, column="edges.attrs.timestamp"))
        elif stamp is not None and parse_time(stamp) is None:
            remedy = "Write an integer, a date (2026-01-31) or an ISO datetime (2026-01-31T12:00:00)"
            log.add(
                Fault(file, f"{stamp!r} is not a time", remedy, row=row, column="edges.attrs.timestamp", value=stamp)
            )
    found = [time for time in (*known, *map(parse_time, stamps)) if time is not None]
    if len(kinds := {kind_of(time) for time in found}) > 1:
        problem = f"timestamps are of several kinds: {', '.join(sorted(kinds))}"
        log.add(Fault(file, problem, "Write every timestamp as the same kind"))
        return []
    return sorted(set(found)) or [0]


def _memberships(incidences: list[Any], nodes: Mapping[Any, int], edges: Mapping[Any, int]) -> tuple[Any, ...]:
    group = np.array([edges[record["edge"]] for record in incidences], dtype=np.int64)
    agent = np.array([nodes[record["node"]] for record in incidences], dtype=np.int64)
    if not any("weight" in record for record in incidences):
        return group, agent
    return group, agent, np.array([record.get("weight", 1) for record in incidences], dtype=np.float32)


def _carried(content: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    carried: dict[str, Any] = dict(facts.get("attributes", {}))
    metadata = {key: value for key, value in content.get("metadata", {}).items() if key != "sphunc"}
    if metadata:
        carried["metadata"] = metadata
    if content.get("network-type", "undirected") != "undirected":
        carried["network-type"] = content["network-type"]
    kept = {
        "nodes": [_kept(record, ("node",), NODE_KEYS if facts else ()) for record in content.get("nodes", [])],
        "edges": [
            _kept(record, ("edge",), EDGE_KEYS if facts else EDGE_KEYS[:1]) for record in content.get("edges", [])
        ],
        "incidences": [_kept(record, ("edge", "node"), (), ("weight",)) for record in content["incidences"]],
    }
    return carried | {name: found for name, records in kept.items() if (found := [r for r in records if r])}


def _kept(record: Mapping[str, Any], ids: tuple[str, ...], ours: tuple[str, ...], known: tuple[str, ...] = ()) -> Any:
    attrs = {key: value for key, value in record.get("attrs", {}).items() if key not in ours}
    rest = {key: value for key, value in record.items() if key not in (*ids, *known, "attrs")}
    return {**{key: record[key] for key in ids}, **rest, **({"attrs": attrs} if attrs else {})} if attrs or rest else {}


def _edge_names(data: TemporalHypergraph) -> list[Any]:
    if len(set(data.hyperedge_ids)) == data.num_hyperedges:
        return list(data.hyperedge_ids)
    # A group that meets again would share its id: HIF wants one id per meeting.
    times = [_written(data.times[t]) for t in data.hyperedge_time.tolist()]
    return [f"{name} @ {time}" for name, time in zip(data.hyperedge_ids, times, strict=True)]


def _edge_records(data: TemporalHypergraph, names: list[Any]) -> list[dict[str, Any]]:
    extra = {record["edge"]: record for record in data.attributes.get("edges", [])}
    records = []
    for name, group, t in zip(names, data.hyperedge_ids, data.hyperedge_time.tolist(), strict=True):
        other = extra.get(name, {})
        attrs = {**other.get("attrs", {}), "timestamp": _written(data.times[t])}
        attrs |= {"group": group} if name != group else {}
        records.append({**other, "edge": name, "attrs": attrs})
    return records


def _node_records(data: TemporalHypergraph) -> list[dict[str, Any]]:
    extra = {record["node"]: record for record in data.attributes.get("nodes", [])}
    records = []
    for name, panel in zip(data.node_ids, panel_to_nodes(data), strict=True):
        other = extra.get(name, {})
        attrs = {**other.get("attrs", {}), **panel}
        records.append({**other, "node": name, **({"attrs": attrs} if attrs else {})})
    return records


def _incidence_records(data: TemporalHypergraph, names: list[Any]) -> list[dict[str, Any]]:
    extra = {(record["edge"], record["node"]): record for record in data.attributes.get("incidences", [])}
    weights = None if data.incidence_weight is None else data.incidence_weight.tolist()
    records = []
    for i, (node, edge) in enumerate(zip(*data.hyperedge_index.tolist(), strict=True)):
        pair = {"edge": names[edge], "node": data.node_ids[node]}
        weight = {} if weights is None else {"weight": weights[i]}
        records.append({**extra.get((names[edge], data.node_ids[node]), {}), **pair, **weight})
    return records


def _facts(data: TemporalHypergraph, carried: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"version": VERSION, "time_key": "timestamp", "times": [_written(t) for t in data.times]}
    facts |= {"features": list(data.feature_names), "classes": list(data.class_names)}
    if data.y is not None:
        facts["outcomes"] = len(data.outcome_names)
        facts |= {"outcome_names": list(data.outcome_names)} if data.outcome_names else {}
    if data.influence is not None:
        links = [[data.node_ids[i] for i in row] for row in data.influence.tolist()]
        facts["influence"] = {"kind": data.influence_kind, "source": links[0], "target": links[1]}
    return facts | ({"attributes": dict(carried)} if carried else {})


def _checked_facts(content: Mapping[str, Any], file: str) -> Mapping[str, Any]:
    facts = content.get("metadata", {}).get("sphunc", {})
    if not isinstance(facts, dict) or not isinstance(facts.get("times", []), list):
        raise single_fault(file, "metadata.sphunc is not what sphunc writes", "Remove it, or write the file again")
    return facts


def _written(time: Any) -> Any:
    return time.isoformat() if isinstance(time, date) else time


def _check_ids(data: TemporalHypergraph) -> None:
    for name in ("node_ids", "hyperedge_ids"):
        for one in getattr(data, name):
            if not is_id(one):
                raise ArgumentTypeError(f"{name} has {one!r} of type {type(one).__name__}; HIF takes text and integers")
