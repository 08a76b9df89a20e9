"""HIF JSON files: read and written offline, with time, weights, attributes, empty groups and isolated agents.

Time stands in ``edges[].attrs.timestamp``. What the format has no place for (features, outcomes, links) stands in
``nodes[].attrs`` and ``metadata.sphunc``, so that :func:`read_hif` gives back what :func:`write_hif` took.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sphunc.errors import ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph, assemble
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.files import replacing
from sphunc.io.formats.hif_panel import panel_from_nodes, panel_to_nodes
from sphunc.io.formats.hif_schema import ID_KEYS, Record, check_hif, is_id
from sphunc.io.times import TIME_REMEDY, Time, parse_time, time_kind, written_time

TIME_KEYS = ("timestamp", "time", "t", "date", "presence", "_presence")
NODE_ATTRS = ("features", "outcomes")
EDGE_ATTRS = ("timestamp", "group")
VERSION = 1
MISFITS = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What torch, dictionaries and the data object raise on records of a wrong form."""


def read_hif(path: str | Path) -> TemporalHypergraph:
    """Read a HIF file (``.json``, also ``.json.gz``); groups without a time all belong to time 0.

    The time of a group is ``attrs.timestamp`` (or ``time``, ``t``, ``date``, or the first instant of ``presence``):
    integers, dates or ISO datetimes. Agents and groups keep their ids and the order of the file.

    Raises:
        DataError: lists every fault; rows count the records of a list from 0.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        content = json.loads(content, parse_constant=_refuse)
    except (OSError, EOFError, RecursionError) as error:
        problem = f"the file cannot be read ({error})"
        raise single_fault(Fault(path.name, problem, "Give the path of a HIF file")) from error
    except ValueError as error:
        problem = f"this is not JSON ({error})"
        raise single_fault(Fault(path.name, problem, "Write the file again, in UTF-8")) from error
    return from_hif(content, path.name)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def write_hif(data: TemporalHypergraph, path: str | Path) -> None:
    """Write ``data`` as a HIF file, whole or not at all.

    Args:
        data: what to write.
        path: the file, ``.json`` or ``.json.gz``.
    """
    path = Path(path)
    content = json.dumps(to_hif(data), allow_nan=False, separators=(",", ":")).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def from_hif(content: Record, file: str = "HIF") -> TemporalHypergraph:
    """Build the data object from the object that a HIF file holds.

    Args:
        content: the object.
        file: its name in messages.
    """
    check_hif(content, file)
    extension = content.get("metadata", {}).get("sphunc", {})
    if not isinstance(extension, dict) or not isinstance(extension.get("times", []), list):
        problem = "metadata.sphunc is not what sphunc writes"
        raise single_fault(Fault(file, problem, "Remove it, or write the file again"))
    nodes = _in_order(content, "nodes", "node")
    edges = _in_order(content, "edges", "edge")
    attrs = {record["edge"]: record.get("attrs", {}) for record in content.get("edges", [])}
    stamps = [_timestamp(attrs.get(edge, {})) for edge in edges]
    times = _times(stamps, extension.get("times", []), file)
    place: Mapping[Time | None, int] = {time: i for i, time in enumerate(times)}
    try:
        names = list(edges)
        if extension:
            names = [_group_name(attrs[edge], edge) for edge in edges]
        data = assemble(
            times=times,
            node_ids=list(nodes),
            hyperedge_ids=names,
            hyperedge_time=[place.get(parse_time(stamp), 0) for stamp in stamps],
            memberships=_memberships(content["incidences"], nodes, edges),
            attributes=_foreign_attributes(content, extension),
        )
        records = content.get("nodes", []) if extension else []
        return panel_from_nodes(data, records, extension)
    except MISFITS as error:
        problem = f"the records do not fit together ({error})"
        remedy = "Give every agent once per group and every group a name of its own, or write the file again"
        raise single_fault(Fault(file, problem, remedy)) from error


def _in_order(content: Record, name: str, key: str) -> dict[int | str, int]:
    """Number the ids under ``key``: first those of their own list, then others that incidences mention."""
    records = [*content.get(name, []), *content["incidences"]]
    ids = dict.fromkeys(record[key] for record in records)
    return {one: i for i, one in enumerate(ids)}


def _timestamp(attrs: Record) -> object:
    for key in TIME_KEYS:
        stamp = attrs.get(key)
        while isinstance(stamp, list) and stamp:  # presence: instants, or [start, end] intervals
            stamp = stamp[0]
        if stamp is not None and not isinstance(stamp, list):
            return stamp
    return None


def _times(stamps: Sequence[object], written: Sequence[object], file: str) -> list[Time]:
    """Return the times of the file, ascending: those that sphunc has written, and those of the groups."""
    log = FaultLog()
    column = "edges.attrs.timestamp"
    dated = any(stamp is not None for stamp in stamps)
    for row, stamp in enumerate(stamps):
        if stamp is None and dated and not written:
            problem = f"group number {row} has no timestamp, but others have"
            log.add(Fault(file, problem, "Add attrs.timestamp", row, column))
        elif stamp is not None and parse_time(stamp) is None:
            log.add(Fault(file, f"{stamp!r} is not a time", TIME_REMEDY, row, column, stamp))
    parsed = {parse_time(stamp) for stamp in (*written, *stamps)} - {None}
    times = [time for time in parsed if time is not None]
    kinds = sorted({time_kind(time) for time in times})
    if len(kinds) > 1:
        problem = f"timestamps are of several kinds: {', '.join(kinds)}"
        log.add(Fault(file, problem, "Write every timestamp as the same kind"))
    log.raise_if_any()
    return sorted(times) or [0]


def _group_name(attrs: Record, edge: int | str) -> int | str:
    name = attrs.get("group", edge)
    if not is_id(name):
        raise ArgumentTypeError(f"attrs.group of {edge!r} is {name!r}, not a text or an integer")
    return name


def _memberships(
    incidences: list[Record], nodes: Mapping[int | str, int], edges: Mapping[int | str, int]
) -> tuple[np.ndarray, ...]:
    group = np.array([edges[record["edge"]] for record in incidences], dtype=np.int64)
    agent = np.array([nodes[record["node"]] for record in incidences], dtype=np.int64)
    if not any("weight" in record for record in incidences):
        return group, agent
    weight = np.array([record.get("weight", 1) for record in incidences], dtype=np.float32)
    return group, agent, weight


def _foreign_attributes(content: Record, extension: Record) -> Record:
    """Return what the file holds beyond the data object, to be carried along."""
    carried = dict(extension.get("attributes", {}))
    metadata = {key: value for key, value in content.get("metadata", {}).items() if key != "sphunc"}
    if metadata:
        carried["metadata"] = metadata
    if content.get("network-type", "undirected") != "undirected":
        carried["network-type"] = content["network-type"]
    ours = {"nodes": (), "edges": EDGE_ATTRS[:1], "incidences": ()}
    if extension:
        ours |= {"nodes": NODE_ATTRS, "edges": EDGE_ATTRS}
    for name, ids in ID_KEYS.items():
        records = [_foreign_record(record, name, ids, ours[name]) for record in content.get(name, [])]
        records = [record for record in records if record]
        if records:
            carried[name] = records
    return carried


def _foreign_record(record: Record, name: str, ids: Sequence[str], ours: Sequence[str]) -> Record:
    known = {*ids, "attrs"}
    if name == "incidences":
        known.add("weight")
    foreign = {key: value for key, value in record.items() if key not in known}
    attrs = {key: value for key, value in record.get("attrs", {}).items() if key not in ours}
    if attrs:
        foreign["attrs"] = attrs
    if not foreign:
        return {}
    return {key: record[key] for key in ids} | foreign


def to_hif(data: TemporalHypergraph) -> Record:
    """Return ``data`` as the object that a HIF file holds."""
    data = data.to("cpu")
    for name, ids in (("node_ids", data.node_ids), ("hyperedge_ids", data.hyperedge_ids)):
        for one in ids:
            if not is_id(one):
                kind = type(one).__name__
                raise ArgumentTypeError(f"{name} has {one!r} of type {kind}; HIF takes text and integers")
    carried = {key: value for key, value in data.attributes.items() if key not in ID_KEYS}
    network_type = carried.pop("network-type", "undirected")
    metadata = carried.pop("metadata", {})
    edges = _edge_records(data)
    return {
        "network-type": network_type,
        "metadata": {**metadata, "sphunc": _extension(data, carried)},
        "nodes": _node_records(data),
        "edges": edges,
        "incidences": _incidence_records(data, [record["edge"] for record in edges]),
    }


def _carried_records(data: TemporalHypergraph, name: str) -> dict[tuple[Hashable, ...], Record]:
    """Return what was carried along of ``name``, by ids."""
    records = data.attributes.get(name, [])
    return {tuple(record[key] for key in ID_KEYS[name]): record for record in records}


def _edge_records(data: TemporalHypergraph) -> list[Record]:
    carried = _carried_records(data, "edges")
    returning = len(set(data.hyperedge_ids)) < data.num_hyperedges
    records = []
    for group, t in zip(data.hyperedge_ids, data.hyperedge_time.tolist(), strict=True):
        edge = group
        time = written_time(data.times[t])
        if returning:  # a group that meets again would share its id: HIF wants one id per meeting
            edge = f"{group} @ {time}"
        record = carried.get((edge,), {})
        attrs = {**record.get("attrs", {}), "timestamp": time}
        if edge != group:
            attrs["group"] = group
        records.append({**record, "edge": edge, "attrs": attrs})
    return records


def _node_records(data: TemporalHypergraph) -> list[Record]:
    carried = _carried_records(data, "nodes")
    records = []
    for node, panel in zip(data.node_ids, panel_to_nodes(data), strict=True):
        record = {**carried.get((node,), {}), "node": node}
        attrs = {**record.get("attrs", {}), **panel}
        if attrs:
            record["attrs"] = attrs
        records.append(record)
    return records


def _incidence_records(data: TemporalHypergraph, edges: Sequence[int | str]) -> list[Record]:
    carried = _carried_records(data, "incidences")
    records = []
    for n, e in data.hyperedge_index.T.tolist():
        pair = (edges[e], data.node_ids[n])
        records.append({**carried.get(pair, {}), "edge": pair[0], "node": pair[1]})
    if data.incidence_weight is not None:
        for record, weight in zip(records, data.incidence_weight.tolist(), strict=True):
            record["weight"] = weight
    return records


def _extension(data: TemporalHypergraph, carried: Record) -> Record:
    """Return ``metadata.sphunc``: what the records cannot say."""
    extension: Record = {
        "version": VERSION,
        "time_key": "timestamp",
        "times": [written_time(time) for time in data.times],
        "features": list(data.feature_names),
        "classes": list(data.class_names),
    }
    if data.y is not None:
        extension["outcomes"] = len(data.outcome_names)
    if data.outcome_names:
        extension["outcome_names"] = list(data.outcome_names)
    if data.influence is not None:
        source, target = [[data.node_ids[n] for n in row] for row in data.influence.tolist()]
        extension["influence"] = {"kind": data.influence_kind, "source": source, "target": target}
    if carried:
        extension["attributes"] = carried
    return extension
