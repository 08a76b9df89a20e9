import torch

from sphunc.causal.estimation import Problem
from sphunc.causal.lag import allowed_lags, choose_lag, is_beyond_doubt
from sphunc.causal.panel import vector_panel


def test_short_panels_have_one_lag():
    assert [allowed_lags(t, None) for t in (3, 5, 6, 20)] == [1, 1, 2, 2]
    assert allowed_lags(20, 3) == 3
    assert allowed_lags(4, 9) == 2


def test_evidence_chooses_the_true_lag(problem):
    assert choose_lag(problem, 2, 0.02) == 1
    g = torch.Generator().manual_seed(0)
    path = [torch.randn(6, 16, generator=g, dtype=torch.double) for _ in range(2)]
    for _ in range(20):
        push = torch.cat([torch.zeros(1, 16, dtype=torch.double), 0.7 * path[-2][:-1]])
        path.append(0.2 * path[-1] + push + torch.randn(6, 16, generator=g, dtype=torch.double))
    panel = vector_panel(torch.stack(path), torch.ones(22, 6, dtype=torch.bool), None)
    assert choose_lag(Problem(panel, problem.candidates, problem.silent), 2, 0.02) == 2


def test_a_longer_lag_must_win_by_more_than_chance():
    assert is_beyond_doubt(torch.tensor([3.0, 2.0, 4.0]))
    assert not is_beyond_doubt(torch.tensor([3.0, -2.5, 0.5]))
    assert not is_beyond_doubt(torch.tensor([-1.0, -1.0]))
