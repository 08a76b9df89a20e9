"""Links: sparse, signed, between agents that met."""

import numpy as np
import pytest

from sphunc.worlds import simulate
from sphunc.worlds.links import draw_links
from sphunc.worlds.meetings import met_before
from sphunc.worlds.presets import settings_for
from sphunc.worlds.streams import stream


def links(**knobs):
    settings = settings_for("snare", {"agents": 4000, **knobs})
    met = [[(agent + step) % 4000 for step in range(1, 15)] for agent in range(4000)]
    return draw_links(settings, met, stream(0, "links"))


def test_parents_signs_and_strengths_follow_the_knobs() -> None:
    pairs, strengths = links(parents=2.0, negative=0.15, link_strength=1.5, strength_spread=0.5)
    assert pairs.shape[1] / 4000 == pytest.approx(2.0, abs=0.1)
    assert (strengths < 0).mean() == pytest.approx(0.15, abs=0.02)
    assert np.median(np.abs(strengths)) == pytest.approx(1.5, rel=0.05)
    assert np.log(np.abs(strengths)).std() == pytest.approx(0.5, abs=0.03)


def test_links_are_unique_sorted_and_never_to_oneself() -> None:
    (source, target), _ = links()
    assert (source != target).all()
    key = target * 4000 + source
    assert (np.diff(key) > 0).all()


def test_nobody_met_nobody_linked() -> None:
    pairs, strengths = draw_links(settings_for("snare", {"agents": 5}), [[]] * 5, stream(0, "links"))
    assert pairs.shape == (2, 0)
    assert strengths.shape == (0,)


def test_every_link_of_a_world_joins_agents_that_met_before_the_last_origin() -> None:
    world = simulate("snare", seed=2, newcomers=0.1)
    met = [set() for _ in range(540)]
    nodes, edges = world.data.hyperedge_index.tolist()
    groups: dict[int, set[int]] = {}
    for node, edge in zip(nodes, edges, strict=True):
        if world.data.hyperedge_time[edge] < 3:
            groups.setdefault(edge, set()).add(node)
    for members in groups.values():
        for agent in members:
            met[agent] |= members
    assert all(source in met[target] for source, target in world.links.T.tolist())
    assert not world.newcomers[world.links.flatten()].any()
    assert met_before((), 3, 2) == [[], []]
