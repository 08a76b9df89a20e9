"""Interventions read from JSON: every fault of a document is named with the row it is in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from sphunc.causal.interventions import KINDS, Intervention, Plan, Policy
from sphunc.causal.plain import is_plain, read_back
from sphunc.errors import ArgumentError, ArgumentTypeError

LONGEST_ROW = 200


def from_json(text: str, policies: Mapping[str, Callable[..., Any]] | None = None) -> Plan:
    """Read what ``to_json`` wrote.

    Args:
        text: the document.
        policies: functions of the policies in it, by name: code does not travel through JSON.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"interventions are read from a text, got {type(text).__name__}; write it with to_json()"
        )
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"interventions are no JSON: {error}; write them with to_json()") from None
    if not isinstance(rows, list):
        raise ArgumentError(f"interventions are a JSON list, got {type(rows).__name__}; write them with to_json()")
    return Plan(tuple(_read(row, policies or {}) for row in rows))


def _read(row: Any, policies: Mapping[str, Callable[..., Any]]) -> Intervention:
    named = row.get("kind") if isinstance(row, dict) else None
    if not isinstance(named, str) or named not in KINDS:
        raise ArgumentError(f"{_row(row)} is no intervention; its kind is one of {', '.join(KINDS)}")
    kind: Any = KINDS[named]
    # A value that was not given is not written either: null counts as absent.
    values = {name: read_back(value) for name, value in row.items() if name != "kind" and value is not None}
    faults = _faults(kind, values)
    if faults:
        raise ArgumentError(f"{_row(row)} does not fit {named}: {'; '.join(faults)}")
    if kind is Policy:
        values["function"] = _function(values.get("name"), policies)
    try:
        return kind(**values)
    except TypeError as error:
        raise ArgumentError(f"{_row(row)} does not fit {named}: {error}") from None


def _faults(kind: Any, values: Mapping[str, Any]) -> list[str]:
    """What is missing, unknown, or an object that is no date."""
    known = [f for f in fields(kind) if f.name != "function"]
    names = [f.name for f in known]
    missing = [f"{f.name!r} is missing" for f in known if f.default is MISSING and f.name not in values]
    foreign = [f"{name!r} is not among {', '.join(names)}" for name in values if name not in names]
    objects = [
        f"{name!r} must be a text, a number or a list of them" for name in names if not is_plain(values.get(name))
    ]
    return missing + foreign + objects


def _function(name: Any, policies: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    if name not in policies:
        raise ArgumentError(f"the policy {name!r} has no function; give policies={{name: function}}")
    return policies[name]


def _row(row: Any) -> str:
    shown = repr(row)
    return shown if len(shown) <= LONGEST_ROW else f"{shown[:LONGEST_ROW]} ..."
