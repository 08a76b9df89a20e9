"""Interventions read from JSON: every fault of a document is named with the row it is in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.interventions.serialisation import can_serialise, deserialise
from sphunc.interventions.values import KINDS, Intervention, Plan, Policy

LONGEST_ROW = 200
Policies = Mapping[str, Callable[..., Any]]


def from_json(text: str, policies: Policies | None = None) -> Plan:
    """Read what ``to_json`` wrote.

    Args:
        text: the document.
        policies: functions of the policies in it, by name: code does not travel through JSON.

    Example:
        >>> from sphunc.interventions import Do
        >>> from_json(Do("ann", outcome=5.0).to_json()) == Do("ann", outcome=5.0)
        True
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise ArgumentTypeError(f"interventions are read from a text, got {kind}; write it with to_json()")
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"interventions are no JSON: {error}; write them with to_json()") from None
    if not isinstance(rows, list):
        kind = type(rows).__name__
        raise ArgumentError(f"interventions are a JSON list, got {kind}; write them with to_json()")
    return Plan(tuple(_read(row, policies or {}) for row in rows))


def _read(row: Any, policies: Policies) -> Intervention:
    named = row.get("kind") if isinstance(row, dict) else None
    if not isinstance(named, str) or named not in KINDS:
        raise ArgumentError(f"{_short(row)} is no intervention; its kind is one of {', '.join(KINDS)}")
    kind: Any = KINDS[named]
    # A value that was not given is not written either: null counts as absent.
    given = {name: value for name, value in row.items() if name != "kind" and value is not None}
    values = {name: deserialise(value) for name, value in given.items()}
    faults = _faults(kind, values)
    if faults:
        raise ArgumentError(f"{_short(row)} does not fit {named}: {'; '.join(faults)}")
    if kind is Policy:
        values["function"] = _function(values.get("name"), policies)
    try:
        return kind(**values)
    except TypeError as error:
        raise ArgumentError(f"{_short(row)} does not fit {named}: {error}") from None


def _faults(kind: Any, values: Mapping[str, object]) -> list[str]:
    """What is missing, unknown, or an object that is no date."""
    known = [field for field in fields(kind) if field.name != "function"]
    names = [field.name for field in known]
    required = [field.name for field in known if field.default is MISSING]
    missing = [f"{name!r} is missing" for name in required if name not in values]
    unknown = [f"{name!r} is not among {', '.join(names)}" for name in values if name not in names]
    foreign = [name for name in names if not can_serialise(values.get(name))]
    objects = [f"{name!r} must be a text, a number or a list of them" for name in foreign]
    return missing + unknown + objects


def _function(name: object, policies: Policies) -> Callable[..., Any]:
    if not isinstance(name, str) or name not in policies:
        raise ArgumentError(f"the policy {name!r} has no function; give policies={{name: function}}")
    return policies[name]


def _short(row: object) -> str:
    shown = repr(row)
    if len(shown) <= LONGEST_ROW:
        return shown
    return f"{shown[:LONGEST_ROW]} ..."
