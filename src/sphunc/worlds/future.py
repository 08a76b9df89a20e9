"""What can happen next: the law of motion repeated over many draws, with or without an intervention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sphunc.worlds.dynamics import Law, Snapshot, step
from sphunc.worlds.observation import outcome_law
from sphunc.worlds.streams import stream

CHUNK = 64  # draws in memory at a time; part of the definition of the stream

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Assignment:
    """do(): the states that agents (by index) take, at the origin only or held from there on."""

    states: Mapping[int, Array]
    persistent: bool = True

    def apply(self, now: Snapshot) -> Snapshot:
        """Return the snapshot with the assigned states put in place."""
        states = now.states.copy()
        for agent, state in self.states.items():
            states[agent] = state
        return Snapshot(states, now.driver, now.hidden)


def forecast(
    law: Law,
    now: tuple[Array, Array, Array],
    assignment: Assignment,
    origin: int,
    horizon: int,
    samples: int,
    seed: int,
) -> Array:
    """Class probabilities ``[N, C]`` at ``origin + horizon``, from states, driver and hidden force at ``origin``.

    Args:
        law: of motion.
        now: states ``[N, D]``, driver ``[N]`` and hidden force ``[K + 1, D]`` at the origin.
        assignment: states that agents take.
        origin: time index from which it goes on.
        horizon: steps ahead.
        samples: draws S.
        seed: of the draws.
    """
    total = np.zeros((law.settings.agents, law.settings.classes))
    for part, first in enumerate(range(0, samples, CHUNK)):
        draws = min(CHUNK, samples - first)
        rng = stream(seed, "future", part)
        then = _roll(law, assignment.apply(_repeat(now, draws)), assignment, origin, horizon, rng)
        total += outcome_law(law.settings, law.population.class_directions, then.states, then.driver).sum(axis=1)
    return total / samples


def _repeat(now: tuple[Array, Array, Array], draws: int) -> Snapshot:
    states, driver, hidden = (np.repeat(np.expand_dims(part, 1), draws, axis=1) for part in now)
    return Snapshot(states, driver, hidden)


def _roll(
    law: Law, now: Snapshot, assignment: Assignment, origin: int, horizon: int, rng: np.random.Generator
) -> Snapshot:
    for time in range(origin, origin + horizon):
        now = step(law, now, time, rng)
        if assignment.persistent:
            now = assignment.apply(now)
    return now
