import math

import pytest
import torch

from sphunc.baselines.membership import false_members, membership_loss


def test_loss_by_hand() -> None:
    h, z = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[3.0, 1.0]])
    true, false = (torch.tensor([0]), torch.tensor([0])), (torch.tensor([1]), torch.tensor([0]))
    # Scores 3 and 2: -log sigmoid(3) - log sigmoid(-2).
    wanted = math.log1p(math.exp(-3)) + math.log1p(math.exp(2))
    assert float(membership_loss(h, z, torch.eye(2), true, false)) == pytest.approx(wanted)


def test_nobody_meets() -> None:
    none = (torch.zeros(0, dtype=torch.long),) * 2
    assert float(membership_loss(torch.ones(2, 2), torch.ones(1, 2), torch.eye(2), none, none)) == 0.0


def test_false_members_met_elsewhere_at_the_same_time(panel) -> None:
    node, group = false_members(panel, torch.Generator().manual_seed(0))
    true = set(zip(panel.groups.node.tolist(), panel.groups.hyperedge.tolist(), strict=True))
    assert len(node) > 0.8 * len(true)
    assert not true & set(zip(node.tolist(), group.tolist(), strict=True))
    assert torch.equal(node // panel.num_agents, panel.group_time[group])
    assert set(node.tolist()) <= {n for n, _ in true}
