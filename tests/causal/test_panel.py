import torch

from sphunc.causal.panel import group_pull, scalar_panel, vector_panel
from sphunc.hypergraph import assemble


def test_pull_is_the_mean_of_the_others():
    data = assemble(
        times=range(1),
        node_ids=range(4),
        hyperedge_ids=range(2),
        hyperedge_time=[0, 0],
        memberships=([0, 0, 0, 1, 1], [0, 1, 2, 0, 1]),
    )
    values = torch.tensor([1.0, 2.0, 6.0, 9.0]).view(4, 1, 1)
    pull = group_pull(values, torch.ones(4, 1, dtype=torch.bool), data).flatten()
    assert pull.tolist() == [(4.0 + 2.0) / 2, (3.5 + 1.0) / 2, 1.5, 0.0]


def test_reversing_twice_is_the_same(problem):
    twice = problem.panel.reversed().reversed()
    assert torch.equal(twice.values, problem.panel.values)


def test_unit_vectors_are_recognised(latents):
    present = torch.ones(latents.shape[:2], dtype=torch.bool)
    assert vector_panel(latents, present, None).unit
    assert not vector_panel(2 * latents, present, None).unit


def test_scalar_series_have_unit_variance():
    series = 5 + 3 * torch.randn(50, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    panel = scalar_panel(series, torch.ones(50, 4, dtype=torch.bool), None)
    torch.testing.assert_close(panel.values.square().mean((1, 2)), torch.ones(4, dtype=torch.double))
