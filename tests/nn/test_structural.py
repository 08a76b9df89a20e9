import gc

import pytest
import torch

import sphunc.nn.structural as structural
from sphunc.nn.structural import influence_sum, sparse_product

N, D = 5, 4
LINKS = torch.tensor([[0, 1, 2, 2, 4, 0], [1, 0, 0, 1, 4, 3]])
K = LINKS.shape[1]


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


SORTED = LINKS[:, (LINKS[1] * N + LINKS[0]).argsort()]
REPEATED = torch.cat([LINKS, LINKS[:, :2]], 1)


@pytest.mark.parametrize("links", [LINKS, SORTED, REPEATED], ids=["any order", "sorted", "repeated"])
def test_sum_is_its_equation(links):
    values, gates = normal(N, D), normal(links.shape[1], seed=1)
    expected = torch.zeros(N, D, dtype=torch.float64)
    for (source, target), gate in zip(links.T.tolist(), gates, strict=True):
        expected[target] += gate * values[source]
    torch.testing.assert_close(influence_sum(values, links, gates), expected)


@pytest.mark.parametrize("links", [LINKS, SORTED], ids=["any order", "sorted"])
def test_gradients(links):
    values, gates = normal(N, D).requires_grad_(), normal(K, seed=1)
    assert torch.autograd.gradcheck(lambda v: influence_sum(v, links, gates), values)


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


def test_links_that_are_overwritten_are_looked_at_again():
    values, gates, links = normal(N, D), normal(K, seed=1), LINKS.clone()
    influence_sum(values, links, gates)
    links.copy_(LINKS.flip(0))
    torch.testing.assert_close(influence_sum(values, links, gates), influence_sum(values, LINKS.flip(0), gates))


def test_the_same_links_serve_more_agents():
    gates = normal(K, seed=1)
    more = influence_sum(normal(N + 2, D), LINKS, gates)
    assert not more[N:].any()
    torch.testing.assert_close(more[:N], influence_sum(normal(N + 2, D)[:N], LINKS, gates))


def test_sparse_product_is_the_dense_one_with_its_gradient():
    dense = normal(3, N) * torch.tensor([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 1]])
    matrix, values = dense.to_sparse_coo(), normal(N, D, seed=2).requires_grad_()
    torch.testing.assert_close(sparse_product(matrix, values), dense @ values)
    assert torch.autograd.gradcheck(lambda v: sparse_product(matrix, v), values)


def test_what_is_known_of_a_matrix_is_forgotten_with_it():
    matrix, known = normal(3, N).to_sparse_coo(), (len(structural._MATRICES), len(structural._ROUTES))
    sparse_product(matrix, normal(N, D))
    assert (len(structural._MATRICES), len(structural._ROUTES)) == (known[0] + 1, known[1] + 1)
    del matrix
    gc.collect()
    assert (len(structural._MATRICES), len(structural._ROUTES)) == known


@pytest.mark.parametrize("made_inside", [True, False], ids=["made inside", "made before"])
def test_inference_mode_is_no_hindrance_then_or_later(made_inside):
    values, gates, dense = normal(N, D), normal(K, seed=1), normal(3, N, seed=2)
    links, matrix = LINKS.clone(), dense.to_sparse_coo()
    with torch.inference_mode():
        if made_inside:
            links, matrix = LINKS.clone(), dense.clone().to_sparse_coo()
        for _ in range(2):
            torch.testing.assert_close(influence_sum(values, links, gates), influence_sum(values, LINKS, gates))
            torch.testing.assert_close(sparse_product(matrix, values), dense @ values)
    if not made_inside:
        later = values.clone().requires_grad_()
        (influence_sum(later, links, gates).sum() + sparse_product(matrix, later).sum()).backward()
        assert later.grad is not None
