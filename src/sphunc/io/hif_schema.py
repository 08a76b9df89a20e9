"""The Hypergraph Interchange Format, checked by hand: which keys a file may have and of which type.

Top level: ``incidences`` (required), ``nodes``, ``edges``, ``metadata``, ``network-type``; nothing else. Ids are text
or integers. Time has no place of its own in the format: it lives in ``attrs``.
"""

from __future__ import annotations

from typing import Any

from sphunc.io.cells import LARGEST
from sphunc.io.faults import Fault, FaultLog

NETWORK_TYPES = ("undirected", "directed", "asc")
RECORDS: dict[str, tuple[str, ...]] = {
    "incidences": ("edge", "node"),
    "nodes": ("node",),
    "edges": ("edge",),
}
TOP = {"network-type": str, "metadata": dict, **dict.fromkeys(RECORDS, list)}


def check_hif(content: Any, file: str, log: FaultLog) -> None:
    """Note everything in ``content`` that the format does not allow."""
    if not isinstance(content, dict):
        log.add(Fault(file, f"the top level is {_kind(content)}, not an object", "Write {'incidences': [...]}"))
        return
    for key, value in content.items():
        _check_top(key, value, file, log)
    if "incidences" not in content:
        problem = f"there is no key 'incidences'; the keys are {', '.join(map(str, content)) or 'none'}"
        log.add(Fault(file, problem, "Add it: a list of {'edge': ..., 'node': ...}"))
    for name, ids in RECORDS.items():
        records = content.get(name, [])
        if isinstance(records, list):
            _check_records(name, ids, records, file, log)


def _check_top(key: str, value: Any, file: str, log: FaultLog) -> None:
    if key not in TOP:
        log.add(Fault(file, f"the key {key!r} is unknown", f"Move it into metadata; allowed are {', '.join(TOP)}"))
    elif not isinstance(value, TOP[key]):
        log.add(Fault(file, f"{key} is {_kind(value)}", f"Make it {_NAMES[TOP[key]]}"))
    elif key == "network-type" and value not in NETWORK_TYPES:
        log.add(Fault(file, f"network-type is {value!r}", f"Choose one of {', '.join(NETWORK_TYPES)}"))


def _check_records(name: str, ids: tuple[str, ...], records: list[Any], file: str, log: FaultLog) -> None:
    allowed = {*ids, "weight", "attrs", *(("direction",) if name == "incidences" else ())}
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            log.add(Fault(file, f"{name}[{row}] is {_kind(record)}", "Make it an object", row=row, column=name))
            continue
        for key in ids:
            if not is_id(record.get(key)):
                got = _kind(record[key]) if key in record else "missing"
                problem = f"{name}[{row}].{key} is {got}"
                log.add(Fault(file, problem, "Write a text or an integer", row=row, column=f"{name}.{key}"))
        for key in record.keys() - allowed:
            problem = f"{name}[{row}] has the key {key!r}"
            log.add(Fault(file, problem, "Move it into attrs", row=row, column=f"{name}.{key}", value=record[key]))
        _check_extras(name, row, record, file, log)


def _check_extras(name: str, row: int, record: dict[str, Any], file: str, log: FaultLog) -> None:
    weight, attrs = record.get("weight", 1), record.get("attrs", {})
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not abs(weight) <= LARGEST:
        problem = f"{name}[{row}].weight is {weight!r}"
        log.add(
            Fault(
                file, problem, "Write a finite number that fits float32", row=row, column=f"{name}.weight", value=weight
            )
        )
    if not isinstance(attrs, dict):
        problem = f"{name}[{row}].attrs is {_kind(attrs)}"
        log.add(Fault(file, problem, "Make it an object", row=row, column=f"{name}.attrs"))
    if record.get("direction", "head") not in ("head", "tail"):
        problem = f"{name}[{row}].direction is {record['direction']!r}"
        log.add(Fault(file, problem, "Write head or tail", row=row, column=f"{name}.direction"))


def is_id(value: Any) -> bool:
    """Say whether ``value`` may be an id: a text or an integer."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


_NAMES = {str: "a text", dict: "an object", list: "a list", int: "an integer", float: "a number", bool: "true or false"}


def _kind(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)
