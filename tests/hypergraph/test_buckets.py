import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.hypergraph.buckets import group_by_size, group_over_time, weighted_share

INDEX = torch.tensor([[0, 1, 2, 1, 3, 4, 2, 3], [0, 0, 0, 2, 2, 3, 4, 4]])


def test_each_size_becomes_one_rectangle_of_its_groups():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    pairs, triples = groups.rectangles()
    assert pairs.tolist() == [[1, 3], [2, 3]]
    assert triples.tolist() == [[0, 1, 2]]
    assert groups.hyperedge.tolist() == [2, 2, 4, 4, 0, 0, 0]
    assert groups.shapes == ((2, 2), (1, 3))


def test_shares_of_an_agent_sum_to_one_and_groups_of_one_do_not_count():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    total = torch.zeros(6).index_add(0, groups.node, groups.share)
    assert total.tolist() == pytest.approx([1, 1, 1, 1, 0, 0], abs=1e-6)


def test_order_and_repetition_do_not_matter():
    shuffled = INDEX[:, torch.tensor([7, 0, 3, 3, 5, 1, 2, 6, 4, 0])]
    a, b = (group_by_size(i, num_nodes=6, num_hyperedges=5) for i in (INDEX, shuffled))
    assert torch.equal(a.node, b.node)
    assert torch.equal(a.hyperedge, b.hyperedge)


def test_tiles_cover_every_membership_once_with_whole_groups():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    assert list(groups.tiles(2)) == [(0, 1, 2), (2, 1, 2), (4, 1, 3)]
    assert list(groups.tiles(100)) == [(0, 2, 2), (4, 1, 3)]


def test_no_groups_at_all():
    groups = group_by_size(torch.empty(2, 0, dtype=torch.long), num_nodes=3, num_hyperedges=0)
    assert list(groups.rectangles()) == []
    assert list(groups.tiles(8)) == []
    assert repr(groups) == "Buckets(3 agents, 0 groups: none of two or more)"


def test_repr_tells_the_sizes_and_to_moves_every_tensor():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    assert repr(groups) == "Buckets(6 agents, 5 groups: 2 of 2, 1 of 3)"
    moved = groups.to("meta")
    assert {moved.node.device.type, moved.hyperedge.device.type, moved.share.device.type} == {"meta"}


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (4, 5, r"hyperedge_index\[0\] holds 4, but num_nodes is 4"),
        (6, 4, r"hyperedge_index\[1\] holds 4, but num_hype"),
    ],
)
def test_indices_outside_the_stated_sizes_are_refused(nodes, edges, message):
    with pytest.raises(ArgumentError, match=message):
        group_by_size(INDEX, num_nodes=nodes, num_hyperedges=edges)


def test_weighted_share_is_the_weight_over_the_agents_total():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    share = weighted_share(groups, torch.tensor([3.0, 9.0, 1.0, 9.0, 0.0]))
    assert share.tolist() == [0.25, 1, 0, 0, 1, 0.75, 1]


def test_an_agent_without_weight_has_share_zero_and_finite_gradient():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    weight = torch.zeros(5, requires_grad=True)
    share = weighted_share(groups, weight)
    share.sum().backward()
    assert share.tolist() == [0.0] * 7
    assert weight.grad is not None
    assert bool(weight.grad.isfinite().all())


def test_faulty_weights_are_refused():
    groups = group_by_size(INDEX, num_nodes=6, num_hyperedges=5)
    with pytest.raises(ArgumentError, match="weight has 2 entries, but there are 5 groups"):
        weighted_share(groups, torch.ones(2))
    with pytest.raises(ArgumentError, match="weight holds -1; weights of a mean are 0 or more"):
        weighted_share(groups, torch.tensor([1.0, -1.0, 1.0, 1.0, 1.0]))


def test_groups_of_all_times_stay_at_their_time():
    data = TemporalHypergraph(
        x=torch.zeros(3, 4, 1),
        x_mask=torch.ones(3, 4, 1, dtype=torch.bool),
        hyperedge_index=torch.tensor([[0, 1, 1, 2, 3], [0, 0, 1, 1, 1]]),
        hyperedge_time=torch.tensor([0, 2]),
        y=None,
        y_mask=torch.zeros(3, 4, dtype=torch.bool),
        num_nodes=4,
        num_hyperedges=2,
        node_ids=tuple("abcd"),
        hyperedge_ids=(0, 1),
        feature_names=("f",),
        class_names=(),
        times=(0, 1, 2),
    )
    groups = group_over_time(data)
    assert groups.num_nodes == 12
    assert [r.tolist() for r in groups.rectangles()] == [[[0, 1]], [[9, 10, 11]]]


@pytest.mark.parametrize("far", [10**10, 2**63 - 2])
def test_groups_may_be_named_by_large_numbers(far):
    index = torch.tensor([[2, 0, 1, 0, 3, 2], [far, far, 7, 7, 7, 3]])
    near = torch.stack([index[0], torch.tensor([2, 2, 1, 1, 1, 0])])
    groups = group_by_size(index, num_nodes=4, num_hyperedges=far + 1)
    wanted = group_by_size(near, num_nodes=4, num_hyperedges=3)
    assert groups.hyperedge.tolist() == [far, far, 7, 7, 7]
    assert torch.equal(groups.node, wanted.node)
    assert torch.equal(groups.share, wanted.share)
    assert groups.shapes == wanted.shapes
