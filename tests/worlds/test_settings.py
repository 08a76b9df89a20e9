"""Knobs: each documented, each with a range, each fault named."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.worlds import PRESETS, WorldSettings, simulate
from sphunc.worlds.settings import _RANGES

KNOBS = [f.name for f in fields(WorldSettings)]


@pytest.mark.parametrize("knob", KNOBS)
def test_every_knob_is_documented_and_has_a_range(knob: str) -> None:
    assert f"        {knob}: " in (WorldSettings.__doc__ or "")
    assert knob in _RANGES
    assert f"| `{knob}` |" in (Path(__file__).parents[2] / "docs" / "worlds.md").read_text()


@pytest.mark.parametrize("knob", KNOBS)
def test_value_outside_the_range_is_refused_with_the_range(knob: str) -> None:
    low, high = _RANGES[knob]
    kind = type(getattr(PRESETS["snare"], knob))
    for value in (kind(low - 1), kind(high + 1)):
        with pytest.raises(ArgumentError, match=rf"{knob}={re.escape(f'{value:g}')} is outside "):
            simulate("snare", **{knob: value})


@pytest.mark.parametrize("value", ["5", None, 5.0, True])
def test_sizes_must_be_whole_numbers(value: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"agents=.* must be a whole number, got"):
        simulate("snare", agents=value)


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ArgumentError, match="missing=nan is outside"):
        simulate("snare", missing=float("nan"))
    with pytest.raises(ArgumentTypeError, match="missing='few' must be a number, got str"):
        simulate("snare", missing="few")


def test_contradictions_are_refused() -> None:
    with pytest.raises(ArgumentError, match="classes=12 need as many axes, got dim=5; choose dim >= classes"):
        simulate("snare", classes=12, dim=5)
    with pytest.raises(ArgumentError, match="leave too few agents to train on"):
        simulate("snare", newcomers=0.5, unseen=0.5)
    with pytest.raises(ArgumentError, match="times=2 leaves no time before newcomers enter"):
        simulate("snare", times=2, unseen=0.1)
