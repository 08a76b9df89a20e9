"""One intervention of every kind: what holds of one is tested of all."""

import pytest

from sphunc.interventions import CutGroup, CutLink, Do, Policy, ScaleLink, Shift, Stochastic


def stand_still(step, states):
    return {}


EVERY_KIND = [
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
    Do("a", outcome="calm"),
    Do("a", outcome=5.0, times=[1, 2]),
    Do("a", outcome=(5.0, -1.0)),
]


@pytest.fixture(name="stand_still")
def policy_that_sets_none():
    return stand_still


@pytest.fixture
def every_kind():
    return EVERY_KIND


@pytest.fixture(params=EVERY_KIND, ids=str)
def one(request):
    """Every kind in turn."""
    return request.param
