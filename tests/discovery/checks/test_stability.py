import math

import pytest
import torch

from sphunc.discovery import InfluenceGraph, discover, influence_stability


def world(second_half: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    state = torch.randn(30, 4, generator=generator, dtype=torch.double)
    path = []
    for time in range(24):
        push = 0.5 if time < 12 else second_half
        noise = torch.randn(30, 4, generator=generator, dtype=torch.double)
        state = 0.3 * state + push * state.roll(1, 0) + noise
        path.append(state)
    return torch.stack(path)


@pytest.mark.parametrize(("second_half", "changes"), [(0.5, False), (0.0, True)])
def test_a_change_of_influence_is_seen_and_constancy_is_not_taken_for_one(neighbours, second_half, changes):
    states = world(second_half)
    graph = discover(states, neighbours, diagnose=False)
    found = influence_stability(graph, states)
    assert (found.p_value < 0.05) is changes
    assert ("differs" in found.reading) is changes
    if changes:
        assert found.second < 0.5 * found.first


def test_without_links_there_is_nothing_to_compare(ring, neighbours):
    empty = InfluenceGraph(
        neighbours,
        tuple(range(30)),
        torch.zeros(120, dtype=torch.double),
        torch.zeros(120, dtype=torch.double),
        torch.ones(120, dtype=torch.double),
    )
    found = influence_stability(empty, ring)
    assert math.isnan(found.p_value)
    assert "no comparison" in found.reading
