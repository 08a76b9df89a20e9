"""What was seen after an origin: evidence without the outcomes, forecasts time by time, groups of every transition."""

from dataclasses import replace

import pytest
import torch

from sphunc.causal.action import Action
from sphunc.causal.interventions import CutGroup, Plan
from sphunc.errors import ArgumentError
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.hindsight import is_blank, look_back, meetings_of, names_in_hindsight
from sphunc.legacy.query import Amounts, names_of
from sphunc.legacy.situation import groups_at, memberships

SMALL = {"dim": 10, "layers": 1, "epochs": 2, "patience": 2, "folds": 2, "aleatoric_width": 4, "structure_epochs": 0}
AMOUNTS = Amounts(origin=1, horizon=4, samples=8, structures=2, seed=0)


@pytest.fixture(scope="module")
def model(short_data):
    return SphUnc(**SMALL).fit(short_data, verbose=False)


def back(model, data):
    query = model._query("counterfactual", (), data, AMOUNTS, None)
    return look_back(model.network_, model.temperature_, query)


def test_looks_are_evidence_without_outcomes(model, short_data) -> None:
    mute = replace(short_data, y_mask=torch.zeros_like(short_data.y_mask), y=torch.zeros_like(short_data.y))
    plain, silent = back(model, short_data), back(model, mute)
    assert torch.allclose(plain.looks, silent.evidence, atol=1e-4)
    told = plain.sights[0].is_told
    assert (plain.evidence[0] != plain.looks[0]).any(-1)[told].all()
    assert torch.allclose(plain.evidence[0][~told], plain.looks[0][~told], atol=1e-4)
    assert not plain.looks[2:].any()
    assert not plain.sights[2].is_told.any()


def test_every_step_is_read_as_the_forecast_from_the_time_before(model, short_data) -> None:
    found = back(model, short_data)
    for step, time in enumerate((1, 2, 3)):
        wanted = model.predict(short_data, origin=time).probabilities
        torch.testing.assert_close(found.readings[step].target, wanted, rtol=0.0, atol=1e-6)
    ahead = model.intervene(data=short_data, origin=3, horizon=2, samples=1).factual_outcomes
    torch.testing.assert_close(found.readings[3].target, ahead[1], rtol=0.0, atol=1e-6)
    assert torch.equal(found.priors[2], found.priors[3])


def test_groups_are_those_of_every_time_that_was_seen(short_data) -> None:
    meetings = meetings_of(short_data, 1, 4)
    for step, time in enumerate((1, 2, 3, 3)):
        assert meetings.names[step] == groups_at(short_data, time)
        for one, other in zip(meetings.members[step], memberships(short_data, time), strict=True):
            assert torch.equal(one, other)
    counts = [len(groups_at(short_data, time)) for time in (1, 2, 3)]
    assert meetings.first == (0, counts[0], counts[0] + counts[1], counts[0] + counts[1])
    cut = Action(cut=((counts[0] + 1, CutGroup("g", times=[1])),))
    assert [meetings.cut(cut, step) for step in range(4)] == [(), (1,), (), ()]


def test_a_group_is_named_when_it_meets(short_data) -> None:
    later = next(g for g in groups_at(short_data, 3) if g not in groups_at(short_data, 1) + groups_at(short_data, 2))
    names = names_of(short_data.until_index(1), short_data.class_names, 10)
    found = names_in_hindsight(names, Plan((CutGroup(later, times=2),)), short_data, AMOUNTS, "hyperedges")
    assert later in found.groups
    assert later not in names.groups
    with pytest.raises(ArgumentError, match=r"cuts the group when it does not meet; choose times among \[2, 3\]"):
        names_in_hindsight(names, Plan((CutGroup(later, times=0),)), short_data, AMOUNTS, "hyperedges")


def test_nothing_seen_is_blank(short_data) -> None:
    assert is_blank(short_data, 3)
    assert not is_blank(short_data, 2)
    mute = replace(short_data, y_mask=torch.zeros_like(short_data.y_mask), y=torch.zeros_like(short_data.y))
    assert not is_blank(mute, 2)
