"""Panels at the edge: few rows, few labels, several numbers, features that say nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError

QUICK = {"dim": 8, "layers": 1, "epochs": 2, "patience": 2, "folds": 2, "structure_epochs": 0}


def table(times: int, agents: int, features: int, seed: int = 0) -> sphunc.TemporalHypergraph:
    rng = np.random.default_rng(seed)
    rows = [(t, f"a{i}") for t in range(times) for i in range(agents)]
    key = {"time": [t for t, _ in rows], "agent": [a for _, a in rows]}
    columns = {f"f{k}": rng.normal(size=len(rows)) for k in range(features)}
    return sphunc.from_frames(
        features=pl.DataFrame({**key, **columns}),
        groups=pl.DataFrame({**key, "group": [f"g{t}" for t, _ in rows]}),
        outcomes=pl.DataFrame({**key, "outcome": [["x", "y"][i % 2] for i in range(len(rows))]}),
    )


@pytest.mark.parametrize("features", [1, 2, 3])
def test_three_times_of_few_features_leave_no_free_row_and_no_fault(features: int) -> None:
    data = table(3, 10, features)
    model = sphunc.SphUnc(**QUICK).fit(data, verbose=False)
    assert model.predict(data).probabilities.isfinite().all()


@pytest.mark.parametrize("labelled", [1, 2])
def test_one_fold_may_hold_all_labels(labelled: int) -> None:
    data = table(6, 12, 3)
    mask = torch.zeros_like(data.y_mask)
    mask[:, :labelled] = True
    for seed in range(3):
        few = replace(data, y=torch.where(mask, data.y, 0), y_mask=mask)
        model = sphunc.SphUnc(**QUICK, seed=seed).fit(few, verbose=False)
        assert model.predict(few).probabilities.isfinite().all()


def numbers(data: sphunc.TemporalHypergraph, *scales: float) -> sphunc.TemporalHypergraph:
    y = torch.stack([data.x[..., k] * scale for k, scale in enumerate(scales)], -1)
    return replace(data, y=torch.where(data.y_mask.unsqueeze(-1), y, 0.0), class_names=())


def test_every_number_has_a_deviation_of_its_own_size() -> None:
    data = numbers(table(6, 20, 3), 1.0, 1000.0)
    forecast = sphunc.SphUnc(**QUICK).fit(data, verbose=False).predict(data)
    ratio = (forecast.variance[:, 1] / forecast.variance[:, 0]).sqrt()
    assert ((ratio > 700) & (ratio < 1400)).all()
    assert forecast.aleatoric.shape == (20,)


def test_numbers_without_an_aleatoric_part_are_refused_before_training() -> None:
    data = numbers(table(6, 20, 3), 2.0)
    with pytest.raises(ArgumentError, match=r"takes the noise off outcomes, and numbers without noise have no density"):
        sphunc.SphUnc(**QUICK, uncertainty="epistemic").fit(data, verbose=False)


def test_a_huge_constant_feature_says_nothing() -> None:
    data = table(5, 10, 3)
    x = data.x.clone()
    x[..., 2] = 2.0**70
    plain = torch.where(torch.arange(3) == 2, 0.0, data.x)
    forecasts = [
        sphunc.SphUnc(**QUICK).fit(replace(data, x=one), verbose=False).predict(replace(data, x=one))
        for one in (x, plain)
    ]
    torch.testing.assert_close(forecasts[0].probabilities, forecasts[1].probabilities)


def test_the_literal_preset_moves_all_matrices_at_the_same_pace() -> None:
    from sphunc.legacy.config import SphUncConfig
    from sphunc.legacy.network import Network
    from sphunc.legacy.training import make_optimizer

    config = SphUncConfig.paper()
    network = Network(config, 3, 2, numeric=False, generator=torch.Generator().manual_seed(0))
    assert {group["lr"] for group in make_optimizer(network, config).param_groups} == {config.learning_rate}
