import pytest
import torch

import sphunc.nn.structural as structural
from sphunc.nn.structural import influence_sum

N, D = 5, 4
LINKS = torch.tensor([[0, 1, 2, 2, 4, 0], [1, 0, 0, 1, 4, 3]])
K = LINKS.shape[1]


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(params=[2**22, 1], ids=["at once", "link by link"])
def chunk(request, monkeypatch):
    monkeypatch.setattr(structural, "GATHER_CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
def test_sum_is_its_equation():
    values, gates = normal(N, D), normal(K, seed=1)
    expected = torch.zeros(N, D, dtype=torch.float64)
    for (source, target), gate in zip(LINKS.T.tolist(), gates, strict=True):
        expected[target] += gate * values[source]
    torch.testing.assert_close(influence_sum(values, LINKS, gates), expected)


@pytest.mark.usefixtures("chunk")
def test_gradients():
    inputs = (normal(N, D).requires_grad_(), normal(K, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(lambda v, g: influence_sum(v, LINKS, g), inputs)


def test_nothing_reaches_an_agent_without_parents_or_a_world_without_links():
    values = normal(N, D)
    assert not influence_sum(values, LINKS, normal(K))[2].any()
    assert not influence_sum(values, LINKS[:, :0], normal(0)).any()


def test_rotation_turns_what_reaches_agents():
    values, gates = normal(N, D), normal(K, seed=1)
    rotation, _ = torch.linalg.qr(normal(D, D, seed=5))
    torch.testing.assert_close(
        influence_sum(values @ rotation, LINKS, gates), influence_sum(values, LINKS, gates) @ rotation
    )


def test_renaming_agents_renames_the_result():
    h, gates, name_of = normal(N, D), normal(K, seed=1), torch.tensor([3, 0, 4, 1, 2])
    renamed = influence_sum(torch.empty_like(h).index_copy(0, name_of, h), name_of[LINKS], gates)
    torch.testing.assert_close(renamed[name_of], influence_sum(h, LINKS, gates))
