"""Counterfactual paths: refused where there is no noise to abduct; later times say which noise there was."""

import pytest
import torch

import sphunc
from sphunc.causal.interventions import Plan, Policy, Stochastic
from sphunc.errors import ArgumentError
from sphunc.model.config import SphUncConfig
from sphunc.model.estimator import SphUnc
from sphunc.model.retrospect import check_retrospect

SMALL = {"dim": 10, "layers": 1, "epochs": 2, "patience": 2, "folds": 2, "aleatoric_width": 4, "structure_epochs": 0}


@pytest.mark.parametrize("one", [Stochastic("a", "b", 3.0), Policy(lambda step, states: {})])
def test_what_draws_anew_has_no_counterfactual(one) -> None:
    with pytest.raises(ArgumentError, match=f"a counterfactual under {type(one).__name__} is not defined"):
        check_retrospect(Plan((one,)), SphUncConfig())


def test_the_plane_has_none_either() -> None:
    with pytest.raises(ArgumentError, match="geometry='euclidean'"):
        check_retrospect(Plan(), SphUncConfig(geometry="euclidean"))


def test_seen_outcomes_anchor_the_counterfactual_and_unseen_ones_do_not(short_data) -> None:
    model = SphUnc(**SMALL).fit(short_data, verbose=False)
    do = sphunc.Do(short_data.node_ids[0], toward=short_data.class_names[0])
    cut = sphunc.CutGroup(short_data.hyperedge_ids[int((short_data.hyperedge_time == 1).nonzero()[0])])
    told = model.counterfactual(do, cut, data=short_data, origin=1, horizon=3, samples=16, structures=4)
    assert told.outcomes.shape == (3, short_data.num_nodes, short_data.num_classes)
    seen = told.observed[0]
    assert (told.factual_outcomes[0][seen].max(-1).values == 1).all()
    assert (told.factual_outcomes[2].max(-1).values < 1).all()
    assert told.latent_bounds.isfinite().all()
    again = model.counterfactual(do, cut, data=short_data, origin=1, horizon=3, samples=16, structures=4)
    assert torch.equal(told.outcomes, again.outcomes)
