"""Counterfactual paths: refused where there is no noise to abduct; later times say which noise there was."""

import math
from dataclasses import replace

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


def test_counterfactual_numbers_do_not_hang_on_their_unit(short_data) -> None:
    y = torch.where(short_data.y_mask.unsqueeze(-1), short_data.y.unsqueeze(-1) + short_data.x[..., :1], 0.0)
    plain = replace(short_data, y=y, class_names=())
    told, unit = [], 2.0**-90
    for data in (plain, replace(plain, y=unit * y)):
        model = SphUnc(**SMALL).fit(data, verbose=False)
        do = sphunc.Do(data.node_ids[0], observed=data.node_ids[1])
        told.append(model.counterfactual(do, data=data, origin=1, horizon=2, samples=16, structures=4))
    one, other = told
    # The variance of a forecast hangs on its unit by rounding, and draws are weighed by it.
    torch.testing.assert_close(unit * one.outcomes, other.outcomes, rtol=1e-3, atol=0.0)
    torch.testing.assert_close(unit * one.effect_errors, other.effect_errors, rtol=1e-2, atol=0, equal_nan=True)
    torch.testing.assert_close(unit**2 * one.variances, other.variances, rtol=1e-3, atol=0.0)
    torch.testing.assert_close(one.entropies + math.log(unit), other.entropies, rtol=0.0, atol=1e-3)
    assert torch.equal(other.withins + other.identifications, other.entropies)
