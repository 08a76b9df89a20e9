"""Responses of each part of the uncertainty to data, distance and noise."""

from types import SimpleNamespace

import polars as pl
import pytest
import torch

import sphunc
from sphunc.baselines import forecaster
from sphunc.errors import ArgumentError
from sphunc.evaluation.disentanglement import (
    QUICK_LEVELS,
    disentanglement,
    hide_cells,
    move_features,
    redraw_outcomes,
    responses,
    wrong_share,
)


@pytest.fixture(scope="module")
def data():
    return sphunc.simulate("snare", agents=40, times=9, seed=0, features=4).data


def generator():
    return torch.Generator().manual_seed(0)


class Perfect:
    """Epistemic is the share of hidden cells plus the size of the features; aleatoric the agreement of outcomes."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, data, split=None, *, verbose=None):
        return self

    def predict(self, data, origin=None, *, origin_index=None):
        N = data.num_nodes
        hidden = 1.0 - data.y_mask[:origin_index].double().mean()
        far = data.x[origin_index].double().square().mean()
        repeated = (data.y[1:] == data.y[:-1])[data.y_mask[1:] & data.y_mask[:-1]].double().mean()
        p = torch.full((N, data.num_classes), 1.0 / data.num_classes)
        return SimpleNamespace(
            epistemic=(hidden + far).expand(N), aleatoric=(1.0 - repeated).expand(N), probabilities=p
        )


def test_each_cause_changes_what_it_says(data) -> None:
    origin = 6
    fewer = hide_cells(data, origin, 0.75, generator())
    kept = fewer.y_mask[:origin].sum() / data.y_mask[:origin].sum()
    assert 0.15 < float(kept) < 0.35
    assert torch.equal(fewer.x[origin:], data.x[origin:])
    assert not fewer.x[~fewer.x_mask].any()
    far = move_features(data, origin, 2.0, generator())
    for feature in range(data.num_features):
        deviation = data.x[: origin + 1, :, feature][data.x_mask[: origin + 1, :, feature]].std(correction=0)
        moved = (far.x[origin] - data.x[origin])[data.x_mask[origin, :, feature], feature]
        assert torch.allclose(moved.abs(), 2.0 * deviation, rtol=1e-3)
    assert torch.equal(far.x[:origin], data.x[:origin])
    noisy = redraw_outcomes(data, origin, 0.3, generator())
    changed = (noisy.y != data.y)[data.y_mask].double().mean()
    assert float(changed) == pytest.approx(0.3 * 2 / 3, abs=0.05)  # a third of the draws repeats the outcome


def test_wrong_share_by_hand() -> None:
    changes = torch.tensor([3.0, 1.0, -0.5])  # data, distance, noise
    assert wrong_share(changes, "epistemic") == pytest.approx(0.5 / (0.5 + 2.0))
    assert wrong_share(changes, "aleatoric") == pytest.approx(1.0)  # a fall with noise is no right answer
    assert wrong_share(torch.zeros(3), "epistemic") is None


def test_a_system_whose_parts_answer_to_their_causes_alone(data) -> None:
    found = responses(data, {"perfect": Perfect}, levels=QUICK_LEVELS, seeds=(0, 1))
    assert found.height == 2 * 3 * 2
    assert found["nll"].to_list() == pytest.approx([torch.log(torch.tensor(3.0)).item()] * 12, abs=1e-6)
    table = disentanglement(found)
    epistemic, aleatoric = table.rows(named=True)
    assert (epistemic["part"], aleatoric["part"]) == ("epistemic", "aleatoric")
    assert epistemic["noise"] == 0.0
    assert epistemic["data"] == pytest.approx(0.75, abs=0.05)
    assert epistemic["wrong_share"] == 0.0
    assert epistemic["wrong_share_error"] == 0.0
    assert aleatoric["wrong_share"] < 0.3


def test_a_cause_that_was_not_measured_counts_nothing(data) -> None:
    found = responses(data, {"perfect": Perfect}, levels={"noise": (0.0, 0.4)})
    table = disentanglement(found)
    assert table["data"].to_list() == [0.0, 0.0]
    assert table["wrong_share_error"].to_list() == [None, None]


def test_systems_run_at_their_quick_size(data) -> None:
    systems = {"dropout": lambda seed: forecaster("mc_dropout", of="mlp", seed=seed, epochs=5, width=8, samples=3)}
    found = responses(data, systems, levels={"distance": (0.0, 4.0)})
    assert found.select(pl.col("epistemic", "aleatoric").is_between(0, 1).all()).row(0) == (True, True)
    near, far = found["epistemic"].to_list()
    assert far != near


def test_what_cannot_be_measured_is_refused(data) -> None:
    with pytest.raises(ArgumentError, match="'plain', which does not decompose its uncertainty; give sphunc, gpn"):
        responses(data, {"plain": lambda seed: forecaster("majority", seed=seed)})
    with pytest.raises(ArgumentError, match="levels has the cause 'size'; allowed: data, distance, noise"):
        responses(data, levels={"size": (0.0,)})
