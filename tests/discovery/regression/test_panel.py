import torch

import sphunc
from sphunc.discovery.regression.panel import build_panel, candidate_mean, group_mean, never_changes


def test_time_means_are_taken_out_where_agents_are_many():
    x = torch.randn(6, 30, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    x = x + 10 * torch.arange(6).double()[:, None, None]
    links = torch.tensor([[1], [0]])
    panel = build_panel(x, torch.ones(6, 30, dtype=torch.bool), links, None, replicates=False)
    assert float(panel.values.mean(0).abs().max()) < 1e-9
    assert panel.shape == (30, 6, 2)
    assert not panel.has_groups


def test_whitened_states_do_not_depend_on_the_basis_of_the_features():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8, 40, 3, generator=generator, dtype=torch.double)
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.double)).Q
    present = torch.ones(8, 40, dtype=torch.bool)
    links = torch.tensor([[1], [0]])
    one = build_panel(x, present, links, None, replicates=False).values
    two = build_panel(x @ turn, present, links, None, replicates=False).values
    torch.testing.assert_close(one.flatten(1) @ one.flatten(1).T, two.flatten(1) @ two.flatten(1).T)


def test_scalar_series_of_other_units_become_comparable():
    x = torch.randn(50, 8, 1, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    scale = torch.logspace(-3, 3, 8, dtype=torch.double)[:, None]
    present = torch.ones(50, 8, dtype=torch.bool)
    panel = build_panel(x * scale, present, torch.tensor([[1], [0]]), None, replicates=False)
    spread = panel.values.std(1)
    assert float(spread.max() / spread.min()) < 2


def test_constant_agents_are_recognised_only_where_observed():
    values = torch.tensor([[[1.0], [1.0], [9.0]], [[1.0], [2.0], [3.0]]])
    present = torch.tensor([[True, True, False], [True, True, True]])
    assert never_changes(values, present).tolist() == [True, False]


def test_candidate_mean_is_the_mean_over_observed_candidates():
    values = torch.tensor([[[1.0]], [[3.0]], [[0.0]]])
    present = torch.tensor([[True], [True], [False]])
    links = torch.tensor([[0, 1, 2, 2], [2, 2, 0, 1]])
    mean = candidate_mean(values * present.unsqueeze(-1), present, links)
    assert mean[:, 0, 0].tolist() == [0.0, 0.0, 2.0]


def test_reversed_and_between_cut_all_parts():
    x = torch.randn(5, 30, 2, generator=torch.Generator().manual_seed(0))
    panel = build_panel(x, torch.ones(5, 30, dtype=torch.bool), torch.tensor([[1], [0]]), None, replicates=False)
    assert torch.equal(panel.reversed().values[:, 0], panel.values[:, -1])
    assert panel.between(1, 4).shape == (30, 3, 2)


def test_group_mean_leaves_the_agent_itself_out():
    world = sphunc.simulate("snare", seed=0, agents=30, times=4)
    data = world.data
    values = data.x.transpose(0, 1).double()
    present = torch.ones(values.shape[:2], dtype=torch.bool)
    mean = group_mean(values, present, data)
    time, agent = 1, 3
    parts = []
    for group in range(data.num_hyperedges):
        members = data.hyperedge_index[0][data.hyperedge_index[1] == group].tolist()
        if int(data.hyperedge_time[group]) == time and agent in members and len(members) > 1:
            others = [m for m in members if m != agent]
            parts.append(values[others, time].mean(0))
    expected = torch.stack(parts).mean(0) if parts else torch.zeros_like(mean[agent, time])
    torch.testing.assert_close(mean[agent, time], expected)
