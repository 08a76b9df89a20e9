"""Covariates of a regression, by hand."""

import torch

from sphunc.baselines.panel import make_panel, statistics_of
from sphunc.baselines.regressions.columns import comember_means, count_columns, covariate_columns, lagged_outcomes
from sphunc.hypergraph import group_by_size


def test_lags_skip_times_without_an_outcome() -> None:
    one, two, none = [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]
    outcome = torch.tensor([none, one, none, two]).unsqueeze(1)
    lags, age = lagged_outcomes(outcome)
    assert lags[:, 0].tolist() == [none * 3, one + none * 2, one + none * 2, two + one + none]
    assert age.flatten().tolist() == [1.0, 0.0, 0.5, 0.0]


def test_means_leave_the_agent_out_and_weigh_groups_alike() -> None:
    index = torch.tensor([[0, 1, 2, 0, 1], [0, 0, 0, 1, 1]])
    groups = group_by_size(index, num_nodes=4, num_hyperedges=2)
    values = torch.tensor([[1.0], [3.0], [0.0], [9.0]])
    known = torch.tensor([[1.0], [1.0], [0.0], [1.0]])
    means, share = comember_means(values, known, groups)
    # agent 0: in {0, 1, 2} only 1 is known (3), in {0, 1} it is 1 (3); agent 1: 1 and 1; agent 2: (1 + 3) / 2.
    assert means.flatten().tolist() == [3.0, 1.0, 2.0, 0.0]
    assert share.flatten().tolist() == [1.0, 1.0, 1.0, 0.0]


def test_a_row_holds_what_is_counted(tiny) -> None:
    panel = make_panel(tiny, statistics_of(tiny, 2), 2)
    columns = covariate_columns(panel)
    assert columns.shape == (2, 4, count_columns(1, 2))
    assert torch.equal(columns[..., : panel.num_inputs], panel.inputs)
    # a meets b and c in one group, b meets a, c and c again, d meets nobody; nobody meets at time 1.
    logs = torch.tensor([[1.0, 2.0], [2.0, 3.0], [2.0, 3.0], [0.0, 0.0]]).log1p()
    assert torch.equal(columns[0, :, -2:], logs)
    assert not columns[1, :, -2:].any()
