"""Causal-SphHN: a layer against its equation, numbers by hand, the mask across agents, and what is saved."""

import dataclasses
from pathlib import Path

import torch

from sphunc import simulate
from sphunc.baselines.causal_sphhn import CausalSphHN, CausalSphHNEncoder, CausalSphHNSettings, Layer, concentration
from sphunc.baselines.causal_sphhn_messages import dispersed_attention, parent_messages
from sphunc.baselines.pairs import agent_pairs
from sphunc.baselines.panel import Panel, learn_scale, make_panel
from sphunc.baselines.targets import targets_of
from sphunc.hypergraph import TemporalHypergraph
from sphunc.nn.concentration import scaled_entropy
from sphunc.sphere import mean_resultant_length

SETTINGS = CausalSphHNSettings(width=8, discovery=0.5)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small() -> tuple[TemporalHypergraph, Panel]:
    data = simulate("snare", agents=40, times=8, seed=0).data
    return data, make_panel(data, learn_scale(data, 8), data.num_classes)


def encoder(panel: Panel) -> CausalSphHNEncoder:
    made = CausalSphHNEncoder(panel.num_inputs, panel.features.shape[-1], SETTINGS, generator())
    with torch.no_grad():
        made.prepare(panel)
    return made


def test_concentration_by_hand() -> None:
    assert torch.allclose(concentration(torch.tensor([0.0, -50.0, 50.0])), torch.tensor([100.5, 1.0, 200.0]))


def test_reliability_by_hand() -> None:
    # On the sphere in three dimensions A(kappa) = coth(kappa) - 1/kappa.
    kappa = concentration(torch.tensor([0.0], dtype=torch.double))
    assert abs(float(mean_resultant_length(kappa, 3)) - (1 - 1 / 100.5)) < 1e-12


def test_layer_is_its_equation() -> None:
    _, panel = small()
    layer = Layer(8, generator())
    h = torch.nn.functional.normalize(torch.randn(panel.groups.num_nodes, 8, generator=generator(1)), dim=-1)
    reliability, parents = torch.rand(len(h), generator=generator(2)), torch.tensor([[0, 1], [2, 2]])
    trust = torch.tensor([0.9, 0.4])
    m = dispersed_attention(h, reliability, torch.tensor(5.0), panel.groups)
    c = parent_messages(h, parents, trust, 10.0)
    new = h + torch.relu(m @ layer.member.weight.T) @ layer.out.weight.T + c @ layer.parent.weight.T
    expected = torch.nn.functional.normalize(new, dim=-1)
    assert torch.allclose(layer(h, reliability, panel.groups, parents, trust, 0.3, None), expected, atol=1e-5)


def test_state_is_a_direction_and_the_entropy_of_its_belief() -> None:
    _, panel = small()
    model = encoder(panel)
    encoding = model(panel)
    assert encoding.state.shape == (panel.groups.num_nodes, model.width)
    assert torch.allclose(encoding.state[:, :8].norm(dim=-1), torch.tensor(8**0.5))
    assert torch.equal(encoding.state[:, 8], scaled_entropy(encoding.extras["kappa"], 8))


def test_entropy_and_reliability_train_the_concentration() -> None:
    data, panel = small()
    model = encoder(panel)
    encoding = model(panel, generator())
    model.objective(torch.zeros(()), encoding, panel, targets_of(data, 1), 0, generator()).backward()
    assert model.head.weight.grad is not None
    assert float(model.head.weight.grad.abs().sum()) > 0


def test_granger_parents_are_heard_and_others_are_not() -> None:
    _, panel = small()
    model = encoder(panel)
    parents, trust = model.parents_in(panel)
    assert parents.shape[1] > 0
    assert float(trust.min()) >= 1 - SETTINGS.discovery
    silent = CausalSphHNEncoder(panel.num_inputs, panel.features.shape[-1], SETTINGS, generator())
    targets = torch.zeros(panel.num_agents, dtype=torch.bool)
    targets[parents[1]] = True
    apart = (model(panel).state - silent(panel).state).abs().sum(-1).view(panel.num_times, -1) > 1e-6
    assert bool(apart[:, targets].any(0).all())


def test_at_the_default_most_agents_have_parents_and_at_the_published_rate_few() -> None:
    _, panel = small()
    with_parents = []
    for settings in (CausalSphHNSettings(), CausalSphHNSettings(discovery=0.01)):
        made = CausalSphHNEncoder(panel.num_inputs, panel.features.shape[-1], settings, generator())
        made.prepare(panel)
        with_parents.append(len(made.parents_in(panel)[0][1].unique()) / panel.num_agents)
    assert with_parents[0] > 0.6
    assert with_parents[1] < 0.2


def test_mask_follows_agents_by_id_and_new_agents_have_no_parents() -> None:
    _, panel = small()
    model = encoder(panel)
    turned = dataclasses.replace(panel, agents=panel.agents[::-1])
    flipped = panel.num_agents - 1 - model.parents_in(panel)[0]
    assert set(map(tuple, model.parents_in(turned)[0].T.tolist())) == set(map(tuple, flipped.T.tolist()))
    strangers = dataclasses.replace(panel, agents=tuple(f"new-{i}" for i in range(panel.num_agents)))
    assert [part.shape for part in model.parents_in(strangers)] == [(2, 0), (0,)]
    assert torch.isfinite(model(strangers).state).all()


def test_influence_puts_the_mask_first() -> None:
    _, panel = small()
    model = encoder(panel)
    candidates = agent_pairs(panel.groups, panel.num_agents)
    score = model.influence(panel, candidates)
    first = candidates[:, score.argsort(descending=True)[: model.parents.shape[1]]]
    mask = set(map(tuple, model.parents_in(panel)[0].T.tolist()))
    assert set(map(tuple, first.T.tolist())) == mask


def test_mask_is_saved_with_the_model(tmp_path: Path) -> None:
    data, _ = small()
    model = CausalSphHN(width=8, hidden=8, epochs=2, discovery=0.5, seed=0).fit(data)
    model.save(tmp_path / "peer")
    again = CausalSphHN.load(tmp_path / "peer")
    assert torch.equal(again.network_.spatial.parents, model.network_.spatial.parents)
    assert torch.equal(again.network_.spatial.trust, model.network_.spatial.trust)
    assert again.network_.spatial.parents.shape[1] > 0
    assert torch.equal(again.predict(data).probabilities, model.predict(data).probabilities)
