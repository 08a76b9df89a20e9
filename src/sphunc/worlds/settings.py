"""What a world is made of: every knob with its meaning and its range."""

from __future__ import annotations

from dataclasses import dataclass

from sphunc._checks import number_between, whole_number
from sphunc.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class WorldSettings:
    r"""The knobs of a simulated world; symbols as in the equations of ``docs/worlds.md``.

    Attributes:
        agents: N, agents in all, newcomers included.
        groups: M, groups in all, over all times.
        classes: C, outcome classes.
        features: F, features per agent.
        times: T, observed times.
        dim: D, dimension of the hidden state, a unit vector.
        communities: communities that are seen in training.
        homophily: how far the persistent bias of an agent follows its community (0 not at all, 1 entirely).
        group_homophily: chance that a place in a group is filled from the group's own community.
        group_size: mean size of a group; sizes are 2 plus a Poisson number.
        recurrence: share of the groups of a time that met the time before (each member replaced with chance 0.1).
        inertia: a, weight of an agent's own last state.
        bias: b, weight of its persistent bias.
        parents: mean number of agents that influence an agent (Poisson, among those it met).
        link_strength: s, median absolute strength of a link.
        strength_spread: standard deviation of the log strength between links.
        negative: share of links that push away.
        group_pull: p, weight of the pull of the groups an agent met in.
        cohesion_power: q, the pull grows with the cohesion of the group (its resultant length) to this power.
        concentration: median concentration of the von Mises-Fisher noise of a step.
        concentration_spread: standard deviation of the log concentration between agents.
        modalities: blocks of features, each a separate noisy view of the state.
        view_noise: noise of a view, relative to the state, in the median.
        view_noise_spread: standard deviation of the log noise between agents and modalities.
        outcome_blur: noise common to all modalities, only along the directions that decide the outcome.
        entry_noise: independent noise of every feature.
        nonlinearity: share of the feature map that saturates (0 linear, 1 all).
        radial: standard deviation of the log length of a feature vector, which carries no signal.
        missing: share of feature entries that are not observed.
        sharpness: how sharply the state decides the outcome.
        label_noise: about the share of outcomes drawn at random; which agents' is set by the observable driver.
        driver_persistence: autocorrelation of the driver from one time to the next.
        confounder: weight of a hidden, slowly varying force that is common to a community and shows in no feature.
        anisotropy: how unevenly biases and features use the axes of the state space (0 evenly).
        absent: chance that an agent is away at a time (no features, no groups, no outcome).
        newcomers: share of agents from known communities that enter at the last forecast origin, T - 2.
        unseen: share of agents that enter then too, but from a community which training never saw.
        lost_at_test: further share of feature entries lost at the last forecast origin and after.
    """

    agents: int
    groups: int
    classes: int
    features: int
    times: int
    dim: int = 10
    communities: int = 6
    homophily: float = 0.6
    group_homophily: float = 0.5
    group_size: float = 4.0
    recurrence: float = 0.8
    inertia: float = 0.5
    bias: float = 0.8
    parents: float = 2.0
    link_strength: float = 1.5
    strength_spread: float = 0.5
    negative: float = 0.2
    group_pull: float = 1.5
    cohesion_power: float = 2.0
    concentration: float = 90.0
    concentration_spread: float = 0.4
    modalities: int = 3
    view_noise: float = 0.12
    view_noise_spread: float = 0.4
    outcome_blur: float = 1.0
    entry_noise: float = 0.05
    nonlinearity: float = 0.3
    radial: float = 0.2
    missing: float = 0.05
    sharpness: float = 60.0
    label_noise: float = 0.05
    driver_persistence: float = 0.95
    confounder: float = 0.0
    anisotropy: float = 0.0
    absent: float = 0.0
    newcomers: float = 0.0
    unseen: float = 0.0
    lost_at_test: float = 0.0

    def __post_init__(self) -> None:
        for name in _RANGES:
            check_knob(name, getattr(self, name))
        if self.classes > self.dim:
            raise ArgumentError(f"classes={self.classes} need as many axes, got dim={self.dim}; choose dim >= classes")
        if self.newcomers + self.unseen > 0.8:
            raise ArgumentError(
                f"newcomers={self.newcomers} and unseen={self.unseen} leave too few agents to train on; "
                "together they may be at most 0.8"
            )
        if self.newcomers + self.unseen > 0 and self.times < 3:
            raise ArgumentError(f"times={self.times} leaves no time before newcomers enter; choose times >= 3")

    @property
    def entry_time(self) -> int:
        """Time index at which newcomers enter: the last forecast origin, T - 2."""
        return self.times - 2


_RANGES: dict[str, tuple[float, float]] = {
    "agents": (4.0, 10_000_000.0),
    "groups": (0.0, 100_000_000.0),
    "classes": (2.0, 1000.0),
    "features": (4.0, 100_000.0),
    "times": (2.0, 100_000.0),
    "dim": (3.0, 1000.0),
    "communities": (1.0, 100_000.0),
    "homophily": (0.0, 1.0),
    "group_homophily": (0.0, 1.0),
    "group_size": (2.0, 1000.0),
    "recurrence": (0.0, 1.0),
    "inertia": (0.0, 100.0),
    "bias": (0.0, 100.0),
    "parents": (0.0, 100.0),
    "link_strength": (0.0, 100.0),
    "strength_spread": (0.0, 2.0),
    "negative": (0.0, 1.0),
    "group_pull": (0.0, 100.0),
    "cohesion_power": (0.0, 10.0),
    "concentration": (0.1, 1e6),
    "concentration_spread": (0.0, 2.0),
    "modalities": (1.0, 3.0),
    "view_noise": (0.0, 100.0),
    "view_noise_spread": (0.0, 2.0),
    "outcome_blur": (0.0, 100.0),
    "entry_noise": (0.0, 100.0),
    "nonlinearity": (0.0, 1.0),
    "radial": (0.0, 2.0),
    "missing": (0.0, 0.95),
    "sharpness": (0.0, 1000.0),
    "label_noise": (0.0, 1.0),
    "driver_persistence": (0.0, 1.0),
    "confounder": (0.0, 100.0),
    "anisotropy": (0.0, 5.0),
    "absent": (0.0, 0.9),
    "newcomers": (0.0, 0.8),
    "unseen": (0.0, 0.8),
    "lost_at_test": (0.0, 0.95),
}


def check_knob(name: str, value: object) -> int | float:
    """Take the value of a knob: of its kind, and inside its range.

    Args:
        name: of the knob.
        value: what was given.
    """
    low, high = _RANGES[name]
    if WorldSettings.__dataclass_fields__[name].type == "int":
        whole_number(name, value)
        return int(number_between(name, value, low, high))
    return number_between(name, value, low, high)
