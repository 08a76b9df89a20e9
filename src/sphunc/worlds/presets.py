"""The five presets: sizes of the paper's data sets, difficulty matched to its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sphunc._checks import did_you_mean
from sphunc.errors import ArgumentError
from sphunc.worlds.settings import WorldSettings, check_knob

PRESETS: dict[str, WorldSettings] = {
    "snare": WorldSettings(agents=540, groups=1120, classes=3, features=24, times=5, label_noise=0.08),
    "pheme": WorldSettings(
        agents=4830,
        groups=8000,
        classes=4,
        features=300,
        times=10,
        communities=8,
        group_size=6.0,
        outcome_blur=1.5,
        sharpness=40.0,
        label_noise=0.17,
        concentration=80.0,
    ),
    "amigos": WorldSettings(
        agents=40,
        groups=120,
        classes=4,
        features=128,
        times=4,
        communities=4,
        inertia=2.0,
        bias=1.0,
        link_strength=0.8,
        concentration=60.0,
        sharpness=80.0,
        label_noise=0.05,
    ),
    "financial": WorldSettings(
        agents=5000,
        groups=12500,
        classes=5,
        features=100,
        times=20,
        communities=10,
        group_size=6.0,
        label_noise=0.12,
    ),
    "collaboration": WorldSettings(
        agents=10000, groups=30000, classes=10, features=50, times=15, dim=16, communities=20, label_noise=0.1
    ),
}


def settings_for(preset: str, overrides: Mapping[str, object]) -> WorldSettings:
    """Return the settings of a preset with some knobs changed.

    The number of groups follows ``agents`` and ``times`` (same groups per agent and time) unless it is given, and
    ``dim`` follows ``classes`` where there would be too few axes.

    Args:
        preset: name of a preset.
        overrides: knobs of :class:`WorldSettings` that change, by name.
    """
    if preset not in PRESETS:
        raise ArgumentError(f"preset={preset!r} is not known; choose one of {', '.join(PRESETS)}")
    base = PRESETS[preset]
    knobs: dict[str, Any] = {}
    for name, value in overrides.items():
        _check_name(name)
        knobs[name] = check_knob(name, value)
    agents = knobs.get("agents", base.agents)
    times = knobs.get("times", base.times)
    groups = round(base.groups * (agents / base.agents) * (times / base.times))
    dim = max(base.dim, knobs.get("classes", 0))
    return replace(base, **{"groups": groups, "dim": dim, **knobs})


def _check_name(name: str) -> None:
    allowed = [f.name for f in fields(WorldSettings)]
    if name not in allowed:
        hint = did_you_mean(name, allowed)
        raise ArgumentError(f"{name!r} is not a knob of a world; allowed: {', '.join(allowed)}{hint}")
