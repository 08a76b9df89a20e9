"""Presets: the paper's sizes, and how overrides follow each other."""

import pytest

from sphunc.errors import ArgumentError
from sphunc.worlds import PRESETS, simulate
from sphunc.worlds.presets import settings_for

PAPER = {
    "snare": (540, 1120, 3, 24, 5),
    "pheme": (4830, 8000, 4, 300, 10),
    "amigos": (40, 120, 4, 128, 4),
    "financial": (5000, 12500, 5, 100, 20),
    "collaboration": (10000, 30000, 10, 50, 15),
}


@pytest.mark.parametrize("preset", PAPER)
def test_settings_hold_the_statistics_of_the_paper(preset: str) -> None:
    knobs = PRESETS[preset]
    assert (knobs.agents, knobs.groups, knobs.classes, knobs.features, knobs.times) == PAPER[preset]


@pytest.mark.parametrize("preset", ["snare", "amigos"])
def test_world_has_exactly_the_stated_sizes(preset: str) -> None:
    check_sizes(preset)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["pheme", "financial", "collaboration"])
def test_large_world_has_exactly_the_stated_sizes(preset: str) -> None:
    check_sizes(preset)


def check_sizes(preset: str) -> None:
    data = simulate(preset, seed=1).data
    sizes = (data.num_nodes, data.num_hyperedges, data.num_classes, data.num_features, data.num_times)
    assert sizes == PAPER[preset]
    assert data.hyperedge_time.unique().numel() == data.num_times
    assert set(data.y[data.y_mask].unique().tolist()) == set(range(data.num_classes))


def test_groups_follow_agents_and_times_unless_given() -> None:
    assert settings_for("snare", {"times": 10}).groups == 2240
    assert settings_for("snare", {"agents": 270}).groups == 560
    assert settings_for("snare", {"agents": 270, "groups": 7}).groups == 7
    assert settings_for("snare", {"classes": 14}).dim == 14
    assert settings_for("snare", {"group_size": 6}).group_size == 6.0


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(
        ArgumentError, match="'snaer' is not known; choose one of snare, pheme, amigos, financial, coll"
    ):
        simulate("snaer")
    with pytest.raises(
        ArgumentError, match=r"'agent' is not a knob of a world; allowed: agents, .*; did you mean 'agents'\?"
    ):
        simulate("snare", agent=5)
