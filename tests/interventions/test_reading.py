"""Interventions are the same after JSON; what JSON does not keep, and foreign documents, are refused."""

from datetime import date, datetime
from inspect import unwrap

import pytest

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.interventions import Do, Policy, from_json


def test_round_trip(one, stand_still) -> None:
    read = from_json(one.to_json(), {"stand_still": stand_still})
    assert read == one
    assert tuple(read) == (one,)


def test_round_trip_of_a_plan(every_kind) -> None:
    plan = every_kind[1] & every_kind[6] & every_kind[8]
    assert from_json(plan.to_json()) == plan


@pytest.mark.parametrize("time", [date(2026, 2, 28), datetime(2026, 2, 28, 12, 30)])
def test_dates_are_times_of_data_and_travel_too(time) -> None:
    assert from_json(Do("a", observed=time).to_json()) == Do("a", observed=time)
    (read,) = from_json(Do(("a", time), toward="calm").to_json())
    assert read.agent == ("a", time)


def test_a_policy_needs_its_function_and_a_document_is_a_text(stand_still) -> None:
    with pytest.raises(ArgumentError, match="has no function; give policies"):
        from_json(Policy(stand_still).to_json())
    with pytest.raises(ArgumentTypeError, match=r"read from a text, got NoneType; write it with to_json\(\)"):
        unwrap(from_json)(None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "are no JSON"),
        ("[" * 100_000, "are no JSON"),
        ("{", "are no JSON"),
        ("{}", "a JSON list, got dict"),
        ('[{"kind": "Eval"}]', "is no intervention; its kind is one of Do"),
        ("null", "a JSON list, got NoneType"),
        ('"Do"', "a JSON list, got str"),
        ("[null]", "None is no intervention; its kind is one of Do"),
        ('["Do"]', "'Do' is no intervention"),
        ("[{}]", "{} is no intervention"),
        ('[{"kind": null}]', "is no intervention"),
        ('[{"kind": ["Do"]}]', "is no intervention"),
        ('[{"kind": {"Do": 1}}]', "is no intervention"),
        ('[{"kind": "Do", "toward": "calm"}]', "does not fit Do: 'agent' is missing"),
        ('[{"kind": "Do", "agent": null, "toward": "calm"}]', "does not fit Do: 'agent' is missing"),
        ('[{"kind": "Do", "agent": {"id": 1}, "toward": "calm"}]', "'agent' must be a text, a number or a list of"),
        ('[{"kind": "Do", "agent": [[{}]], "toward": "calm"}]', "'agent' must be a text, a number or a list of"),
        ('[{"kind": "Do", "agent": "a", "toward": 3}]', "does not fit Do"),
        ('[{"kind": "Do", "agent": "a", "direction": "north"}]', "direction must be a vector of numbers, got str"),
        ('[{"kind": "Do", "agent": "a", "direction": ["x", "y"]}]', "direction must be a vector of numbers"),
        ('[{"kind": "Do", "agent": "a", "toward": "calm", "times": "now"}]', "must be a step after the origin"),
        ('[{"kind": "Do", "agent": "a", "toward": "calm", "times": [1.5]}]', "must be a step after the origin"),
        ('[{"kind": "Do", "agent": "a", "outcome": true}]', "outcome=True must be the name of a class or a number"),
        ('[{"kind": "Shift", "agent": "a", "toward": "calm"}]', "does not fit Shift: angle=None must be a number"),
        ('[{"kind": "Shift", "agent": "a", "toward": "calm", "angle": "wide"}]', "angle='wide' must be a number"),
        ('[{"kind": "Shift", "agent": "a", "toward": "calm", "angle": true}]', "angle=True must be a number"),
        ('[{"kind": "ScaleLink", "source": "a", "target": "b", "factor": [2]}]', "must be a number, got tuple"),
        ('[{"kind": "CutLink", "source": "a"}]', "does not fit CutLink: 'target' is missing"),
        ('[{"kind": "CutGroup", "size": 3}]', "'group' is missing; 'size' is not among group, times"),
        ('[{"kind": "Policy"}]', "the policy None has no function"),
        ('[{"kind": "Policy", "name": {}}]', "'name' must be a text"),
        ('[{"kind": "Policy", "name": "p", "function": "eval"}]', "'function' is not among name, times"),
    ],
)
def test_foreign_json_is_refused(text, words, stand_still) -> None:
    with pytest.raises(ArgumentError, match=words):
        from_json(text, {"p": stand_still})
