import pytest
import torch

from sphunc.discovery.posterior.links import (
    column_posterior,
    enumerate_sets,
    one_more,
    size_evidence,
    target_moments,
)
from sphunc.discovery.posterior.prior import reference_prior
from sphunc.discovery.regression.panel import Panel
from sphunc.discovery.regression.variance import VarianceComponents

TAU = 0.3


@pytest.fixture
def moments():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(6, 9, 2, generator=generator, dtype=torch.double)
    values[0, 1:] = values[0, 1:] + 0.9 * values[2, :-1]
    present = torch.ones(6, 9, dtype=torch.bool)
    panel = Panel(values, present, torch.zeros_like(values), torch.zeros(6, dtype=torch.bool), 2.0)
    spread = torch.tensor([0.05, 0.01, 0.0, 0.0], dtype=torch.double)
    theta = torch.tensor([0.2, 0.0, 0.0, 0.0], dtype=torch.double)
    components = VarianceComponents(0.4, 0.1, spread, 1e-3, 6.0, 1.1, theta)
    sources = torch.tensor([[1, 2, 3, 4, -1]])
    required = torch.zeros(1, 5, dtype=torch.bool)
    found = target_moments(panel, components, torch.tensor([0]), sources, required, lags=1, own_lags=1)
    return panel, components, found


def dense_log_density(panel, components, members):
    """Multivariate t density of the target, everything integrated out in the dense covariance."""
    rows, dim = 8, 2
    outcome = panel.values[0, 1:].reshape(-1) - 0.2 * panel.values[0, :-1].reshape(-1)
    time = torch.arange(rows, dtype=torch.double)
    time = time - time.mean()
    level = torch.ones(rows, dtype=torch.double) / rows**0.5
    trend = time / time.norm()
    between = rows * (0.4 * torch.outer(level, level) + 0.1 * torch.outer(trend, trend))
    noise = torch.kron(torch.eye(rows, dtype=torch.double) + between, torch.eye(dim, dtype=torch.double))
    columns = [(panel.values[0, :-1].reshape(-1), 0.05), (panel.values[0, 0].repeat(rows), 0.01)]
    covariance = noise
    for column, variance in columns:
        covariance = covariance + variance / 1.1 * torch.outer(column, column)
    return outcome, covariance


def test_evidence_agrees_with_the_dense_model(moments):
    panel, components, found = moments
    sets = enumerate_sets(found, TAU)
    outcome, base = dense_log_density(panel, components, ())
    count = 16

    def log_density(sources):
        covariance = base.clone()
        for source in sources:
            column = panel.values[source, :-1].reshape(-1)
            covariance = covariance + TAU**2 / float(found.noise[0]) * torch.outer(column, column)
        square = outcome @ torch.linalg.solve(covariance, outcome)
        prior = 6.0 * 1.1
        return -0.5 * torch.logdet(covariance) - 0.5 * (6 + count) * torch.log(prior + square)

    empty = log_density(())
    candidates = (1, 2, 3, 4)
    columns = found.taken.gather(1, sets.chosen)[0].tolist()
    for place, members in enumerate(sets.tree.members):
        chosen = [columns[k] for k in range(len(columns)) if members[k]]
        if any(column >= 4 for column in chosen):
            assert float(sets.evidence[0, place]) == -torch.inf
            continue
        expected = log_density([candidates[column] for column in chosen]) - empty
        assert float(sets.evidence[0, place]) == pytest.approx(float(expected), abs=1e-8)


def test_one_more_parent_beside_none_agrees_with_its_set(moments):
    _, _, found = moments
    sets = enumerate_sets(found, TAU)
    nobody = torch.zeros_like(sets.tree.members[:1])
    single = one_more(found, sets, nobody, TAU)
    columns = found.taken.gather(1, sets.chosen)[0].tolist()
    for place in (sets.tree.sizes == 1).nonzero().flatten().tolist():
        column = columns[int(sets.tree.members[place].argmax())]
        if column < 4:
            assert float(single.log_factor[0, column]) == pytest.approx(float(sets.evidence[0, place]), abs=1e-8)


def test_posterior_finds_the_planted_source_and_ignores_padding(moments):
    _, _, found = moments
    prior = reference_prior(4.0, TAU, torch.device("cpu"))
    posterior, sets, _ = column_posterior(found, prior, torch.Generator().manual_seed(0))
    assert int(posterior.probability[0].argmax()) == 1
    assert float(posterior.probability[0, 1]) > 0.6
    assert 0.3 < float(posterior.coefficient[0, 1]) < 0.9  # drawn towards 0 by the slab
    assert float(posterior.probability[0, 4]) == 0.0
    frequency = posterior.draws[0].double().mean(0)
    torch.testing.assert_close(frequency[:4], posterior.probability[0, :4], atol=0.05, rtol=0)
    assert size_evidence(sets).shape[1] == int(sets.tree.sizes.max()) + 1


def test_required_links_are_in_every_set(moments):
    panel, components, _ = moments
    sources = torch.tensor([[1, 2, 3]])
    required = torch.tensor([[True, False, False]])
    found = target_moments(panel, components, torch.tensor([0]), sources, required, lags=1, own_lags=1)
    prior = reference_prior(4.0, TAU, torch.device("cpu"))
    posterior, _, _ = column_posterior(found, prior, None)
    assert float(posterior.probability[0, 0]) == pytest.approx(1.0)
