"""Timed groups: sizes, homophily, recurrence, presence."""

import numpy as np
import pytest

from sphunc.worlds.meetings import meet, met_before
from sphunc.worlds.presets import settings_for
from sphunc.worlds.streams import stream

COMMUNITY = np.arange(540) % 6


def meetings(present=None, **knobs):
    settings = settings_for("snare", knobs)
    everyone = np.ones((settings.times, settings.agents), dtype=bool)
    community = COMMUNITY[: settings.agents]
    return meet(settings, community, everyone if present is None else present, stream(0, "meetings"))


def test_count_is_exact_and_spread_over_the_times() -> None:
    drawn = meetings(groups=1121)
    per_time = np.bincount([m.time for m in drawn])
    assert len(drawn) == 1121
    assert per_time.max() - per_time.min() <= 1


def test_members_are_distinct_sorted_and_at_least_two() -> None:
    for meeting in meetings():
        assert len(meeting.members) >= 2
        assert list(meeting.members) == sorted(set(meeting.members))


def test_sizes_vary_about_the_mean() -> None:
    sizes = [len(m.members) for m in meetings(group_size=5.0)]
    assert np.mean(sizes) == pytest.approx(5.0, abs=0.3)
    assert np.std(sizes) > 1.0


def test_homophily_fills_groups_from_one_community() -> None:
    def mixed(homophily: float) -> float:
        drawn = meetings(group_homophily=homophily)
        return float(np.mean([len(set(COMMUNITY[list(m.members)].tolist())) / len(m.members) for m in drawn]))

    assert mixed(0.9) < mixed(0.5) < mixed(0.0)


def test_recurring_groups_keep_their_name_and_most_members() -> None:
    drawn = meetings(recurrence=0.5)
    first, second = ({m.name: set(m.members) for m in drawn if m.time == t} for t in (0, 1))
    again = first.keys() & second.keys()
    assert len(again) == pytest.approx(0.5 * len(second), abs=1)
    kept = np.mean([len(first[name] & second[name]) / len(first[name]) for name in again])
    assert 0.85 < kept < 0.95


def test_absent_agents_meet_nobody() -> None:
    present = stream(0, "presence").random((5, 540)) < 0.6
    assert all(present[m.time, list(m.members)].all() for m in meetings(present))


def test_everybody_joins_when_groups_are_larger_than_the_world() -> None:
    drawn = meetings(agents=4, groups=10, group_size=30.0)
    assert {len(m.members) for m in drawn} == {4}


def test_met_before_counts_only_earlier_meetings() -> None:
    drawn = meetings()
    met = met_before(drawn, 1, 540)
    expected = {j for m in drawn if m.time == 0 and 7 in m.members for j in m.members} - {7}
    assert set(met[7]) == expected
