"""Averages over groups against double loops: weights, overlapping groups, groups of one, nothing at all."""

import pytest
import torch

from sphunc.hypergraph import assemble
from sphunc.hypergraph.incidence import Incidence, incidence_at

N = 7
MEMBERS = [[0, 1, 2], [1, 2, 3, 4], [5], [0, 4]]  # 6 meets nobody, 5 only itself


def make(seed=0, weighted=True):
    g = torch.Generator().manual_seed(seed)
    agent = torch.tensor([i for group in MEMBERS for i in group])
    group = torch.tensor([e for e, members in enumerate(MEMBERS) for _ in members])
    weight = torch.ones(len(agent), dtype=torch.float64)
    if weighted:
        weight = 0.2 + 3 * torch.rand(len(agent), generator=g, dtype=torch.float64)
    return Incidence(agent, group, weight, N, len(MEMBERS))


def weights(groups):
    table = {}
    for i, e, w in zip(groups.agent.tolist(), groups.group.tolist(), groups.weight.tolist(), strict=True):
        table[e, i] = w
    return table


def numbers(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_of_others_is_that_of_two_loops(weighted):
    groups = make(weighted=weighted)
    w = weights(groups)
    values = numbers(N, 3)
    known = (numbers(N, 3, seed=2) > -0.3).double()
    mean, weight = groups.mean_of_others(values, known)
    for i in range(N):
        for column in range(3):
            top = 0.0
            bottom = 0.0
            for e, members in enumerate(MEMBERS):
                others = [j for j in members if j != i]
                if i not in members or not others:
                    continue
                mass = sum(w[e, j] for j in others)
                top += sum(w[e, j] * known[j, column] * values[j, column] for j in others) / mass
                bottom += sum(w[e, j] * known[j, column] for j in others) / mass
            expected = top / bottom if bottom else torch.tensor(0.0)
            assert float(weight[i, column]) == pytest.approx(float(bottom), rel=1e-12, abs=1e-14)
            assert float(mean[i, column]) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
    assert mean[[5, 6]].abs().sum() == 0
    assert weight[[5, 6]].abs().sum() == 0


@pytest.mark.parametrize("scale", [1.7, 0.6])  # groups below full cohesion, and above it
@pytest.mark.parametrize("weighted", [False, True])
def test_cohesive_mean_is_that_of_two_loops(weighted, scale):
    groups = make(weighted=weighted)
    w = weights(groups)
    states = numbers(N, 4)
    message = groups.cohesive_mean(states, scale)
    for i in range(N):
        total = torch.zeros(4, dtype=torch.float64)
        mine = [e for e, members in enumerate(MEMBERS) if i in members]
        for e in mine:
            mass = sum(w[e, j] for j in MEMBERS[e])
            mean = sum(w[e, j] * states[j] for j in MEMBERS[e]) / mass
            others = sum((w[e, j] * states[j] for j in MEMBERS[e] if j != i), torch.zeros(4)) / mass
            total = total + min(1.0, float(mean.norm()) / scale) * others
        expected = total / max(1, len(mine))
        torch.testing.assert_close(message[i], expected, rtol=1e-10, atol=1e-12)


def test_a_group_of_one_sends_no_message():
    message = make().cohesive_mean(numbers(N, 4), 1.0)
    assert message[6].abs().max() == 0
    # The group's mean less the member's own share is its state less itself: zero up to rounding.
    assert message[5].abs().max() < 1e-14


def test_a_batch_of_states_is_its_elements():
    groups = make()
    states = numbers(N, 5, 3)
    together = groups.cohesive_mean(states, 2.0)
    for k in range(5):
        # The same sums in the same order, over other strides.
        torch.testing.assert_close(together[:, k], groups.cohesive_mean(states[:, k], 2.0), rtol=1e-13, atol=1e-15)


def test_weights_count_only_relative_to_each_other():
    groups = make()
    scaled = Incidence(groups.agent, groups.group, 10 * groups.weight, N, groups.num_groups)
    values = numbers(N, 2)
    ones = torch.ones_like(values)
    before, _ = groups.mean_of_others(values, ones)
    after, _ = scaled.mean_of_others(values, ones)
    torch.testing.assert_close(before, after, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(groups.cohesive_mean(values, 1.0), scaled.cohesive_mean(values, 1.0))
    plain, _ = make(weighted=False).mean_of_others(values, ones)
    assert (plain - before).abs().max() > 1e-3


def test_members_without_weight_are_left_out():
    agent = torch.tensor([0, 1, 2])
    groups = Incidence(agent, torch.zeros(3, dtype=torch.long), torch.tensor([1.0, 0.0, 1.0]).double(), 3, 1)
    values = torch.tensor([[1.0], [100.0], [3.0]]).double()
    mean, _ = groups.mean_of_others(values, torch.ones_like(values))
    assert mean.flatten().tolist() == pytest.approx([3.0, 2.0, 1.0])
    nothing = Incidence(agent, groups.group, torch.zeros(3).double(), 3, 1)
    mean, weight = nothing.mean_of_others(values, torch.ones_like(values))
    assert mean.abs().sum() + weight.abs().sum() == 0
    assert nothing.cohesive_mean(values, 1.0).abs().sum() == 0
    assert nothing.group_count().tolist() == [0.0, 0.0, 0.0]


def test_groups_in_which_somebody_is_met_are_counted():
    assert make().group_count().tolist() == [2.0, 2.0, 2.0, 1.0, 2.0, 0.0, 0.0]


def test_no_groups_at_all():
    nothing = torch.zeros(0, dtype=torch.long)
    groups = Incidence(nothing, nothing, torch.zeros(0).double(), N, 0)
    values = numbers(N, 2)
    mean, weight = groups.mean_of_others(values, torch.ones_like(values))
    assert mean.abs().sum() + weight.abs().sum() == 0
    assert groups.cohesive_mean(values, 1.0).abs().sum() == 0
    assert groups.group_count().tolist() == [0.0] * N


def test_a_group_that_is_cut_has_no_effect():
    groups = make()
    cut = groups.without(torch.tensor([1]))
    assert cut.num_groups == groups.num_groups
    assert set(cut.group.tolist()) == {0, 2, 3}
    values = numbers(N, 2)
    changed = values.clone()
    changed[3] += 5.0  # met in group 1 only
    ones = torch.ones_like(values)
    assert torch.equal(cut.mean_of_others(values, ones)[0][:3], cut.mean_of_others(changed, ones)[0][:3])
    assert not torch.equal(groups.mean_of_others(values, ones)[0], groups.mean_of_others(changed, ones)[0])


def test_order_of_memberships_does_not_matter():
    groups = make()
    order = torch.randperm(len(groups.agent), generator=torch.Generator().manual_seed(3))
    mixed = Incidence(groups.agent[order], groups.group[order], groups.weight[order], N, groups.num_groups)
    values = numbers(N, 2)
    ones = torch.ones_like(values)
    # Sums in another order differ in the last bits.
    torch.testing.assert_close(groups.mean_of_others(values, ones)[0], mixed.mean_of_others(values, ones)[0])
    torch.testing.assert_close(groups.cohesive_mean(values, 1.0), mixed.cohesive_mean(values, 1.0))


def panel(*weight):
    columns = ([0, 0, 1, 1, 2], [0, 1, 0, 2, 1])
    return assemble(
        times=["mon", "tue"],
        node_ids="abc",
        memberships=(*columns, *weight),
        hyperedge_time=[0, 1, 1],
        hyperedge_ids=["x", "y", "z"],
    )


def test_memberships_of_one_time_are_those_of_its_groups():
    first = incidence_at(panel(), 0)
    second = incidence_at(panel(), 1)
    assert (first.num_groups, first.num_agents) == (1, 3)
    assert first.agent.tolist() == [0, 1]
    assert second.agent.tolist() == [0, 2, 1]
    assert second.group.tolist() == [0, 0, 1]
    assert second.weight.tolist() == [1.0, 1.0, 1.0]


def test_weights_of_memberships_are_those_of_the_data():
    data = panel([1.0, 2.0, 3.0, 4.0, 5.0])
    assert incidence_at(data, 0).weight.tolist() == [1.0, 2.0]
    assert incidence_at(data, 1).weight.tolist() == [3.0, 4.0, 5.0]
    assert incidence_at(data, 1, torch.float32).weight.dtype == torch.float32
