"""Interventions as values: checked when made, equal when the same, the same after JSON, combined with &."""

from functools import partial

import numpy as np
import pytest
import torch

from sphunc import interventions
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.interventions import CutGroup, CutLink, Do, Plan, Policy, ScaleLink, Shift, Stochastic
from sphunc.interventions.values import flatten


def test_every_kind_prints_and_is_public(one) -> None:
    assert type(one).__name__ in repr(one)
    assert getattr(interventions, type(one).__name__) is type(one)


def test_combine(every_kind) -> None:
    plan = every_kind[1] & every_kind[6] & every_kind[8]
    assert plan == Plan((every_kind[1], every_kind[6], every_kind[8]))
    assert len(plan & Plan((every_kind[3],))) == 4
    assert flatten([plan, every_kind[3]]) == (*plan, every_kind[3])


def test_plans_compare_without_order_and_a_plan_of_one_is_this_one(every_kind) -> None:
    one, two = every_kind[1], every_kind[6]
    assert one & two == two & one
    assert hash(one & two) == hash(two & one)
    assert one & two != one & one & two
    assert one & two != one
    assert one & two != "one & two"
    for same in (Plan((one,)) == one, one == Plan((one,)), hash(Plan((one,))) == hash(one), Plan() == Plan()):
        assert same
    assert Plan((one & two,)) == one & two


@pytest.mark.parametrize("kind", [np.int64, np.array, torch.tensor])
def test_ids_of_numpy_are_those_of_python(kind) -> None:
    made = [
        (Do(kind(20), observed=kind(21)), Do(20, observed=21)),
        (Shift(kind(20), kind(21), 0.3), Shift(20, 21, 0.3)),
        (Stochastic(kind(20), kind(21), 3.0), Stochastic(20, 21, 3.0)),
        (CutLink(kind(20), kind(21)), CutLink(20, 21)),
        (ScaleLink(kind(20), kind(21), 2.0), ScaleLink(20, 21, 2.0)),
        (CutGroup(kind(3)), CutGroup(3)),
    ]
    for numpy, plain in made:
        assert numpy == plain
        assert numpy.to_json() == plain.to_json()
    day = np.datetime64("2024-01-01T00:00:00.000000001")
    assert Do("a", observed=day).observed == day
    assert Do(np.str_("a"), toward=np.str_("calm")).to_json() == Do("a", toward="calm").to_json()


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list, tuple])
def test_directions_come_in_any_kind_and_compare(kind) -> None:
    assert Do("a", kind([0.6, 0.8])) == Do("a", kind([0.6, 0.8]))
    assert Do("a", kind([0.0, 1.0])).direction == (0.0, 1.0)


@pytest.mark.parametrize("kind", [np.float32, np.array, torch.tensor, int])
def test_outcomes_come_in_any_kind_and_compare(kind) -> None:
    assert Do("a", outcome=kind(5)) == Do("a", outcome=5.0)
    assert type(Do("a", outcome=kind(5)).outcome) is float
    assert Do("a", outcome=torch.tensor([1.0, 2.0])) == Do("a", outcome=[1, 2])
    assert Do("a", outcome=np.str_("calm")).to_json() == Do("a", outcome="calm").to_json()


