"""From seed to world: reproducible, aligned, and every knob does what it says."""

import hashlib

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from sphunc.errors import ArgumentError
from sphunc.worlds import simulate


def digest(values: torch.Tensor) -> str:
    return hashlib.sha256(np.ascontiguousarray(values.numpy()).tobytes()).hexdigest()[:16]


def test_same_seed_same_world_and_other_seed_other_world() -> None:
    one, two, other = (simulate("amigos", seed=seed) for seed in (4, 4, 5))
    for name in ("states", "links", "strengths", "outcomes", "driver", "label_entropy"):
        assert torch.equal(getattr(one, name), getattr(two, name))
    assert torch.equal(one.data.x, two.data.x)
    assert not torch.equal(one.data.x, other.data.x)
    assert not torch.equal(one.outcomes, other.outcomes)


@pytest.mark.parametrize("preset", ["snare", "amigos"])
def test_world_is_the_recorded_one_on_every_platform(preset: str) -> None:
    """Whole numbers must agree exactly; real ones to 1e-6, far above the last bit in which platforms may differ."""
    world = simulate(preset, seed=0)
    recorded = RECORDED[preset]
    assert digest(world.outcomes) == recorded["outcomes"]
    assert digest(world.links) == recorded["links"]
    assert digest(world.data.hyperedge_index) == recorded["groups"]
    assert float(world.states.sum()) == pytest.approx(recorded["states"], abs=1e-6)
    assert float(world.strengths.sum()) == pytest.approx(recorded["strengths"], abs=1e-6)
    assert float(world.data.x.double().sum()) == pytest.approx(recorded["x"], abs=1e-2)


def test_a_knob_leaves_other_ingredients_alone() -> None:
    plain, sparse = simulate("snare"), simulate("snare", missing=0.5, label_noise=0.3)
    assert torch.equal(plain.states, sparse.states)
    assert torch.equal(plain.links, sparse.links)


def test_every_truth_follows_the_ids() -> None:
    world = simulate("snare", unseen=0.1, newcomers=0.1, absent=0.1)
    data = world.data
    assert data.node_ids == tuple(f"a{k:03d}" for k in range(540))
    assert all(isinstance(name, str) for name in data.node_ids)
    for name, shape in {
        "states": (5, 540, 10),
        "biases": (540, 10),
        "label_entropy": (5, 540),
        "driver": (5, 540),
    }.items():
        assert getattr(world, name).shape == shape
    assert torch.equal(data.influence, world.links)
    assert data.influence_kind == "simulated"
    assert world.strengths.shape == world.links.shape[1:]
    assert torch.equal(data.y[data.y_mask], world.outcomes[data.y_mask])
    assert torch.allclose(world.states.norm(dim=-1), torch.ones(5, 540, dtype=torch.float64), atol=1e-8)
    assert len(set(data.hyperedge_ids)) == data.num_hyperedges


def test_outcomes_follow_the_states() -> None:
    world = simulate("snare", label_noise=0.0, sharpness=1000.0)
    nearest = (world.states @ world.class_directions.T).argmax(-1)
    assert (nearest == world.outcomes).double().mean() > 0.98


def test_newcomers_and_unseen_agents_enter_at_the_last_origin() -> None:
    world = simulate("snare", unseen=0.1, newcomers=0.1)
    late = world.newcomers | world.out_of_distribution
    data = world.data
    assert int(world.newcomers.sum()) == int(world.out_of_distribution.sum()) == 54
    assert not (world.newcomers & world.out_of_distribution).any()
    assert not data.x_mask[:3, late].any()
    assert data.x_mask[3:, late].any(-1).all()
    assert not data.y_mask[:4, late].any()
    assert data.y_mask[4, late].all()
    members = set(data.hyperedge_index[0, data.hyperedge_time[data.hyperedge_index[1]] < 3].tolist())
    assert not members & set(late.nonzero().flatten().tolist())
    assert not simulate("snare").out_of_distribution.any()


def test_unseen_agents_are_out_of_distribution_and_controls_are_not() -> None:
    def auroc(seed: int) -> float:
        world = simulate("snare", seed=seed, unseen=0.1, newcomers=0.1)
        late = world.newcomers | world.out_of_distribution
        known = world.states[:3, ~late].flatten(0, 1)
        density = torch.logsumexp(30 * world.states[3, late] @ known.T, dim=1).numpy()
        ranks = rankdata(-density)
        strange = world.out_of_distribution[late].numpy()
        n, m = strange.sum(), (~strange).sum()
        return float((ranks[strange].sum() - n * (n + 1) / 2) / (n * m))

    assert np.mean([auroc(seed) for seed in range(5)]) > 0.9


def test_absent_agents_show_nothing_and_meet_nobody() -> None:
    world = simulate("snare", absent=0.2)
    gone = ~world.data.present
    assert gone.double().mean() == pytest.approx(0.2, abs=0.02)
    nodes, edges = world.data.hyperedge_index
    assert world.data.present[world.data.hyperedge_time[edges], nodes].all()


def test_confounder_moves_communities_together() -> None:
    def common_share(confounder: float) -> float:
        world = simulate("snare", times=20, parents=0, group_pull=0, confounder=confounder)
        moves = (world.states - world.states.mean(0)).numpy()
        means = np.stack([moves[:, (world.communities == c).numpy()].mean(1) for c in range(6)])
        return float(np.square(means).mean() / np.square(moves).mean())

    assert common_share(1.0) > 5 * common_share(0.0)


def test_smallest_world_and_groupless_world_exist() -> None:
    world = simulate("snare", agents=4, times=2, groups=1, features=4, classes=2, communities=1)
    assert world.oracle(0).shape == (4, 2)
    bare = simulate("snare", agents=10, groups=0)
    assert bare.links.shape == (2, 0)
    assert bare.data.num_hyperedges == 0


def test_faulty_seed_is_refused() -> None:
    with pytest.raises(ArgumentError, match="seed=-1 must be at least 0"):
        simulate("snare", seed=-1)


RECORDED = {
    "snare": {
        "outcomes": "51cc7ab3e5ee7884",
        "links": "0dd0e8fcf864f4ea",
        "groups": "9aabcdae1b71302c",
        "states": -1413.35379385,
        "strengths": 967.7490942,
        "x": 388.432,
    },
    "amigos": {
        "outcomes": "dea52ac688afe99f",
        "links": "8144c800e3ef56a0",
        "groups": "576415aec4898e05",
        "states": -70.43844397,
        "strengths": 29.52934862,
        "x": 744.851,
    },
}
