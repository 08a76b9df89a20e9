import gc

import pytest
import torch

import sphunc.nn.attention as attention
import sphunc.nn.kernels.large_groups as large_groups
import sphunc.nn.kernels.tiles as tiles
from sphunc.hypergraph.buckets import group_by_size, weighted_share
from sphunc.nn.attention import angular_attention, angular_attention_with_self
from sphunc.nn.kernels.pairs import find_pairs

GROUPS = [[0, 1, 2], [1, 2], [3], [0, 2, 3, 4, 5, 6, 7, 8, 9], [], [4, 5, 6], [9, 0]]
NODES = 12  # 10 and 11 are in no group


def index_of(groups):
    pairs = [(node, edge) for edge, members in enumerate(groups) for node in members]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T


def buckets():
    return group_by_size(index_of(GROUPS), num_nodes=NODES, num_hyperedges=len(GROUPS))


def directions(dim=5, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(NODES, dim, generator=g, dtype=torch.float64), dim=1)


def transcribed(h, scale, groups, keep_self, weight):
    rows = []
    for i in range(len(h)):
        messages, weights = [], []
        for e, members in enumerate(groups):
            if i not in members or len(members) < 2:
                continue
            heard = [j for j in members if keep_self or j != i]
            scores = torch.stack([torch.exp(scale * (h[i] @ h[j])) for j in heard])
            messages.append(sum(a * h[j] for a, j in zip(scores / scores.sum(), heard, strict=True)))
            weights.append(weight[e])
        rows.append(sum(w * m for w, m in zip(weights, messages, strict=True)) / sum(weights) if messages else 0 * h[i])
    return torch.stack(rows)


ONES = torch.ones(len(GROUPS), dtype=torch.float64)
SHARPNESS = torch.tensor(3.0, dtype=torch.float64)
VARIANTS = {
    "others": (lambda h, s=None: angular_attention(h, SHARPNESS, buckets(), s), 3.0, False),
    "with self": (lambda h, s=None: angular_attention_with_self(h, SHARPNESS, buckets(), s), 3.0, True),
}