def test_only_an_outcome_sets_an_outcome(one) -> None:
    assert getattr(one, "sets_outcome", False) == (getattr(one, "outcome", None) is not None)


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


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Do("a"), "takes one of direction, toward, observed and outcome; got none"),
        (lambda: Do("a", (0.0, 1.0), toward="x"), "got direction and toward"),
        (lambda: Do("a", (0.0, 2.0)), "length 2, not 1; divide it by its length"),
        (lambda: Do("a", (0.0, float("nan"))), "not finite"),
        (lambda: Do("a", toward="x", outcome="x"), "got toward and outcome"),
        (lambda: Do("a", outcome=float("nan")), "outcome=nan is outside"),
        (lambda: Do("a", outcome="x", times=[0, 1]), "where outcomes were observed; choose times from 1"),
        (lambda: Shift("a", "x", 4.0), r"angle=4 is outside 0 \.\.\. 3\.14159"),
        (lambda: Shift("a", "x", float("nan")), "angle=nan is outside"),
        (lambda: Stochastic("a", "x", 0.0), "kappa=0 is outside"),
        (lambda: Do("a", toward="x", times=-1), "0 .the origin itself. or later"),
        (lambda: Do("a", toward="x", times=[]), "must name steps"),
        (lambda: Stochastic("a", "x", 10**400), "kappa=inf is outside"),
        (lambda: Shift("a", angle=0.1), r"Shift\('a'\) takes one of toward and observed; got neither"),
        (lambda: Stochastic("a", "x", 1.0, observed="b"), r"takes one of mu and observed; got both"),
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
        (lambda: Do("a", outcome=True), "outcome=True must be the name of a class or a number, got bool"),
        (lambda: Do("a", outcome={"x": 1}), "must be the name of a class or a number, got dict"),
        (lambda: Do("a", outcome=("x", 1.0)), "outcome='x' must be the name of a class or a number"),
        (lambda: Policy(3), "takes a function"),
        (
            lambda: Policy(lambda step: {}),
            r"takes a function\(step, states\), but <lambda>\(step\) cannot take these: to",
        ),
        (lambda: Policy(lambda a, b, *, c: {}), r"<lambda>\(a, b, \*, c\) cannot take these: missing a required"),
        (lambda: Shift("a", "x"), "angle=None must be a number"),
        (lambda: Do([1], toward="x"), r"agent=\[1\] must be an id of the data, got list"),
        (lambda: Do("a", observed=[1]), r"observed=\[1\] must be an id of the data, got list"),
        (lambda: Do(True, toward="x"), "agent=True must be an id of the data, got bool"),
        (lambda: Do(np.array([1, 2]), toward="x"), "must be an id of the data, got ndarray"),
        (lambda: Do(torch.ones(2), toward="x"), "must be an id of the data, got Tensor"),
        (lambda: CutLink([1], "a"), r"source=\[1\] must be an id of the data"),
        (lambda: ScaleLink("a", {}, 2.0), r"target=\{\} must be an id of the data, got dict"),
        (lambda: CutGroup(np.bool_(True)), "group=True must be an id of the data"),
        (lambda: Shift([1], "x", 0.1), r"agent=\[1\] must be an id"),
        (lambda: Stochastic({1}, "x", 0.1), r"agent=\{1\} must be an id"),
        (lambda: Shift("a", True, 0.1), "toward must be a vector of numbers, got bool"),
        (lambda: Do("a", toward="x") & 3, "an intervention is one of Do, .*, got int"),
        (lambda: Plan((3,)), "an intervention is one of Do, .*, got int"),
        (lambda: flatten(["a"]), "an intervention is one of Do, .*, got str"),
        (lambda: CutLink(frozenset(), "b").to_json(), "JSON keeps texts, numbers and dates"),
        (lambda: CutLink(("a", frozenset()), "b").to_json(), "JSON keeps texts, numbers and dates"),
    ],
)
def test_wrong_types_are_refused(make, words) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        make()


def test_a_class_is_named_by_text() -> None:
    one = Do("a", toward="x")
    object.__setattr__(one, "toward", 3)  # pytest checks annotations, and would refuse it before users see an error
    with pytest.raises(ArgumentTypeError, match="toward=3 must be the name of a class, got int; an agent or a time"):
        one.__post_init__()


def test_functions_of_any_kind_may_decide() -> None:
    for function in (lambda *both: {}, lambda step, states, more=1: {}, partial(lambda x, s, h: {}, 1), dict, max):
        assert Policy(function).function is function


def test_print_leaves_out_what_was_not_given(stand_still) -> None:
    assert repr(Do("a", toward="calm")) == "Do(agent='a', toward='calm')"
    assert repr(Do("a", [0.0] * 9 + [1.0])) == "Do(agent='a', direction=(0, ... 10 numbers))"
    assert repr(Policy(stand_still)) == "Policy(function=stand_still, name='stand_still')"


def test_long_ids_print_too() -> None:
    assert repr(Do(tuple("abcdefgh"), toward="x")) == "Do(agent=('a', ... 8 parts), toward='x')"
    assert "0, ... 8 numbers)" in repr(Do("a", (0.0,) * 7 + (1.0,)))


def test_a_plan_takes_one_intervention_and_refuses_anything_else_in_words() -> None:
    one = Do("a", toward="x")
    assert Plan(one) == Plan((one,)) == Plan(Plan(one))
    with pytest.raises(ArgumentTypeError, match=r"an intervention is one of Do.*, got int; write Do"):
        Plan(5)
