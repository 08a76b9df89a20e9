"""Causal-SphHN: Granger mask, messages and layers against their equations, plain loops and by hand."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import torch

from sphunc import simulate
from sphunc.baselines.holdout import targets_of
from sphunc.baselines.links import false_discovery_rates
from sphunc.baselines.networks.causal_sphhn import (
    CausalSphHN,
    CausalSphHNEncoder,
    CausalSphHNLayer,
    CausalSphHNSettings,
    concentration,
    digests,
    dispersed_attention,
    granger_p_values,
    leading_components,
    over_time,
    parent_messages,
    parent_weights,
    place_links,
)
from sphunc.baselines.networks.graphs import agent_pairs
from sphunc.baselines.panel import Panel, make_panel, statistics_of
from sphunc.discovery.candidates import all_pairs
from sphunc.hypergraph import TemporalHypergraph, group_by_size
from sphunc.nn import scaled_entropy
from sphunc.sphere import mean_resultant_length


def chain(times: int = 12, agents: int = 6, dim: int = 4) -> torch.Tensor:
    """Agent 1 follows agent 0 by one step; all others go their own way."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(times, agents, dim, generator=generator)
    for t in range(1, times):
        x[t] = 0.3 * x[t - 1] + x[t]
        x[t, 1] = x[t, 1] + 1.5 * x[t - 1, 0]
    return x


def test_planted_link_is_found_in_its_direction() -> None:
    links = all_pairs(6)
    p_value = granger_p_values(chain(), links)
    chosen = links[:, false_discovery_rates(p_value) <= 0.01].T.tolist()
    assert chosen == [[0, 1]]
    assert links[:, p_value.argmin()].tolist() == [0, 1]


def test_components_are_white_and_at_most_eight() -> None:
    x = torch.randn(10, 30, 12, generator=torch.Generator().manual_seed(1)) * torch.arange(1, 13)
    z = leading_components(x)
    assert z.shape == (10, 30, 8)
    assert torch.allclose(z.flatten(0, 1).T @ z.flatten(0, 1) / 300, torch.eye(8).double(), atol=1e-9)
    assert leading_components(torch.ones(4, 5, 3)).shape == (4, 5, 0)


def test_short_or_constant_panels_and_no_candidates_give_no_link() -> None:
    links = all_pairs(6)
    assert bool((granger_p_values(chain(times=3), links) == 1).all())
    assert bool((granger_p_values(torch.ones(9, 6, 2), links) == 1).all())
    nothing = granger_p_values(chain(), links[:, :0])
    assert nothing.shape == (0,)
    assert false_discovery_rates(nothing).shape == (0,)


def test_links_follow_their_agents_into_other_data() -> None:
    old, new = digests(("a", "b", "c", 7)), digests(("c", "new", "a", "b"))
    links = old[torch.tensor([[0, 1, 3], [1, 2, 0]])]
    placed, there = place_links(links, new)
    assert placed.T.tolist() == [[2, 3], [3, 0]]
    assert there.tolist() == [True, True, False]
    assert [part.shape for part in place_links(links, digests(()))] == [(2, 0), (3,)]


def test_digests_tell_numbers_from_words_and_not_numbers_from_numbers() -> None:
    seven, text, numpys = digests((7, "7", np.int64(7))).tolist()
    assert seven == numpys
    assert seven != text


MEMBERS = [[0, 1, 2], [1, 3], [0, 2, 3, 4]]


def directions(*shape: int, seed: int = 0) -> torch.Tensor:
    raw = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    return torch.nn.functional.normalize(raw, dim=-1)


def buckets(members: list[list[int]], nodes: int):
    index = torch.tensor([[i, e] for e, group in enumerate(members) for i in group]).T
    return group_by_size(index, num_nodes=nodes, num_hyperedges=len(members))


def test_attention_by_hand() -> None:
    # Agent 0 lies on the first axis, the others on the first (reliability 1/3) and the second (reliability 1):
    # weights e^{log 3} / 3 : 1 = 1 : 1 at sharpness log 3.
    h = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    message = dispersed_attention(
        h, torch.tensor([1.0, 1 / 3, 1.0]), torch.tensor(math.log(3)), buckets([[0, 1, 2]], 3)
    )
    assert torch.allclose(message[0], torch.tensor([0.5, 0.5]))


def test_attention_against_a_plain_loop() -> None:
    h, reliability, sharpness = directions(6, 4), torch.linspace(0.2, 0.9, 6).double(), torch.tensor(3.0).double()
    expected = torch.zeros_like(h)
    for i in range(6):
        mine = [group for group in MEMBERS if i in group]
        for group in mine:
            others = [j for j in group if j != i]
            weight = torch.stack([reliability[j] * torch.exp(sharpness * h[i] @ h[j]) for j in others])
            expected[i] += (weight / weight.sum()) @ h[others] / len(mine)
    assert torch.allclose(dispersed_attention(h, reliability, sharpness, buckets(MEMBERS, 6)), expected, atol=1e-7)


