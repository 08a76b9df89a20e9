"""SS-HGNN against its equations, in dense form and by hand: line graph, membership task, layers."""

import math

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.holdout import targets_of
from sphunc.baselines.networks.sshgnn import (
    SSHGNNEncoder,
    SSHGNNLayer,
    SSHGNNSettings,
    clique_walk,
    false_members,
    group_flow,
    line_graph,
    line_graph_of,
    membership_loss,
)
from sphunc.baselines.panel import make_panel, statistics_of
from sphunc.errors import ArgumentError
from sphunc.hypergraph import group_by_size


def spread(graph, x):
    return graph.add_messages(torch.zeros_like(x), x)


def test_line_graph_of_three_groups_by_hand() -> None:
    # Groups {0,1,2}, {1,2}, {2,3} share 2, 1 and 1 members: degrees 3, 3 and 2.
    index = torch.tensor([[0, 1, 2, 1, 2, 2, 3], [0, 0, 0, 1, 1, 2, 2]])
    line = line_graph(group_by_size(index, num_nodes=4, num_hyperedges=3))
    matrix = spread(line, torch.eye(3))
    assert matrix[0].tolist() == pytest.approx([0.0, 2 / 3, 1 / 6**0.5])
    assert torch.allclose(matrix, matrix.mT)


def test_a_group_that_shares_nobody_gets_no_message() -> None:
    line = line_graph(group_by_size(torch.tensor([[0, 1], [0, 0]]), num_nodes=2, num_hyperedges=2))
    assert spread(line, torch.ones(2, 1)).tolist() == [[0.0], [0.0]]


def test_flow_through_groups_is_its_equation(tiny) -> None:
    panel = make_panel(tiny, statistics_of(tiny, 2), 2)
    generator = torch.Generator().manual_seed(0)
    up, down = torch.rand(2, 5, generator=generator)
    candidates = torch.tensor([[0, 1, 2, 0], [1, 0, 1, 3]])
    line = line_graph_of(panel)
    assert line_graph_of(panel) is line, "made once per panel"
    a, b = torch.zeros(4, 2), torch.zeros(4, 2)
    a[panel.groups.node, panel.groups.hyperedge] = up
    b[panel.groups.node, panel.groups.hyperedge] = down
    S = b @ (torch.eye(2) + 0.5 * spread(line, torch.eye(2))) @ a.mT
    wanted = [float(S[target, source]) for source, target in candidates.mT.tolist()]
    assert group_flow(panel, down, up, candidates).tolist() == pytest.approx(wanted)


def test_membership_loss_by_hand() -> None:
    h, z = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[3.0, 1.0]])
    true, false = (torch.tensor([0]), torch.tensor([0])), (torch.tensor([1]), torch.tensor([0]))
    # Scores 3 and 2: -log sigmoid(3) - log sigmoid(-2).
    wanted = math.log1p(math.exp(-3)) + math.log1p(math.exp(2))
    assert float(membership_loss(h, z, torch.eye(2), true, false)) == pytest.approx(wanted)


def test_membership_loss_is_zero_where_nobody_meets() -> None:
    none = (torch.zeros(0, dtype=torch.long),) * 2
    assert float(membership_loss(torch.ones(2, 2), torch.ones(1, 2), torch.eye(2), none, none)) == 0.0


