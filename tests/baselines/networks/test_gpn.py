"""Graph Posterior Network: densities, propagation and loss, by hand."""

import math

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.holdout import targets_of
from sphunc.baselines.networks.gpn import (
    GPNSettings,
    RadialFlows,
    expected_entropy,
    propagate,
    uncertain_cross_entropy,
)
from sphunc.baselines.training import mean_nll
from sphunc.hypergraph import group_by_size


def test_flows_are_densities() -> None:
    flows = RadialFlows(GPNSettings(latent=2, flows=3), 2, torch.Generator().manual_seed(0)).double()
    side = torch.linspace(-9, 9, 361, dtype=torch.double)
    grid = torch.cartesian_prod(side, side)
    mass = flows(grid).exp().sum(0) * float(side[1] - side[0]) ** 2
    assert mass.tolist() == pytest.approx([1.0, 1.0], abs=1e-3)


def test_evidence_is_spread_over_members_by_hand() -> None:
    groups = group_by_size(torch.tensor([[0, 1], [0, 0]]), num_nodes=3, num_hyperedges=1)
    evidence = torch.tensor([[4.0], [0.0], [6.0]])
    # A pair has mean 2; half of it and half of the own evidence; the second step finds the mean 2 again.
    assert propagate(evidence, groups, 2, 0.5).flatten().tolist() == [3.0, 1.0, 6.0]


def test_uncertain_cross_entropy_and_entropy_by_hand() -> None:
    alpha = torch.tensor([[2.0, 1.0], [1.0, 1.0]])
    # psi(3) - psi(2) = 1/2 and psi(3) - psi(1) = 3/2.
    rows = alpha[[0, 0]]
    assert uncertain_cross_entropy(rows, torch.tensor([0, 1])).tolist() == pytest.approx([0.5, 1.5])
    # Of a uniform share p the mean of -2 p log p is 1/2.
    assert float(expected_entropy(alpha)[1]) == pytest.approx(0.5)


def test_parts_are_scaled_and_reach_the_frame(data, split) -> None:
    forecast = forecaster("gpn", epochs=3).fit(data, split).predict(data)
    for part in (forecast.epistemic, forecast.aleatoric):
        assert 0 < float(part.min()) < float(part.max()) <= 1
    assert {"epistemic", "aleatoric", "total"} <= set(forecast.to_frame().columns)


@torch.no_grad()
def test_the_loss_is_the_uncertain_cross_entropy(data, split, panel) -> None:
    model = forecaster("gpn", entropy_weight=0.0)
    network = model.make_network(data.num_features, data.num_classes, torch.Generator().manual_seed(0))
    targets = targets_of(data, 1)
    log_p, encoding = network(panel)
    extra = sum(network.spatial.extra_losses(encoding, panel, targets, torch.Generator()))
    alpha = encoding.extras["alpha"][targets.mask]
    wanted = uncertain_cross_entropy(alpha, targets.outcome[targets.mask]).mean()
    assert float(mean_nll(log_p, targets) + extra) == pytest.approx(float(wanted), abs=1e-5)
    assert math.isfinite(float(wanted))
