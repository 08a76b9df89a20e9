"""SS-HGNN against its equations, in dense form and by hand."""

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.line_graph import line_graph_of
from sphunc.baselines.panel import learn_scale, make_panel
from sphunc.baselines.sshgnn import SSHGNNEncoder, SSHGNNLayer, SSHGNNSettings, clique_walk, segment_softmax
from sphunc.baselines.targets import targets_of
from sphunc.errors import ArgumentError


@pytest.fixture
def small(tiny):
    return make_panel(tiny, learn_scale(tiny, 2), 2)


def test_the_clique_walk_by_hand(small) -> None:
    # a, b, c meet in a trio, b and c in a pair. a: mean of trio without itself, (b + c) / 3.
    # b: half of (a + c) / 3 and half of c / 2.
    x = torch.zeros(8, 1)
    x[:3, 0] = torch.tensor([6.0, 12.0, 24.0])
    walked = clique_walk(x, small.groups)[:, 0]
    assert walked.tolist() == pytest.approx([12.0, 5.0 + 6.0, 3.0 + 3.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def test_softmax_within_segments() -> None:
    score = torch.tensor([[0.0], [100.0], [1.0], [1.0]])
    weight = segment_softmax(score + 1000, torch.tensor([0, 0, 1, 1]), 3)
    assert weight.flatten().tolist() == pytest.approx([0.0, 1.0, 0.5, 0.5])


def test_a_layer_is_its_equations(small) -> None:
    layer = SSHGNNLayer(4, 1, torch.Generator().manual_seed(0))
    h = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        flows = layer(h, small.groups, line_graph_of(small))
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
    assert torch.allclose(flows.z, z, atol=1e-5)
    assert torch.allclose(flows.h, wanted, atol=1e-5)


def test_membership_is_learned(data, split) -> None:
    targets = targets_of(data, 1)

    def task(model, panel):
        with torch.no_grad():
            spatial = model.network_.spatial
            generator = torch.Generator().manual_seed(0)
            return float(spatial.objective(torch.zeros(()), spatial(panel), panel, targets, 0, generator))

    model = forecaster("sshgnn", epochs=30, patience=30, membership=1.0, task_free=True).fit(data, split)
    before = forecaster("sshgnn", epochs=1, learning_rate=1e-9, membership=1.0).fit(data, split)
    panel = make_panel(data, model.scale_, data.num_classes)
    # Chance is 2 log 2 = 1.386; the last times were never trained on.
    assert task(model, panel) < 0.8 * task(before, panel)


def test_task_free_layers_get_no_gradient_from_outcomes(panel) -> None:
    encoder = SSHGNNEncoder(panel.num_inputs, SSHGNNSettings(width=8, task_free=True), torch.Generator().manual_seed(0))
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
