"""What if: questions from flags or from a JSON file, with the ids that the data have."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphunc._checks import did_you_mean, some_names
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions import CutGroup, CutLink, Do, Plan, from_json

KEYS = ("name", "do", "outcome", "cut_link", "cut_group", "interventions", "horizon")
EXAMPLE = '[{"name": "calm ann", "do": {"ann": "calm"}, "horizon": 3}]'


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        name: a title; also that of its files.
        plan: the interventions.
        horizon: steps; None takes that of the command.
    """

    name: str
    plan: Plan
    horizon: int | None = None


def question_of_flags(
    data: TemporalHypergraph,
    *,
    do: Sequence[str],
    outcome: Sequence[str],
    cut_link: Sequence[str],
    cut_group: Sequence[str],
) -> Question | None:
    """Return the question that the flags ask together; None where there are none.

    Args:
        data: has the ids and the classes.
        do: "agent=class": the agent's state takes the direction of the class.
        outcome: "agent=class" or "agent=number": the outcome is held there.
        cut_link: "source:target".
        cut_group: ids of groups.
    """
    agents = _by_text(data.node_ids)
    parts: list[Any] = []
    for text in do:
        agent, name = _split(text, "=", agents, "--do", "agent=class")
        parts.append(Do(agent, toward=_class_name(name, data, "--do")))
    for text in outcome:
        agent, value = _split(text, "=", agents, "--do-outcome", "agent=class or agent=number")
        parts.append(Do(agent, outcome=_outcome(value, data)))
    for text in cut_link:
        source, target = _split(text, ":", agents, "--cut-link", "source:target")
        parts.append(CutLink(source, _known(target, agents, "--cut-link", "agent")))
    groups = _by_text(data.hyperedge_ids)
    parts.extend(CutGroup(_known(text, groups, "--cut-group", "group")) for text in cut_group)
    if not parts:
        return None
    held = [f"outcome {text}" for text in outcome]
    without = [f"without {text}" for text in (*cut_link, *cut_group)]
    words = [*do, *held, *without]
    return Question(", ".join(words), Plan(tuple(parts)))


def questions_of_file(path: Path, data: TemporalHypergraph) -> list[Question]:
    """Return the questions of a JSON file.

    Args:
        path: a list of objects with "name", "do" and "outcome" (agent to class), "cut_link" (pairs), "cut_group",
            "interventions" (as ``Plan.to_json`` writes them), "horizon".
        data: has the ids and the classes.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"--questions {path} cannot be read: {error}") from None
    if isinstance(document, Mapping):
        document = document.get("questions", [document])
    if not isinstance(document, list) or not document:
        raise ArgumentError(f"--questions {path} is no list of questions; write for instance {EXAMPLE}")
    return [_question(entry, place, path, data) for place, entry in enumerate(document, start=1)]


def _question(entry: object, place: int, path: Path, data: TemporalHypergraph) -> Question:
    where = f"--questions {path}, question {place}"
    if not isinstance(entry, Mapping):
        raise ArgumentError(f"{where} is {entry!r}; write an object, for instance {EXAMPLE[1:-1]}")
    for key in entry:
        if key not in KEYS:
            raise ArgumentError(f"{where}: {key!r} is not a key{did_you_mean(key, KEYS)}; allowed: {', '.join(KEYS)}")
    for key in ("do", "outcome"):
        if not isinstance(entry.get(key, {}), Mapping):
            raise ArgumentError(f"{where}: {key} is {entry[key]!r}; write an object from agent to class")
    for key in ("cut_link", "cut_group", "interventions"):
        if not isinstance(entry.get(key, []), list):
            raise ArgumentError(f"{where}: {key} is {entry[key]!r}; write a list")
    horizon = entry.get("horizon")
    if horizon is not None and (not isinstance(horizon, int) or isinstance(horizon, bool) or horizon < 1):
        raise ArgumentError(f"{where}: horizon is {horizon!r}; write a whole number of at least 1")
    links = [":".join(map(str, pair)) if isinstance(pair, list) else str(pair) for pair in entry.get("cut_link", [])]
    try:
        asked = question_of_flags(
            data,
            do=[f"{agent}={value}" for agent, value in entry.get("do", {}).items()],
            outcome=[f"{agent}={value}" for agent, value in entry.get("outcome", {}).items()],
            cut_link=links,
            cut_group=[str(group) for group in entry.get("cut_group", [])],
        )
        documents = from_json(json.dumps(entry.get("interventions", [])))
    except ArgumentError as error:
        raise ArgumentError(f"{where}: {error}") from None
    plan = Plan((*(asked.plan if asked else ()), *documents))
    if not len(plan):
        raise ArgumentError(f"{where} changes nothing; give do, outcome, cut_link, cut_group or interventions")
    name = entry.get("name") or (asked.name if asked else f"question {place}")
    return Question(str(name), plan, horizon)


def _split(text: str, sign: str, agents: Mapping[str, Hashable], flag: str, form: str) -> tuple[Hashable, str]:
    """Split at the sign after which the part before is an agent; ids may hold the sign too."""
    parts = text.split(sign)
    if len(parts) < 2:
        raise ArgumentError(f"{flag} {text!r} must read {form}, for instance {flag} {next(iter(agents))}{sign}...")
    for count in range(1, len(parts)):
        name = sign.join(parts[:count])
        if name in agents:
            return agents[name], sign.join(parts[count:])
    return _known(parts[0], agents, flag, "agent"), ""


def _known(text: str, known: Mapping[str, Hashable], flag: str, what: str) -> Hashable:
    if text in known:
        return known[text]
    names = list(known)
    raise ArgumentError(f"{flag}: there is no {what} {text!r}{did_you_mean(text, names)}; {what}s: {some_names(names)}")


def _class_name(text: str, data: TemporalHypergraph, flag: str) -> str:
    if not data.class_names:
        raise ArgumentError(f"{flag} takes a class, but outcomes are numbers; hold one with --do-outcome agent=number")
    if text not in data.class_names:
        hint = did_you_mean(text, data.class_names)
        raise ArgumentError(f"{flag}: there is no class {text!r}{hint}; classes: {some_names(data.class_names)}")
    return text


def _outcome(text: str, data: TemporalHypergraph) -> str | float | tuple[float, ...]:
    if data.class_names:
        return _class_name(text, data, "--do-outcome")
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentError(f"--do-outcome: {text!r} is not a number, which the outcomes are") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _by_text(ids: Sequence[Hashable]) -> dict[str, Hashable]:
    return {str(one): one for one in ids}