WAYS = {
    "pairs": (9, 2048, 512),
    "tiles": (0, 2048, 512),
    "tiny tiles": (0, 4, 512),
    "blocks": (0, 2048, 2),
    "pairs and tiles": (2, 4, 512),
    "pairs, tiles and blocks": (2, 4, 4),
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    paired, rows, large = WAYS[request.param]
    monkeypatch.setattr(attention, "PAIRED_UP_TO_CPU", paired)
    monkeypatch.setattr(tiles, "TILE_ROWS_CPU", rows)
    monkeypatch.setattr(tiles, "LARGE_GROUP", large)
    monkeypatch.setattr(large_groups, "BLOCK_WEIGHTS", 12)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.usefixtures("way")
def test_attention_is_its_equation(name):
    pool, scale, keep_self = VARIANTS[name]
    h = directions()
    torch.testing.assert_close(pool(h), transcribed(h, scale, GROUPS, keep_self, ONES))


@pytest.mark.parametrize("name", VARIANTS)
def test_weighted_groups_are_a_weighted_mean(name):
    pool, scale, keep_self = VARIANTS[name]
    h, weight = directions(), torch.tensor([1.0, 2.0, 5.0, 0.5, 1.0, 3.0, 0.25], dtype=torch.float64)
    share = weighted_share(buckets(), weight)
    torch.testing.assert_close(pool(h, share), transcribed(h, scale, GROUPS, keep_self, weight))


@pytest.mark.parametrize("keep_self", [False, True])
@pytest.mark.usefixtures("way")
def test_gradients_in_directions_sharpness_and_weights(keep_self):
    groups, attend = buckets(), angular_attention_with_self if keep_self else angular_attention
    weight = torch.linspace(0.5, 2, len(GROUPS), dtype=torch.float64).requires_grad_()
    inputs = (directions(3).requires_grad_(), torch.tensor(2.0, dtype=torch.float64, requires_grad=True), weight)
    assert torch.autograd.gradcheck(lambda h, k, w: attend(h, k, groups, weighted_share(groups, w)), inputs)


def test_gradient_at_sharpness_zero_is_right():
    groups = buckets()
    inputs = (directions(3).requires_grad_(), torch.tensor(0.0, dtype=torch.float64, requires_grad=True))
    assert torch.autograd.gradcheck(lambda h, k: angular_attention(h, k, groups), inputs)


@pytest.mark.parametrize("name", VARIANTS)
def test_rotating_the_directions_rotates_the_result(name):
    pool, h = VARIANTS[name][0], directions()
    rotation, _ = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    torch.testing.assert_close(pool(h @ rotation), pool(h) @ rotation)


@pytest.mark.parametrize("name", VARIANTS)
def test_renaming_the_agents_renames_the_result(name, monkeypatch):
    pool, h = VARIANTS[name][0], directions()
    before = pool(h)
    name_of = torch.randperm(NODES, generator=torch.Generator().manual_seed(2))
    renamed = [[int(name_of[j]) for j in members] for members in reversed(GROUPS)]
    monkeypatch.setitem(globals(), "GROUPS", renamed)
    after = pool(torch.empty_like(h).index_copy(0, name_of, h))
    torch.testing.assert_close(after[name_of], before)


def test_isolated_agents_and_groups_of_one_hear_nothing():
    alone = [[3], [4]]
    groups = group_by_size(index_of(alone), num_nodes=NODES, num_hyperedges=2)
    for attend in (angular_attention, angular_attention_with_self):
        assert not attend(directions(), SHARPNESS, groups).any()


def test_no_groups_at_all_pass_no_message_and_no_gradient():
    groups = group_by_size(index_of([]), num_nodes=NODES, num_hyperedges=0)
    h = directions().requires_grad_()
    pooled = angular_attention(h, SHARPNESS, groups)
    pooled.sum().backward()
    assert not pooled.any()
    assert h.grad is not None
    assert not h.grad.any()


def test_infinite_sharpness_listens_to_the_most_similar_other_or_to_oneself():
    h, groups = directions(), group_by_size(index_of([[0, 1, 2, 3]]), num_nodes=NODES, num_hyperedges=1)
    sharp = torch.tensor(1e6, dtype=torch.float64)
    nearest = (h[:4] @ h[:4].T).fill_diagonal_(-2).argmax(1)
    torch.testing.assert_close(angular_attention(h, sharp, groups)[:4], h[nearest])
    torch.testing.assert_close(angular_attention_with_self(h, sharp, groups)[:4], h[:4])


def test_float32_agrees_with_float64():
    h = directions(64)
    exact = angular_attention(h, SHARPNESS, buckets())
    single = angular_attention(h.float(), SHARPNESS.float(), buckets())
    torch.testing.assert_close(single.double(), exact, atol=1e-6, rtol=1e-5)


def test_a_time_without_groups_passes_no_message():
    at_time_one = index_of([[NODES + j for j in members] for members in GROUPS])
    groups = group_by_size(at_time_one, num_nodes=3 * NODES, num_hyperedges=len(GROUPS))
    h = directions()
    pooled = angular_attention(torch.cat([h, h, h]), SHARPNESS, groups)
    assert not pooled[:NODES].any()
    assert not pooled[2 * NODES :].any()
    torch.testing.assert_close(pooled[NODES : 2 * NODES], angular_attention(h, SHARPNESS, buckets()))


def test_pairs_are_found_once_per_hypergraph_and_forgotten_with_it(monkeypatch):
    found = []
    monkeypatch.setattr(attention, "find_pairs", lambda *args, **kwargs: found.append(1) or find_pairs(*args, **kwargs))
    groups, known = buckets(), len(attention._PLANS)
    for _ in range(3):
        angular_attention(directions(), SHARPNESS, groups)
    angular_attention_with_self(directions(), SHARPNESS, groups)
    assert len(found) == 2
    assert len(attention._PLANS) == known + 1
    del groups
    gc.collect()
    assert len(attention._PLANS) <= known


def test_a_few_larger_groups_go_with_the_small_ones():
    pairs = [[2 * k, 2 * k + 1] for k in range(100)]
    for size, rest in ((12, 0), (20, 1), (40, 1)):  # of 144, 400 and 1600 pairs among 200 agents
        groups = group_by_size(index_of([*pairs, list(range(size))]), num_nodes=200, num_hyperedges=101)
        assert len(attention._plan(groups, False).rest.shapes) == rest
