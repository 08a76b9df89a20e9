"""Messages of Causal-SphHN against plain loops, with one number by hand."""

import math

import torch

from sphunc.baselines.causal_sphhn_messages import (
    dispersed_attention,
    over_time,
    parent_messages,
    parent_weights,
    softmax_by_target,
)
from sphunc.hypergraph.buckets import group_by_size

MEMBERS = [[0, 1, 2], [1, 3], [0, 2, 3, 4]]


def directions(*shape: int, seed: int = 0) -> torch.Tensor:
    raw = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    return torch.nn.functional.normalize(raw, dim=-1)


def buckets(members: list[list[int]], nodes: int):
    index = torch.tensor([[i, e] for e, group in enumerate(members) for i in group]).T
    return group_by_size(index, num_nodes=nodes, num_hyperedges=len(members))


def test_attention_by_hand() -> None:
    # Agent 0 looks along the first axis at agents along the first (reliability 1/3) and second axis (reliability 1):
    # weights e^{log 3} / 3 : 1 = 1 : 1 at sharpness log 3.
    h = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    heard = dispersed_attention(h, torch.tensor([1.0, 1 / 3, 1.0]), torch.tensor(math.log(3)), buckets([[0, 1, 2]], 3))
    assert torch.allclose(heard[0], torch.tensor([0.5, 0.5]))


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
    large = softmax_by_target(torch.tensor([800.0, 800.0, -900.0]), torch.tensor([0, 0, 1]), 2)
    assert large.tolist() == [0.5, 0.5, 1.0]


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