def test_attention_turns_with_the_states() -> None:
    h, reliability = directions(6, 4), torch.full((6,), 0.5).double()
    turn = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.double)).Q
    sharpness = torch.tensor(2.0).double()
    groups = buckets(MEMBERS, 6)
    turned = dispersed_attention(h @ turn, reliability, sharpness, groups)
    assert torch.allclose(turned, dispersed_attention(h, reliability, sharpness, groups) @ turn)


def test_weights_of_a_target_sum_to_one() -> None:
    links = torch.tensor([[0, 1, 2, 0], [3, 3, 1, 1]])
    weight = parent_weights(directions(4, 3), links, 10.0)
    assert torch.allclose(torch.zeros(4).double().index_add(0, links[1], weight), torch.tensor([0.0, 1, 0, 1]).double())


def test_parent_messages_against_a_plain_loop() -> None:
    h, parents, trust = directions(4, 5), torch.tensor([[1, 2, 0], [0, 0, 3]]), torch.tensor([0.5, 0.9, 0.2]).double()
    expected = torch.zeros_like(h)
    expected[0] = (trust[:2] * torch.softmax(torch.stack([10 * h[0] @ h[j] for j in (1, 2)]), 0)) @ h[1:3]
    expected[3] = 0.2 * h[0]
    assert torch.allclose(parent_messages(h, parents, trust, 10.0), expected)


def test_no_parents_pass_nothing() -> None:
    nobody = torch.zeros(2, 0, dtype=torch.long)
    assert not parent_messages(directions(4, 5), nobody, torch.zeros(0).double(), 10.0).any()


def test_links_are_repeated_at_every_time() -> None:
    assert over_time(torch.tensor([[0, 1], [2, 0]]), 2, 3).tolist() == [[0, 1, 3, 4], [2, 0, 5, 3]]


SETTINGS = CausalSphHNSettings(width=8, discovery=0.5)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small() -> tuple[TemporalHypergraph, Panel]:
    data = simulate("snare", agents=40, times=8, seed=0).data
    return data, make_panel(data, statistics_of(data, 8), data.num_classes)


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
    layer = CausalSphHNLayer(8, 0.3, generator())
    h = torch.nn.functional.normalize(torch.randn(panel.groups.num_nodes, 8, generator=generator(1)), dim=-1)
    reliability, parents = torch.rand(len(h), generator=generator(2)), torch.tensor([[0, 1], [2, 2]])
    trust = torch.tensor([0.9, 0.4])
    m = dispersed_attention(h, reliability, torch.tensor(5.0), panel.groups)
    c = parent_messages(h, parents, trust, 10.0)
    new = h + torch.relu(m @ layer.member.weight.T) @ layer.out.weight.T + c @ layer.parent.weight.T
    expected = torch.nn.functional.normalize(new, dim=-1)
    assert torch.allclose(layer(h, reliability, panel.groups, parents, trust), expected, atol=1e-5)


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
    (entropy,) = model.extra_losses(encoding, panel, targets_of(data, 1), generator())
    entropy.backward()
    assert model.head.weight.grad is not None
    assert float(model.head.weight.grad.abs().sum()) > 0


def test_granger_parents_send_messages_and_others_do_not() -> None:
    _, panel = small()
    model = encoder(panel)
    parents, trust = model.parents_in(panel)
    assert parents.shape[1] > 0
    assert float(trust.min()) >= 1 - SETTINGS.discovery
    without_mask = CausalSphHNEncoder(panel.num_inputs, panel.features.shape[-1], SETTINGS, generator())
    targets = torch.zeros(panel.num_agents, dtype=torch.bool)
    targets[parents[1]] = True
    apart = (model(panel).state - without_mask(panel).state).abs().sum(-1).view(panel.num_times, -1) > 1e-6
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
    unseen = dataclasses.replace(panel, agents=tuple(f"new-{i}" for i in range(panel.num_agents)))
    assert [part.shape for part in model.parents_in(unseen)] == [(2, 0), (0,)]
    assert torch.isfinite(model(unseen).state).all()


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
    model.save(tmp_path / "baseline")
    again = CausalSphHN.load(tmp_path / "baseline")
    assert torch.equal(again.network_.spatial.parents, model.network_.spatial.parents)
    assert torch.equal(again.network_.spatial.trust, model.network_.spatial.trust)
    assert again.network_.spatial.parents.shape[1] > 0
    assert torch.equal(again.predict(data).probabilities, model.predict(data).probabilities)
