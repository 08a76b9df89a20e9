import torch

from sphunc.discovery.regression.design import (
    eliminate,
    source_columns,
    target_rows,
    time_basis,
    whiten_rows,
)
from sphunc.discovery.regression.panel import build_panel


def panel_of(times=6, agents=25, dim=2):
    x = torch.randn(times, agents, dim, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    present = torch.ones(times, agents, dtype=torch.bool)
    present[2, 0] = False
    return build_panel(x * present.unsqueeze(-1), present, torch.tensor([[1, 2], [0, 0]]), None, replicates=False)


def test_rows_hold_outcome_own_past_and_first_states():
    panel = panel_of()
    rows = target_rows(panel, torch.tensor([0, 3]), 1)
    torch.testing.assert_close(rows.outcome[1], panel.values[3, 1:])
    torch.testing.assert_close(rows.nuisance[1, 0], panel.values[3, :-1])
    torch.testing.assert_close(rows.nuisance[1, 1, 2], panel.values[3, 0])
    # Agent 0 was not observed at time 2: the rows of times 2 and 3 are lost.
    assert rows.weight[0].tolist() == [1, 0, 0, 1, 1]


def test_sources_are_read_at_their_lag_and_padding_is_zero():
    panel = panel_of()
    rows = target_rows(panel, torch.tensor([3]), 2)
    columns = source_columns(panel, torch.tensor([[5, -1]]), rows, 2)
    torch.testing.assert_close(columns[0, 0], panel.values[5, 1:-1])
    torch.testing.assert_close(columns[0, 2], panel.values[5, :-2])
    assert not columns[0, [1, 3]].any()


def test_whitening_inverts_the_dense_covariance():
    generator = torch.Generator().manual_seed(1)
    weight = torch.tensor([[1.0, 1, 1, 1, 1], [1, 0, 1, 1, 0]], dtype=torch.double)
    columns = torch.randn(2, 3, 5, 2, generator=generator, dtype=torch.double) * weight[:, None, :, None]
    flat = whiten_rows(columns, weight, 0.7, 0.3)
    basis = time_basis(weight)
    for agent in range(2):
        count = weight[agent].sum()
        level = torch.outer(basis[agent, 0], basis[agent, 0])
        trend = torch.outer(basis[agent, 1], basis[agent, 1])
        covariance = torch.eye(5, dtype=torch.double) + count * (0.7 * level + 0.3 * trend)
        expected = torch.einsum("crd,rs,ksd->ck", columns[agent], torch.linalg.inv(covariance), columns[agent])
        torch.testing.assert_close(flat[agent] @ flat[agent].T, expected)


def test_basis_is_orthonormal_and_empty_where_rows_are_few():
    basis = time_basis(torch.tensor([[1.0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]]))
    torch.testing.assert_close(basis[0] @ basis[0].T, torch.eye(2))
    assert not basis[1, 1].any()
    assert not basis[2].any()


def test_elimination_integrates_a_gaussian_coefficient_out():
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(9, 3, generator=generator, dtype=torch.double)
    y = torch.randn(9, 1, generator=generator, dtype=torch.double)
    full = torch.cat([x, y], 1)
    moments = (full.T @ full).unsqueeze(0)
    ridge = torch.tensor([0.5, 2.0], dtype=torch.double)
    left, log_pivots = eliminate(moments, ridge)
    # Marginal covariance of the rest with noise 1: I + sum x x' / ridge.
    covariance = torch.eye(9, dtype=torch.double) + x[:, :2] @ torch.diag(1 / ridge) @ x[:, :2].T
    rest = full[:, 2:]
    torch.testing.assert_close(left[0], rest.T @ torch.linalg.inv(covariance) @ rest)
    torch.testing.assert_close(log_pivots[0], torch.logdet(covariance))
