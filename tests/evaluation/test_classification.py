"""Class scores against scikit-learn, hand-computed numbers and their own identities."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss, roc_auc_score

from sphunc.errors import ArgumentError
from sphunc.evaluation import accuracy, brier, brier_parts, macro_auc, macro_f1, nll


@pytest.fixture
def forecast():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4) * 0.8, size=600)
    y = np.array([rng.choice(4, p=row) for row in p])
    return p, y


def test_scores_equal_those_of_scikit_learn(forecast):
    p, y = forecast
    assert accuracy(p, y) == pytest.approx(accuracy_score(y, p.argmax(1)), rel=1e-14)
    assert macro_f1(p, y) == pytest.approx(f1_score(y, p.argmax(1), average="macro"), rel=1e-14)
    assert nll(p, y) == pytest.approx(log_loss(y, p), rel=1e-12)
    assert brier(p, y) == pytest.approx(brier_score_loss(y, p, scale_by_half=False, labels=range(4)), rel=1e-12)
    assert macro_auc(p, y).value == pytest.approx(roc_auc_score(y, p, multi_class="ovr", average="macro"), rel=1e-12)


def test_by_hand():
    p, y = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.5, 0.3]], [0, 1, 2]
    assert accuracy(p, y) == pytest.approx(2 / 3)
    assert macro_f1(p, y) == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert nll(p, y) == pytest.approx(-np.log(0.5 * 0.6 * 0.3) / 3)
    assert brier(p, y) == pytest.approx((0.38 + 0.26 + 0.78) / 3)
    # class 0: 0.5 above 0.1 and 0.2; class 1: 0.6 above 0.3 and 0.5; class 2: 0.3 above 0.2 and level with 0.3
    assert macro_auc(p, y).per_class == ((0, 1.0), (1, 1.0), (2, 0.75))


def test_a_class_without_labels_is_left_out_of_the_auc_and_named(forecast):
    p, y = forecast
    rows = y != 2
    found = macro_auc(p, y, mask=rows)
    by_hand = np.mean([roc_auc_score(y[rows] == c, p[rows, c]) for c in (0, 1, 3)])
    assert found.absent == (2,)
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    assert "classes 2 absent" in str(found)
    assert "absent" not in str(macro_auc(p, y))


def test_one_class_alone_has_no_auc():
    with pytest.raises(ArgumentError, match="labels: only class 1 occurs"):
        macro_auc([[0.5, 0.5], [0.2, 0.8]], [1, 1])


def test_an_impossible_label_costs_infinitely_much_unless_forgiven():
    p, y = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([1, 1])
    assert nll(p, y) == np.inf
    assert nll(p, y, least=1e-12) == pytest.approx(-(np.log(1e-12) + np.log(0.5)) / 2)
    with pytest.raises(ArgumentError, match="least=2 is outside 0"):
        nll(p, y, least=2.0)


@pytest.mark.parametrize("bins", [1, 7, 15, 1000])
def test_the_parts_add_up_to_the_score(forecast, bins):
    assert brier_parts(*forecast, bins=bins).score == pytest.approx(brier(*forecast), abs=1e-12)


def test_the_parts_by_hand():
    # forecasts 0.8 (five rows, four hits) and 0.4 (five rows, one hit); base rate 1/2; two classes double it all
    p = np.repeat([[0.8, 0.2], [0.4, 0.6]], 5, axis=0)
    parts = brier_parts(p, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    assert parts.reliability == pytest.approx(2 * 0.5 * 0.2**2)
    assert parts.resolution == pytest.approx(2 * 0.3**2)
    assert parts.uncertainty == pytest.approx(2 * 0.25)
    assert parts.within == pytest.approx(0.0, abs=1e-15)


def test_a_perfect_and_a_constant_forecaster():
    y = np.array([0, 1, 2, 0])
    perfect = brier_parts(np.eye(3)[y], y)
    assert perfect.reliability == 0.0
    assert perfect.resolution == pytest.approx(perfect.uncertainty)
    constant = brier_parts(np.tile([0.5, 0.25, 0.25], (4, 1)), y)
    assert constant.reliability == constant.resolution == 0.0


def test_bins_below_one_are_refused(forecast):
    with pytest.raises(ArgumentError, match="bins=0 must be at least 1"):
        brier_parts(*forecast, bins=0)
