"""The law of motion against a plain transcription of its equation; what pairs cannot express."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sphunc.worlds import simulate
from sphunc.worlds.dynamics import Snapshot, group_pull, initial, step, total_force
from sphunc.worlds.population import unit
from sphunc.worlds.streams import stream


def small_world(**knobs):
    return simulate("snare", seed=0, **{"agents": 30, "times": 4, **knobs})


def snapshot(world, time: int) -> Snapshot:
    return Snapshot(*(part[time].numpy()[:, None] for part in (world.states, world.driver, world.hidden)))


def transcribed_drive(world, time: int) -> np.ndarray:
    knobs, h, z = world.settings, world.states[time].numpy(), world.hidden[time].numpy()
    nodes, edges = world.data.hyperedge_index.tolist()
    force = []
    for i in range(len(h)):
        d = knobs.inertia * h[i] + knobs.bias * world.biases[i].numpy() + knobs.confounder * z[world.communities[i]]
        for (source, target), strength in zip(world.links.T.tolist(), world.strengths.tolist(), strict=True):
            if target == i:
                d = d + strength * h[source]
        pulls = []
        for e in {e for node, e in zip(nodes, edges, strict=True) if node == i}:
            if world.data.hyperedge_time[e] == time:
                mean = np.mean([h[node] for node, other in zip(nodes, edges, strict=True) if other == e], axis=0)
                cohesion = np.linalg.norm(mean)
                pulls.append(cohesion**knobs.cohesion_power * mean / cohesion)
        force.append(d + knobs.group_pull * np.mean(pulls, axis=0) if pulls else d)
    return np.stack(force)


@pytest.mark.parametrize("knobs", [{}, {"confounder": 1.0}, {"cohesion_power": 0.5}, {"cohesion_power": 3}])
def test_drive_is_its_equation(knobs) -> None:
    world = small_world(**knobs)
    for time in (0, 2):
        expected = transcribed_drive(world, time)
        np.testing.assert_allclose(total_force(world.law, snapshot(world, time), time)[:, 0], expected, atol=1e-12)


def test_pull_of_a_group_is_no_sum_over_pairs() -> None:
    """For any sum over members, f(A, B) - f(a, B) - f(A, b) + f(a, b) vanishes; the pull by cohesion leaves a rest."""
    group = csr_matrix(np.ones((1, 3)))
    rng = np.random.default_rng(0)
    me, a, A, b, B = unit(rng.standard_normal((5, 6)))

    def interaction(power: float) -> float:
        def pull(x, y):
            return group_pull(group, np.stack([me, x, y])[:, None], power)[0, 0]

        return float(np.linalg.norm(pull(A, B) - pull(a, B) - pull(A, b) + pull(a, b)))

    assert interaction(1.0) < 1e-12
    assert interaction(2.0) > 0.05


def test_cohesive_groups_pull_more_than_in_proportion() -> None:
    group = csr_matrix(np.ones((1, 2)))

    def strength(angle: float) -> float:
        pair = np.array([[np.cos(angle), np.sin(angle)], [np.cos(angle), -np.sin(angle)]])
        return float(np.linalg.norm(group_pull(group, pair[:, None], 2.0)[0, 0]))

    for angle in (0.0, 0.5, 1.2):
        assert strength(angle) == pytest.approx(np.cos(angle) ** 2)


def test_agent_that_met_nobody_and_empty_time_feel_no_pull() -> None:
    states = unit(np.random.default_rng(0).standard_normal((3, 1, 4)))
    alone = group_pull(csr_matrix(np.array([[1.0, 1.0, 0.0]])), states, 2.0)
    assert np.abs(alone[2]).max() == 0
    assert np.abs(alone[0]).max() > 0
    assert np.abs(group_pull(csr_matrix((0, 3)), states, 2.0)).max() == 0


def test_step_centres_on_the_total_force_with_the_concentration_of_the_agent() -> None:
    world = small_world()
    now = snapshot(world, 1)
    many = Snapshot(*(np.repeat(part, 20_000, axis=1) for part in (now.states, now.driver, now.hidden)))
    then = step(world.law, many, 1, stream(0, "future"))
    mean = then.states.mean(1)
    target = unit(total_force(world.law, now, 1)[:, 0])
    assert ((unit(mean) * target).sum(1) > 0.9999).all()
    spread = np.linalg.norm(mean, axis=1)
    kappa = world.law.population.concentrations[world.law.population.noise_level]
    np.testing.assert_allclose(spread, 1 - (world.settings.dim - 1) / (2 * kappa), atol=0.02)


def test_driver_is_stationary_with_its_persistence() -> None:
    world = simulate("snare", seed=0, agents=4000, times=3, driver_persistence=0.7)
    v = world.driver.numpy()
    assert v.var() == pytest.approx(1.0, abs=0.08)
    assert np.corrcoef(v[0], v[1])[0, 1] == pytest.approx(0.7, abs=0.05)


def test_start_is_at_the_biases() -> None:
    world = small_world()
    np.testing.assert_array_equal(initial(world.law, stream(0, "path")).states[:, 0], world.biases.numpy())