def test_false_members_met_elsewhere_at_the_same_time(data, panel) -> None:
    node, group = false_members(panel, torch.Generator().manual_seed(0))
    true = set(zip(panel.groups.node.tolist(), panel.groups.hyperedge.tolist(), strict=True))
    assert len(node) > 0.8 * len(true)
    assert not true & set(zip(node.tolist(), group.tolist(), strict=True))
    assert torch.equal(node // panel.num_agents, data.hyperedge_time[group])
    assert set(node.tolist()) <= {n for n, _ in true}


@pytest.fixture
def small(tiny):
    return make_panel(tiny, statistics_of(tiny, 2), 2)


def test_the_clique_walk_by_hand(small) -> None:
    # a, b, c meet in a trio, b and c in a pair. a: mean of trio without itself, (b + c) / 3.
    # b: half of (a + c) / 3 and half of c / 2.
    x = torch.zeros(8, 1)
    x[:3, 0] = torch.tensor([6.0, 12.0, 24.0])
    walked = clique_walk(x, small.groups)[:, 0]
    assert walked.tolist() == pytest.approx([12.0, 5.0 + 6.0, 3.0 + 3.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def test_a_layer_is_its_equations(small) -> None:
    layer = SSHGNNLayer(4, 1, torch.Generator().manual_seed(0))
    h = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        new_h, new_z, _, _ = layer(h, small.groups, line_graph_of(small))
        B = torch.zeros(8, 2)
        B[small.groups.node, small.groups.hyperedge] = 1.0
        W = {name: getattr(layer, name).weight for name in ("member", "mean", "group", "line", "back", "walk")}
        sent, mean = h @ W["member"].mT, (B.mT @ h / B.sum(0)[:, None]) @ W["mean"].mT
        up = (sent @ layer.attend_up[0, 0])[:, None] + (mean @ layer.attend_up[1, 0])[None]
        a = torch.where(B > 0, torch.nn.functional.leaky_relu(up, 0.2), -torch.inf).softmax(0)
        message = a.mT @ sent
        L = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        z = torch.relu(message @ W["group"].mT + L @ message @ W["line"].mT)
        back = z @ W["back"].mT
        down = (sent @ layer.attend_down[1, 0])[:, None] + (back @ layer.attend_down[0, 0])[None]
        b = torch.where(B > 0, torch.nn.functional.leaky_relu(down, 0.2), -torch.inf)
        b = torch.where(B.any(1, keepdim=True), b.softmax(1), 0.0)
        P = B / B.sum(1, keepdim=True).clamp(min=1) @ (B / B.sum(0)).mT
        P = P - P.diag().diag()
        total = layer.own(h) + b @ back + P @ h @ W["walk"].mT
        wanted = torch.nn.functional.layer_norm(torch.relu(total), (4,), layer.norm.weight, layer.norm.bias)
    assert torch.allclose(new_z, z, atol=1e-5)
    assert torch.allclose(new_h, wanted, atol=1e-5)


def test_membership_is_learned(data, split) -> None:
    targets = targets_of(data, 1)

    def task(model, panel):
        with torch.no_grad():
            spatial = model.network_.spatial
            generator = torch.Generator().manual_seed(0)
            return float(spatial.extra_losses(spatial(panel), panel, targets, generator)[0])

    model = forecaster("sshgnn", epochs=30, patience=30, membership=1.0, task_free=True).fit(data, split)
    before = forecaster("sshgnn", epochs=1, learning_rate=1e-9, membership=1.0).fit(data, split)
    panel = make_panel(data, model.statistics_, data.num_classes)
    # Chance is 2 log 2 = 1.386; the last times were never trained on.
    assert task(model, panel) < 0.8 * task(before, panel)


def test_task_free_layers_get_no_gradient_from_outcomes(panel) -> None:
    settings = SSHGNNSettings(width=8, task_free=True)
    encoder = SSHGNNEncoder(panel.num_inputs, 1, settings, torch.Generator().manual_seed(0))
    assert not encoder(panel).state.requires_grad
    assert encoder(panel).extras["members"].requires_grad


def test_native_influence_is_directed(data, split) -> None:
    model = forecaster("sshgnn", epochs=2, width=8).fit(data, split)
    found = model.influence()
    by_link = dict(zip(map(tuple, found.links.mT.tolist()), found.score.tolist(), strict=True))
    assert found.directed
    assert min(by_link.values()) >= 0
    assert any(abs(value - by_link[target, source]) > 1e-6 for (source, target), value in by_link.items())


def test_heads_must_divide_the_width(data, split) -> None:
    with pytest.raises(ArgumentError, match="heads is 3, which does not divide width 64"):
        forecaster("sshgnn", heads=3).fit(data, split)
