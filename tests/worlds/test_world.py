"""The truth of a world: oracle, interventions, errors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.worlds import World, simulate
from sphunc.worlds.world import _check_mapping


@pytest.fixture(scope="module")
def world() -> World:
    return simulate("snare", seed=0, agents=120, times=5)


def downstream(world: World, agent: int, origin: int, horizon: int) -> set[int]:
    """Agents that a change at ``origin`` can have reached: along links, and through groups that met."""
    reached = {agent}
    nodes, edges = world.data.hyperedge_index.tolist()
    for time in range(origin, origin + horizon):
        groups = {e for n, e in zip(nodes, edges, strict=True) if n in reached and world.data.hyperedge_time[e] == time}
        by_group = {n for n, e in zip(nodes, edges, strict=True) if e in groups}
        by_link = {target for source, target in world.links.T.tolist() if source in reached}
        reached = reached | by_group | by_link
    return reached


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 2])
def test_oracle_is_calibrated_on_100_000_draws(horizon: int) -> None:
    """In bins of the stated probability, outcomes come as often as stated, within Monte Carlo error."""
    world = simulate("snare", seed=5, agents=10_000, times=11 + horizon, confounder=0.3)
    origins = range(11)
    stated = torch.cat([world.oracle(t, horizon, samples=256) for t in origins]).numpy().ravel()
    came = torch.cat([torch.nn.functional.one_hot(world.outcomes[t + horizon], 3) for t in origins]).numpy().ravel()
    assert len(stated) >= 3 * 100_000
    bins = np.minimum((stated * 20).astype(int), 19)
    for b in range(20):
        here = bins == b
        # 256 draws leave an error of about 0.25 / 16 in a stated probability, which regresses to the mean inside a bin
        tolerance = 4 * np.sqrt(0.25 / here.sum()) + 0.006
        assert came[here].mean() == pytest.approx(stated[here].mean(), abs=tolerance), b


def test_label_entropy_is_that_of_the_outcome_given_the_state() -> None:
    world = simulate("snare", seed=0, agents=60, driver_persistence=1.0)
    held = world.interventional({agent: agent for agent in world.data.node_ids}, origin=2, samples=1)
    assert torch.allclose(-torch.special.xlogy(held, held).sum(1), world.label_entropy[2], atol=1e-9)


def test_nothing_done_is_the_oracle(world: World) -> None:
    same = world.interventional({}, origin=3, seed=world.seed)
    assert torch.equal(same, world.oracle(3))
    other = world.interventional({}, origin=3, seed=99, samples=4000)
    assert (other - world.oracle(3, samples=4000)).abs().max() < 5 * 0.5 * np.sqrt(2 / 4000)


def test_oracle_adds_up_and_reproduces(world: World) -> None:
    p = world.oracle(3, horizon=2)
    assert p.shape == (120, 3)
    assert torch.allclose(p.sum(1), torch.ones(120, dtype=p.dtype))
    assert torch.equal(p, world.oracle(3, horizon=2))


def test_do_blocks_incoming_links(world: World) -> None:
    source, target = world.links[:, world.strengths.argmax()].tolist()
    ids = world.data.node_ids
    donors = world.data.class_names
    for horizon in (1, 2):
        alone = world.interventional({ids[target]: "class-0"}, origin=1, horizon=horizon)
        moved = [
            world.interventional({ids[target]: "class-0", ids[source]: donor}, origin=1, horizon=horizon)[target]
            for donor in donors
        ]
        assert all(torch.equal(p, alone[target]) for p in moved)
    free = [world.interventional({ids[source]: donor}, origin=1)[target] for donor in donors]
    assert max(float((p - free[0]).abs().max()) for p in free) > 0.05


@pytest.mark.parametrize("horizon", [1, 2])
def test_do_changes_only_what_lies_downstream(world: World, horizon: int) -> None:
    source = int(world.links[0, world.strengths.argmax()])
    factual = world.interventional({}, origin=1, horizon=horizon)
    moved = world.interventional({world.data.node_ids[source]: "class-1"}, origin=1, horizon=horizon)
    changed = set(np.flatnonzero((factual != moved).any(1)).tolist())
    assert len(changed) > 1
    assert changed <= downstream(world, source, 1, horizon)


def test_agent_without_links_and_groups_changes_nobody_else() -> None:
    world = simulate("snare", seed=0, agents=40, times=4, parents=0, groups=0)
    factual = world.oracle(1, horizon=2)
    moved = world.interventional({"a05": "class-0"}, origin=1, horizon=2, seed=0)
    assert np.flatnonzero((factual != moved).any(1)).tolist() == [5]


def test_donor_gives_its_state(world: World) -> None:
    """Held at the donor's state, the agent has the donor's label law, up to its own driver."""
    ids = world.data.node_ids
    by_class = world.interventional({ids[3]: "class-2"}, origin=2)[3]
    assert by_class.argmax() == 2
    states = world.states.clone()
    states[2, 3] = states[2, 7]
    set_by_hand = replace(world, states=states).interventional({}, origin=2, seed=4)
    done = world.interventional({ids[3]: ids[7]}, origin=2, seed=4, persistent=False)
    assert torch.equal(set_by_hand, done)


def test_errors_name_what_is_allowed(world: World) -> None:
    with pytest.raises(
        ArgumentError, match=r"agent 'zz' is not in this world; its 120 agents are a000, a001, \.\.\. a119"
    ):
        world.interventional({"zz": "class-0"}, origin=0)
    with pytest.raises(ArgumentError, match=r"donor 'zz' is neither .* class name \(class-0, class-1, class-2\)"):
        world.interventional({"a000": "zz"}, origin=0)
    for origin in (-1, 5):
        with pytest.raises(ArgumentError, match=f"origin={origin} is outside the 5 times .* from 0 to 4"):
            world.oracle(origin)
    with pytest.raises(ArgumentError, match="horizon=0 must be at least 1"):
        world.oracle(0, 0)
    with pytest.raises(ArgumentError, match="samples=0 must be at least 1"):
        world.oracle(0, samples=0)


def test_world_is_frozen_and_tells_its_sizes(world: World) -> None:
    assert repr(world).startswith("World('snare', seed=0, TemporalHypergraph(120 agents, 5 times, 249 groups")
    with pytest.raises(AttributeError):
        world.seed = 1  # pyright: ignore[reportAttributeAccessIssue]
    late = simulate("snare", agents=100, newcomers=0.1, unseen=0.1)
    assert repr(late).endswith("10 newcomers, 10 out of distribution)")


def test_assignments_must_be_a_mapping() -> None:
    with pytest.raises(ArgumentTypeError, match="assignments must map agents to donors, got list"):
        _check_mapping(["a001"])
