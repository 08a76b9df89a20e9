"""Questions are checked before any work: amounts, data, plans, structures."""

import numpy as np
import pytest
import torch

from sphunc.causal.interventions import Do, Shift
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.grouping import regroup
from sphunc.legacy.query import Amounts, Query, check_plan, check_structure, names_of, usual_structures
from sphunc.legacy.scenario import no_links
from sphunc.legacy.structure import no_structure

CONFIG = SphUncConfig(dim=8)


def test_amounts_take_the_settings_and_leave_draws_for_every_structure(short_data) -> None:
    amounts = Amounts().settled(short_data, CONFIG)
    assert (amounts.origin, amounts.horizon, amounts.samples, amounts.structures) == (3, 1, 100, 20)
    assert Amounts(samples=10).settled(short_data, CONFIG).structures == 2
    assert [usual_structures(samples) for samples in (1, 99, 199, 200, 400, 2000)] == [1, 20, 20, 40, 80, 400]
    assert [usual_structures(samples) for samples in (2, 5, 8, 16, 20, 79)] == [2, 2, 2, 4, 5, 19]
    assert usual_structures(2000, links=10**6) == 20
    assert Amounts(samples=3, structures=9).settled(short_data, CONFIG).structures == 3


def test_amounts_of_numpy_become_those_of_python(short_data) -> None:
    given = {"origin": 2, "horizon": 3, "samples": 8, "structures": 2, "seed": 5}
    amounts = Amounts(**{name: np.int64(value) for name, value in given.items()}).settled(short_data, CONFIG)
    assert vars(amounts) == given
    assert {type(value) for value in vars(amounts).values()} == {int}


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        (Amounts(horizon=1.5), "horizon=1.5 must be a whole number, got float"),
        (Amounts(samples=True), "samples=True must be a whole number"),
        (Amounts(origin="last"), r"origin='last' must be a whole number, got str; choose an index 0 ... \d+ of data.t"),
        (Amounts(seed=None), "seed=None must be a whole number"),
        (Amounts(seed=1.5), "seed=1.5 must be a whole number, got float"),
        (Amounts(origin=True), "origin=True must be a whole number, got bool"),
        (Amounts(structures=np.bool_(True)), "structures=.*True.* must be a whole number, got bool"),
    ],
)
def test_amounts_of_a_wrong_type(amounts, words, short_data) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        amounts.settled(short_data, CONFIG)


def test_seeds_below_zero_are_refused(short_data) -> None:
    with pytest.raises(ArgumentError, match="seed=-1 must be at least 0"):
        Amounts(seed=-1).settled(short_data, CONFIG)


def test_plans_and_structures() -> None:
    assert len(check_plan([Do("a", toward="x") & Do("b", toward="x")], CONFIG)) == 2
    with pytest.raises(ArgumentError, match="Shift needs states on the sphere"):
        check_plan([Shift("a", "x", 0.1)], SphUncConfig(geometry="euclidean"))
    with pytest.raises(ArgumentError, match="scm=False"):
        check_structure("intervene", SphUncConfig(scm=False), no_structure())
    with pytest.raises(
        ArgumentError, match=r"none could be learned \(.* nobody who is seen at two times, nothing that ch"
    ):
        check_structure("intervene", CONFIG, no_structure())


def test_query_rounds_draws_up_and_checks_names(short_data) -> None:
    names = names_of(short_data, short_data.class_names, 8)
    amounts = Amounts(samples=7).settled(short_data, CONFIG)
    plan = check_plan([Do(short_data.node_ids[0], toward=short_data.class_names[0])], CONFIG)
    query = Query(plan, short_data, short_data, amounts, no_links(), names, False)
    query.check()
    assert query.draws == 7
    assert query.action(lambda *_: torch.ones(8)).touched == (0,)


def test_pairs_go_by_the_name_of_their_group(short_data) -> None:
    whole = names_of(short_data, short_data.class_names, 8)
    torn = names_of(regroup(short_data, "pairs"), short_data.class_names, 8, "pairs")
    assert set(torn.groups) <= set(whole.groups)
    assert len(torn.groups) > len(whole.groups)
