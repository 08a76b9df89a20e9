"""The Hypergraph Interchange Format, checked by hand: which keys a file may have and of which type.

Top level: ``incidences`` (required), ``nodes``, ``edges``, ``metadata``, ``network-type``; nothing else. Ids are text
or integers. Time has no place of its own in the format: it lives in ``attrs``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sphunc.io.faults import Fault, FaultLog

Record = dict[str, Any]
"""An object of JSON."""
NETWORK_TYPES = ("undirected", "directed", "asc")
ID_KEYS: dict[str, tuple[str, ...]] = {"incidences": ("edge", "node"), "nodes": ("node",), "edges": ("edge",)}
"""The lists of records in a file, and the keys of each record that are ids."""
ALLOWED_KEYS = {
    "incidences": {"edge", "node", "weight", "attrs", "direction"},
    "nodes": {"node", "weight", "attrs"},
    "edges": {"edge", "weight", "attrs"},
}
TYPES = {"network-type": str, "metadata": dict, "incidences": list, "nodes": list, "edges": list}
TYPE_NAMES = {
    type(None): "null",
    str: "a text",
    dict: "an object",
    list: "a list",
    int: "an integer",
    float: "a number",
    bool: "true or false",
}
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def check_hif(content: object, file: str) -> None:
    """Refuse what the format does not allow, all of it at once.

    Args:
        content: what the file holds.
        file: its name in messages.
    """
    log = FaultLog()
    if isinstance(content, dict):
        _check_top(content, file, log)
        for name in ID_KEYS:
            records = content.get(name)
            if isinstance(records, list):
                for row, record in enumerate(records):
                    for key, problem, remedy, value in _record_faults(name, record):
                        log.add(Fault(file, f"{name}[{row}]{problem}", remedy, row, f"{name}{key}", value))
    else:
        problem = f"the top level is {_type_name(content)}, not an object"
        log.add(Fault(file, problem, "Write {'incidences': [...]}"))
    log.raise_if_any()


def is_id(value: object) -> bool:
    """Say whether ``value`` may be an id: a text or an integer."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _check_top(content: Record, file: str, log: FaultLog) -> None:
    for key, value in content.items():
        if key not in TYPES:
            log.add(
                Fault(file, f"the key {key!r} is unknown", f"Move it into metadata; allowed are {', '.join(TYPES)}")
            )
        elif not isinstance(value, TYPES[key]):
            log.add(Fault(file, f"{key} is {_type_name(value)}", f"Make it {TYPE_NAMES[TYPES[key]]}"))
        elif key == "network-type" and value not in NETWORK_TYPES:
            log.add(Fault(file, f"network-type is {value!r}", f"Choose one of {', '.join(NETWORK_TYPES)}"))
    if "incidences" not in content:
        problem = f"there is no key 'incidences'; the keys are {', '.join(map(str, content)) or 'none'}"
        log.add(Fault(file, problem, "Add it: a list of {'edge': ..., 'node': ...}"))


def _record_faults(name: str, record: object) -> Iterator[tuple[str, str, str, object]]:
    """Yield the key (with a point), the problem, the remedy and the value of every fault of a record."""
    if not isinstance(record, dict):
        yield "", f" is {_type_name(record)}", "Make it an object", None
        return
    for key in ID_KEYS[name]:
        if key not in record:
            yield f".{key}", f".{key} is missing", "Write a text or an integer", None
        elif not is_id(record[key]):
            yield f".{key}", f".{key} is {_type_name(record[key])}", "Write a text or an integer", None
    for key in record.keys() - ALLOWED_KEYS[name]:
        yield f".{key}", f" has the key {key!r}", "Move it into attrs", record[key]
    weight = record.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not abs(weight) <= LARGEST_FLOAT32:
        yield ".weight", f".weight is {weight!r}", "Write a finite number that fits float32", weight
    attrs = record.get("attrs", {})
    if not isinstance(attrs, dict):
        yield ".attrs", f".attrs is {_type_name(attrs)}", "Make it an object", None
    direction = record.get("direction", "head")
    if direction not in ("head", "tail"):
        yield ".direction", f".direction is {direction!r}", "Write head or tail", direction


def _type_name(value: object) -> str:
    return TYPE_NAMES.get(type(value), type(value).__name__)
