"""Splits keep the time order, keep agents apart, and say when a panel is too short."""

from datetime import date, timedelta

import pytest

from sphunc.errors import ArgumentError
from sphunc.hypergraph import AgentSplit, Split, agent_split, assemble, check_split, group_split, time_split
from sphunc.hypergraph.splits import PARTS, connected_agents, least_times


def panel(T, N=4):
    return assemble(times=range(T), node_ids=range(N))


def communities_of_three(count=10):
    return assemble(
        times=[0],
        node_ids=range(3 * count),
        hyperedge_ids=range(count),
        hyperedge_time=[0] * count,
        memberships=([i // 3 for i in range(3 * count)], range(3 * count)),
    )


def test_five_times_give_one_origin_to_each_part():
    assert time_split(panel(5)) == Split((0,), (1,), (2,), (3,), horizon=1)


def test_four_times_share_validation_and_calibration():
    split = time_split(panel(4))
    assert split == Split((0,), (1,), (1,), (2,), horizon=1)
    assert split.shared
    assert str(split) == (
        "origins (positions in times): train 0, validation 1, calibration 1, test 2; horizon 1 "
        "(validation = calibration)"
    )


def test_three_times_are_too_few():
    with pytest.raises(ArgumentError, match=r"3 times are too few .* at horizon 1; give at least 4 times"):
        time_split(panel(3))
    with pytest.raises(
        ArgumentError, match=r"1 time is too few to train, validate and test at horizon 1; give at least 4"
    ):
        time_split(panel(1))


@pytest.mark.parametrize("horizon", [0, -1, 9])
def test_impossible_horizons_are_refused(horizon):
    with pytest.raises(
        ArgumentError, match=f"at horizon {horizon}; give at least .* times, or a horizon between 1 and 3"
    ):
        time_split(panel(10), horizon=horizon)


@pytest.mark.parametrize(("T", "horizon"), [(T, h) for h in (1, 2, 3) for T in range(3 * h + 1, 40)])
def test_every_split_is_whole_ordered_and_free_of_leaks(T, horizon):
    if 3 * horizon + 1 > T:
        pytest.skip("too short, tested above")
    data = panel(T)
    split = time_split(data, horizon)
    check_split(data, split)
    assert split.targets("test")[-1] == T - 1
    assert split.shared == (4 * horizon + 1 > T)
    assert len(split.train) >= len(split.validation) or T < 20


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("gap", [True, False])
def test_least_times_are_enough_and_one_less_is_not(horizon, gap):
    least = least_times(horizon, gap=gap)
    time_split(panel(least), horizon, gap=gap)
    with pytest.raises(ArgumentError, match=f"give at least {least} times"):
        time_split(panel(least - 1), horizon, gap=gap)


def test_without_gap_no_origin_is_left_out():
    split = time_split(panel(20), horizon=3, gap=False)
    assert [origin for part in PARTS for origin in getattr(split, part)] == list(range(17))


def test_shares_are_met():
    split = time_split(panel(101), shares=(0.5, 0.2, 0.1, 0.2))
    assert [len(getattr(split, part)) for part in PARTS] == [50, 20, 10, 20]


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0)])
def test_shares_must_be_four_positive_numbers(shares):
    with pytest.raises(ArgumentError, match="give four positive numbers for train, validation, calibration, test"):
        time_split(panel(10), shares=shares)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (((1,), (0,), (2,), (3,)), "validation begins at origin 0, but train ends at 1; keep the time order"),
        (((), (0,), (2,), (3,)), r"train is \(\); give ascending time indices"),
        (((0,), (1,), (2,), (4, 3)), r"test is \(4, 3\); give ascending time indices"),
    ],
)
def test_a_split_by_hand_is_checked(parts, message):
    with pytest.raises(ArgumentError, match=message):
        Split(*parts)


def test_labels_of_times_become_positions():
    weeks = [date(2024, 1, 1) + timedelta(weeks=week) for week in range(8)]
    data = assemble(times=weeks, node_ids="ab")
    by_label = Split.from_labels(
        data, train=weeks[:3], validation="2024-01-22", calibration=[weeks[4]], test=weeks[5:7], horizon=1
    )
    assert by_label == Split((0, 1, 2), (3,), (4,), (5, 6), horizon=1)


def test_waves_numbered_from_one_are_not_positions():
    data = assemble(times=[1, 2, 3, 4, 5], node_ids="ab")
    split = Split.from_labels(data, train=range(1, 3), validation=3, calibration=3, test=4)
    assert split == Split((0, 1), (2,), (2,), (3,))
    with pytest.raises(ArgumentError, match=r"train: 0 is not a time .* position 0 is time 1: .* until_index\(0\)"):
        Split.from_labels(data, train=0, validation=2, calibration=3, test=4)


def test_labels_out_of_order_are_refused():
    with pytest.raises(ArgumentError, match="validation begins at origin 0, but train ends at 1; keep the time order"):
        Split.from_labels(panel(5), train=1, validation=0, calibration=2, test=3)


def test_agents_are_kept_apart_and_the_seed_decides():
    data = panel(2, N=100)
    split = agent_split(data, seed=1)
    assert [len(getattr(split, part)) for part in PARTS] == [60, 10, 10, 20]
    assert sorted(agent for part in PARTS for agent in getattr(split, part)) == list(range(100))
    assert split == agent_split(data, seed=1)
    assert split != agent_split(data, seed=2)


@pytest.mark.parametrize("seed", range(5))
def test_communities_stay_together(seed):
    data = communities_of_three()
    split = group_split(data, seed=seed)
    for part in PARTS:
        agents = getattr(split, part)
        assert agents
        assert {agent // 3 * 3 for agent in agents} | {agent // 3 * 3 + 2 for agent in agents} <= set(agents)


def test_given_communities_stay_together():
    split = group_split(panel(2, N=8), communities=list("aabbccdd"))
    assert sorted(len(getattr(split, part)) for part in PARTS) == [2, 2, 2, 2]


def test_one_connected_world_cannot_be_torn():
    data = assemble(times=[0], node_ids="abcd", hyperedge_ids=[0], hyperedge_time=[0], memberships=([0] * 4, range(4)))
    with pytest.raises(ArgumentError, match="groups connect the agents into 1 communities, but four parts need"):
        group_split(data)


def test_one_label_per_agent_is_needed():
    with pytest.raises(ArgumentError, match="communities has 2 labels, but there are 4 agents"):
        group_split(panel(2), communities=["a", "b"])


def test_connected_agents_follow_chains_of_groups():
    data = assemble(
        times=[0, 1],
        node_ids="abcde",
        hyperedge_ids="xyz",
        hyperedge_time=[0, 1, 1],
        memberships=([0, 0, 1, 1, 2], [0, 1, 1, 2, 3]),
    )
    assert connected_agents(data).tolist() == [0, 0, 0, 1, 2]


def test_no_agent_in_two_parts():
    with pytest.raises(ArgumentError, match="agent 1 is in two parts of the split"):
        AgentSplit((0, 1), (2,), (1,), (3,))
