"""Interventions as values: checked when made, equal when the same, the same after JSON, combined with &."""

from inspect import unwrap

import numpy as np
import pytest
import torch

import sphunc
from sphunc.causal.interventions import (
    CutGroup,
    CutLink,
    Do,
    Plan,
    Policy,
    ScaleLink,
    Shift,
    Stochastic,
    flatten,
    from_json,
)
from sphunc.errors import ArgumentError, ArgumentTypeError


def stand_still(step, states):
    return {}


ALL = [
    Do("a", (0.0, 1.0)),
    Do("a", toward="calm"),
    Do("a", observed="b", times=0),
    Shift("a", "calm", 0.5, times=[2, 1]),
    Shift("a", (1.0, 0.0), 0.5),
    Stochastic(3, "b", 40.0),
    CutLink("a", "b"),
    ScaleLink("a", "b", 2.0, times=1),
    CutGroup("g"),
    Policy(stand_still),
]


@pytest.mark.parametrize("one", ALL, ids=str)
def test_round_trip_through_json(one) -> None:
    assert tuple(from_json(one.to_json(), {"stand_still": stand_still})) == (one,)
    assert type(one).__name__ in repr(one)
    assert getattr(sphunc, type(one).__name__) is type(one)


def test_combine() -> None:
    plan = ALL[1] & ALL[6] & ALL[8]
    assert plan == Plan((ALL[1], ALL[6], ALL[8]))
    assert len(plan & Plan((ALL[3],))) == 4
    assert from_json(plan.to_json()) == plan
    assert flatten([plan, ALL[3]]) == (*plan, ALL[3])


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list, tuple])
def test_directions_come_in_any_kind_and_compare(kind) -> None:
    assert Do("a", kind([0.6, 0.8])) == Do("a", kind([0.6, 0.8]))
    assert Do("a", kind([0.0, 1.0])).direction == (0.0, 1.0)


def test_times() -> None:
    assert Do("a", toward="x").acts_at(7)
    assert Shift("a", "x", 0.1, times=[3, 1, 3]).times == (1, 3)
    once = Do("a", toward="x", times=0)
    assert once.acts_at(0)
    assert not once.acts_at(1)
    assert once.overlaps(Do("b", toward="x"))
    assert not once.overlaps(Do("b", toward="x", times=1))


@pytest.mark.parametrize("times", [np.int64(2), [np.int64(2)], np.array([2, 2]), np.array(2), torch.tensor([2]), {2}])
def test_times_come_in_any_kind_and_are_kept_as_plain_numbers(times) -> None:
    kept = CutGroup("g", times=times)
    assert kept == CutGroup("g", times=2)
    assert type(kept.times[0]) is int
    assert tuple(from_json(kept.to_json())) == (kept,)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Do("a"), "takes one of direction, toward and observed; got none"),
        (lambda: Do("a", (0.0, 1.0), toward="x"), "got direction and toward"),
        (lambda: Do("a", (0.0, 2.0)), "length 2, not 1; divide it by its length"),
        (lambda: Do("a", (0.0, float("nan"))), "not finite"),
        (lambda: Shift("a", "x", 4.0), r"angle=4 is outside 0 \.\.\. 3\.14159"),
        (lambda: Shift("a", "x", float("nan")), "angle=nan is outside"),
        (lambda: Stochastic("a", "x", 0.0), "kappa=0 is outside"),
        (lambda: Do("a", toward="x", times=-1), "0 .the origin itself. or later"),
        (lambda: Do("a", toward="x", times=[]), "must name steps"),
        (lambda: from_json("{"), "are no JSON"),
        (lambda: from_json("{}"), "a JSON list, got dict"),
        (lambda: from_json('[{"kind": "Eval"}]'), "is no intervention; its kind is one of Do"),
        (lambda: from_json('[{"kind": "CutGroup", "size": 3}]'), "does not fit CutGroup"),
        (lambda: from_json(Policy(stand_still).to_json()), "has no function; give policies"),
        (lambda: Stochastic("a", "x", 10**400), "kappa=inf is outside"),
    ],
)
def test_bad_values_are_refused(make, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Do("a", 3), "direction must be a vector of numbers, got int"),
        (lambda: Shift("a", "x", "wide"), "angle='wide' must be a number"),
        (lambda: Do("a", toward="x", times="now"), "must be a step after the origin"),
        (lambda: Do("a", toward="x", times=1.5), "must be a step after the origin"),
        (lambda: Do("a", toward="x", times=True), "must be a step after the origin"),
        (lambda: Do("a", toward="x", times=np.array([True])), "must be a step after the origin"),
        (lambda: Do("a", "01"), "direction must be a vector of numbers, got str"),
        (lambda: Do("a", {"1": 0}), "direction must be a vector of numbers, got dict"),
        (lambda: Shift("a", "x", [1.0, 2.0]), r"angle=\[1.0, 2.0\] must be a number, got list"),
        (lambda: Policy(3), "takes a function"),
        (lambda: flatten(["a"]), "an intervention is one of Do, .*, got str"),
        (lambda: CutLink(frozenset(), "b").to_json(), "JSON keeps texts and numbers"),
        (lambda: CutLink(("a", frozenset()), "b").to_json(), "JSON keeps texts and numbers"),
        (lambda: unwrap(from_json)(None), r"read from a text, got NoneType; write it with to_json\(\)"),
    ],
)
def test_wrong_types_are_refused(make, words) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        make()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "are no JSON"),
        ("[" * 100_000, "are no JSON"),
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
        ('[{"kind": "Shift", "agent": "a", "toward": "calm"}]', "does not fit Shift: 'angle' is missing"),
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
def test_foreign_json_is_refused(text, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        from_json(text, {"p": stand_still})


def test_a_class_is_named_by_text() -> None:
    one = Do("a", toward="x")
    object.__setattr__(one, "toward", 3)  # pytest checks annotations, and would refuse it before users see an error
    with pytest.raises(ArgumentTypeError, match="toward=3 must be the name of a class, got int; an agent or a time"):
        one.__post_init__()


def test_print_leaves_out_what_was_not_given() -> None:
    assert repr(Do("a", toward="calm")) == "Do(agent='a', toward='calm')"
    assert repr(Do("a", [0.0] * 9 + [1.0])) == "Do(agent='a', direction=(0, ... 10 numbers))"
    assert repr(Policy(stand_still)) == "Policy(function=stand_still, name='stand_still')"
