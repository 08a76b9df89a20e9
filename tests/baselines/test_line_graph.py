import pytest
import torch

from sphunc.baselines.line_graph import flow, line_graph, line_graph_of
from sphunc.baselines.panel import learn_scale, make_panel
from sphunc.hypergraph.buckets import group_by_size


def test_three_groups_by_hand() -> None:
    # Groups {0,1,2}, {1,2}, {2,3} share 2, 1 and 1 members: degrees 3, 3 and 2.
    index = torch.tensor([[0, 1, 2, 1, 2, 2, 3], [0, 0, 0, 1, 1, 2, 2]])
    line = line_graph(group_by_size(index, num_nodes=4, num_hyperedges=3))
    spread = line.spread(torch.eye(3))
    assert spread[0].tolist() == pytest.approx([0.0, 2 / 3, 1 / 6**0.5])
    assert torch.allclose(spread, spread.mT)


def test_a_group_that_shares_nobody_hears_nothing(tiny) -> None:
    line = line_graph(group_by_size(torch.tensor([[0, 1], [0, 0]]), num_nodes=2, num_hyperedges=2))
    assert line.spread(torch.ones(2, 1)).tolist() == [[0.0], [0.0]]


def test_flow_is_its_equation(tiny) -> None:
    panel = make_panel(tiny, learn_scale(tiny, 2), 2)
    generator = torch.Generator().manual_seed(0)
    up, down = torch.rand(2, 5, generator=generator)
    candidates = torch.tensor([[0, 1, 2, 0], [1, 0, 1, 3]])
    line = line_graph_of(panel)
    assert line_graph_of(panel) is line, "made once per panel"
    a, b = torch.zeros(4, 2), torch.zeros(4, 2)
    a[panel.groups.node, panel.groups.hyperedge] = up
    b[panel.groups.node, panel.groups.hyperedge] = down
    S = b @ (torch.eye(2) + 0.5 * line.spread(torch.eye(2))) @ a.mT
    wanted = [float(S[target, source]) for source, target in candidates.mT.tolist()]
    assert flow(panel, down, up, candidates).tolist() == pytest.approx(wanted)
