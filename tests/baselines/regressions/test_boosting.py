"""Boosting: a tree by hand, and the trees of scikit-learn."""

import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from sphunc.baselines import forecaster, load_forecaster
from sphunc.baselines.regressions.boosting import BoostingSettings, grow


def test_a_stump_by_hand() -> None:
    # Four of each class, apart at x = 0. Log-odds start at 0, so that gradients are -1/2 or 1/2 and every Hessian is
    # 1/4: a leaf of four rows has -4 (1/2) / (4 / 4 + 1) = -1 or 1, times the rate of 0.1.
    rows = torch.tensor([[-1.0]] * 4 + [[1.0]] * 4)
    labels = torch.tensor([0] * 4 + [1] * 4)
    settings = BoostingSettings(rounds=1, learning_rate=0.1, leaves=2, leaf_rows=1, l2=1.0)
    trees = grow(rows, labels, 3, settings, seed=0)
    p = trees.predict(torch.tensor([[-5.0], [5.0]])).probabilities
    # The class that never occurs keeps 1 / (8 + 3).
    logistic = torch.sigmoid(torch.tensor([-0.1, 0.1])) * 10 / 11
    assert p[:, 1].tolist() == pytest.approx(logistic.tolist(), abs=1e-6)
    assert p[:, 2].tolist() == pytest.approx([1 / 11] * 2, abs=1e-6)


def test_trees_are_those_of_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(200, 5, generator=generator)
    labels = torch.bucketize(rows[:, 0] + rows[:, 1] * rows[:, 2], torch.tensor([-0.5, 0.5]))
    settings = BoostingSettings(rounds=12, leaves=6)
    trees = grow(rows, labels, 3, settings, seed=1)
    peer = HistGradientBoostingClassifier(
        max_iter=12, learning_rate=0.07, max_leaf_nodes=6, l2_regularization=5.0, early_stopping=False, random_state=1
    ).fit(rows.numpy(), labels.numpy())
    smoothed = (labels.bincount() + 1.0).sum() / (len(labels) + 3)
    wanted = torch.from_numpy(peer.predict_proba(rows.numpy())).float() * smoothed
    assert torch.allclose(trees.predict(rows).probabilities, wanted, atol=1e-6)


def test_one_class_in_training_gives_smoothed_frequencies() -> None:
    trees = grow(torch.randn(8, 2), torch.zeros(8, dtype=torch.long), 2, BoostingSettings(), seed=0)
    assert trees.predict(torch.randn(3, 2)).probabilities[:, 0].tolist() == pytest.approx([0.9] * 3)


def test_rounds_stop_where_held_out_nll_is_lowest(data, split) -> None:
    model = forecaster("boosting", rounds=40, learning_rate=0.3).fit(data, split)
    assert 0 < model.rounds_ < 40
    assert len(model.trees_.root) == model.rounds_
    short = forecaster("boosting", rounds=40, learning_rate=0.3, refit=False).fit(data, split)
    assert short.validation_ == model.validation_
    assert not torch.equal(short.predict(data).probabilities, model.predict(data).probabilities)


def test_agents_are_held_out_where_times_are_few(data, tmp_path) -> None:
    model = forecaster("boosting", rounds=10).fit(data.window(0, 4))
    model.save(tmp_path)
    assert torch.equal(load_forecaster(tmp_path).predict(data).probabilities, model.predict(data).probabilities)
