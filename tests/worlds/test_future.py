"""Repeating the law of motion: assignments held or set once."""

import numpy as np

from sphunc.worlds import simulate
from sphunc.worlds.dynamics import Snapshot
from sphunc.worlds.future import CHUNK, Assignment, forecast


def world_and_now():
    world = simulate("snare", seed=0, agents=30, times=4)
    return world, (world.states[1].numpy(), world.driver[1].numpy(), world.hidden[1].numpy())


def test_assignment_replaces_only_the_named_states() -> None:
    now = Snapshot(np.zeros((3, 2, 4)), np.zeros((3, 2)), np.zeros((1, 2, 4)))
    then = Assignment({1: np.ones(4)}).apply(now)
    assert then.states[1].min() == 1
    assert then.states[[0, 2]].max() == 0
    assert now.states.max() == 0


def test_held_agent_keeps_its_state_and_a_pulse_does_not() -> None:
    world, now = world_and_now()
    state = world.class_directions[0].numpy()
    held = forecast(world.law, now, Assignment({0: state}), 1, 3, 400, 0)
    pulse = forecast(world.law, now, Assignment({0: state}, persistent=False), 1, 3, 400, 0)
    assert held[0, 0] > 0.9
    assert not np.allclose(held[0], pulse[0], atol=1e-3)


def test_probabilities_add_up_whatever_the_number_of_chunks() -> None:
    world, now = world_and_now()
    for samples in (1, CHUNK, CHUNK + 1):
        np.testing.assert_allclose(forecast(world.law, now, Assignment({}), 1, 2, samples, 0).sum(1), 1, atol=1e-12)
