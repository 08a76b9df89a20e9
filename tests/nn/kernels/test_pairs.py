import warnings

import pytest
import torch

from sphunc.hypergraph.buckets import group_by_size
from sphunc.nn.kernels.pairs import PairPool, find_pairs

GROUPS = [[0, 1, 2], [1, 2], [0, 2, 3, 4], [5, 4, 3], [5, 0]]  # 1 and 2, 0 and 2, 3 and 4 meet twice
NODES = 7  # 6 is in no group
INDEX = torch.tensor([(node, edge) for edge, members in enumerate(GROUPS) for node in members]).T
BUCKETS = group_by_size(INDEX, num_nodes=NODES, num_hyperedges=len(GROUPS))


def listeners(offsets):
    return torch.arange(NODES).repeat_interleave(offsets.diff())


def directions(seed=0):
    return torch.randn(NODES, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("keep_self", [False, True])
def test_every_ordered_pair_of_every_group_is_there_once(keep_self):
    pairs = find_pairs(BUCKETS, keep_self=keep_self)
    found = sorted(zip(listeners(pairs.offsets).tolist(), pairs.speaker.tolist(), strict=True))
    assert found == sorted((i, j) for members in GROUPS for i in members for j in members if keep_self or i != j)


@pytest.mark.parametrize("keep_self", [False, True])
def test_half_of_them_takes_each_unordered_pair_once(keep_self):
    pairs = find_pairs(BUCKETS, keep_self=keep_self)
    found = sorted(zip(listeners(pairs.half_offsets).tolist(), pairs.half_speaker.tolist(), strict=True))
    assert found == sorted(
        (i, j) for members in GROUPS for i in members for j in members if i < j or (keep_self and i == j)
    )


@pytest.mark.parametrize("keep_self", [False, True])
def test_places_lead_back_and_reversed_pairs_are_reversed(keep_self):
    pairs = find_pairs(BUCKETS, keep_self=keep_self)
    in_order = torch.arange(pairs.speaker.numel())
    assert torch.equal(pairs.rank[pairs.place], in_order)
    reverse = pairs.rank[pairs.place_reversed]
    assert torch.equal(reverse[reverse], in_order)
    assert torch.equal(pairs.speaker[reverse], listeners(pairs.offsets))
    assert torch.equal(pairs.half_rank[pairs.place], pairs.half_rank[pairs.place_reversed])
    half = pairs.half_rank[pairs.place]
    lower = torch.minimum(pairs.half_speaker[half], listeners(pairs.half_offsets)[half])
    assert torch.equal(lower, torch.minimum(pairs.speaker, listeners(pairs.offsets)))


def test_blocks_hold_the_speakers_of_one_listener_along_their_middle_axis():
    pairs = find_pairs(BUCKETS, keep_self=False)
    listener, speaker = listeners(pairs.offsets)[pairs.rank], pairs.speaker[pairs.rank]
    for block, heard, agents in zip(
        pairs.blocks(listener), pairs.blocks(speaker), pairs.memberships(BUCKETS.node), strict=True
    ):
        assert torch.equal(block, agents.expand_as(block))
        assert bool((heard.sort(1).values.diff(dim=1) > 0).all())


@pytest.mark.parametrize("keep_self", [False, True])
def test_gradients_in_directions_sharpness_and_shares(keep_self):
    pairs, scale = find_pairs(BUCKETS, keep_self=keep_self), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    share = BUCKETS.share.double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda h, k, s: PairPool.apply(h, k, s, pairs), (directions().requires_grad_(), scale, share)
    )
    transposed = directions().T.contiguous().T.requires_grad_()
    assert torch.autograd.gradcheck(lambda h, k: PairPool.apply(h, k, None, pairs), (transposed, scale))


def test_a_listener_whose_shares_are_zero_hears_nothing_but_learns_what_it_missed():
    share = torch.zeros_like(BUCKETS.share, dtype=torch.float64, requires_grad=True)
    pairs, scale = find_pairs(BUCKETS, keep_self=False), torch.tensor(1.5, dtype=torch.float64)
    pooled = PairPool.apply(directions(), scale, share, pairs)
    assert not pooled.any()
    pooled.backward(directions(1))
    assert share.grad is not None
    assert bool(share.grad.all())


def test_no_warning_reaches_the_user_when_invariants_are_checked():
    pairs = find_pairs(BUCKETS, keep_self=False)
    with warnings.catch_warnings(), torch.sparse.check_sparse_tensor_invariants():
        warnings.simplefilter("error")
        PairPool.apply(directions(), torch.tensor(1.5, dtype=torch.float64), None, pairs)
