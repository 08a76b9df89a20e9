"""HyperGCN against its equations, by hand and in dense form."""

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.networks.graphs import convolve, normalised
from sphunc.baselines.networks.hypergcn import HyperGCNEncoder, HyperGCNSettings, expand
from sphunc.baselines.panel import make_panel, statistics_of
from sphunc.errors import ArgumentError
from sphunc.hypergraph import group_by_size


def groups_of(*groups, num_nodes):
    index = torch.tensor([[n, e] for e, group in enumerate(groups) for n in group]).mT
    return group_by_size(index, num_nodes=num_nodes, num_hyperedges=len(groups))


def dense(graph, count):
    entries, diagonal = normalised(graph, count)
    source, target = entries.pairs
    off_diagonal = torch.zeros(count, count).index_put((target, source), entries.weight, accumulate=True)
    return off_diagonal + diagonal.diag()


def propagate(z, graph):
    return convolve(z, normalised(graph, len(z)))


def test_three_agents_by_hand() -> None:
    # Of z = (0, 1, 3) agents 0 and 2 are most different, 1 mediates: three edges of weight 1 / (2 * 3 - 3) = 1/3.
    # Every degree is 1 + 2/3 = 5/3, so that A_hat has 3/5 on the diagonal and 1/5 off it: row 0 gives (1 + 3) / 5.
    z = torch.tensor([[0.0], [1.0], [3.0], [7.0]])
    graph = expand(z, groups_of((0, 1, 2), num_nodes=4), mediators=True)
    assert propagate(z, graph).flatten().tolist() == pytest.approx([0.8, 1.2, 2.0, 7.0])


def test_without_mediators_one_edge_remains() -> None:
    z = torch.tensor([[0.0], [1.0], [3.0]])
    graph = expand(z, groups_of((0, 1, 2), num_nodes=3), mediators=False)
    # One edge {0, 2} of weight 1/3: degrees 4/3, 1, 4/3; row 0 gives (3/4) * 0 + (1/4) * 3.
    assert propagate(z, graph).flatten().tolist() == pytest.approx([0.75, 1.0, 2.25])


def test_pairs_are_the_most_different_members() -> None:
    z = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    groups = groups_of((0, 1), (2, 3, 4, 5), (4, 5, 6, 7), (8, 9, 10, 11, 12), num_nodes=30)
    matrix = torch.zeros(30, 30)
    for members in ((0, 1), (2, 3, 4, 5), (4, 5, 6, 7), (8, 9, 10, 11, 12)):
        i, j = max(((a, b) for a in members for b in members), key=lambda p: float((z[p[0]] - z[p[1]]).norm()))
        for a, b in [(i, j), *((end, k) for end in (i, j) for k in members if k not in (i, j))]:
            matrix[a, b] += 1 / (2 * len(members) - 3)
            matrix[b, a] += 1 / (2 * len(members) - 3)
    matrix += torch.eye(30)
    root = matrix.sum(1).rsqrt()
    got = dense(expand(z, groups, mediators=True), 30)
    assert torch.allclose(got, root[:, None] * matrix * root, atol=1e-6)


def test_equal_members_still_give_two_different_ends() -> None:
    graph = expand(torch.zeros(3, 2), groups_of((0, 1, 2), num_nodes=3), mediators=True)
    assert bool((graph.pairs[0] != graph.pairs[1]).all())
    assert float(graph.weight.sum()) == pytest.approx(2.0)


def test_a_direction_takes_the_ends_of_the_projection() -> None:
    z = torch.tensor([[0.0, 9.0], [1.0, 0.0], [3.0, 1.0]])
    graph = expand(z, groups_of((0, 1, 2), num_nodes=3), mediators=False, direction=torch.tensor([1.0, 0.0]))
    assert sorted(graph.pairs[0].tolist()) == [0, 2]


@pytest.mark.parametrize("pairs", ["exact", "random"])
def test_test_time_is_deterministic_and_may_be_negative(panel, pairs) -> None:
    settings = HyperGCNSettings(width=6, pairs=pairs)
    encoder = HyperGCNEncoder(panel.num_inputs, 1, settings, torch.Generator().manual_seed(0))
    with torch.no_grad():
        first, second = encoder(panel).state, encoder(panel).state
    assert torch.equal(first, second)
    assert float(first.min()) < 0, "no ReLU before the read-out"


def test_native_influence_is_the_mean_adjacency(tiny) -> None:
    panel = make_panel(tiny, statistics_of(tiny, 2), 2)
    settings = HyperGCNSettings(width=4, layers=1)
    encoder = HyperGCNEncoder(panel.num_inputs, 1, settings, torch.Generator().manual_seed(0))
    links = torch.tensor([[1, 0, 3], [2, 1, 0]])
    score = encoder.influence(panel, links)
    # b-c: 1/3 in the trio plus 1 in the pair; degrees a 5/3, b and c 8/3; half of the two times has groups.
    assert score.tolist() == pytest.approx([(4 / 3) / (8 / 3) / 2, (1 / 3) / (40 / 9) ** 0.5 / 2, 0.0])


def test_an_unknown_rule_for_pairs_is_refused(data, split) -> None:
    with pytest.raises(ArgumentError, match="pairs is 'all'; choose 'exact' or 'random'"):
        forecaster("hypergcn", pairs="all").fit(data, split)
