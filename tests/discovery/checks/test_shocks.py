"""Shocks of sources are followed under influence; causes that agents share are told from it."""

import math

import pytest
import torch

from sphunc.discovery import InfluenceGraph, ShockResponse, discover, shock_response

PAIRS = torch.tensor([[3 * k + a, 3 * k + b] for k in range(20) for a in range(3) for b in range(3) if a != b]).T


def assumed_graph(strength: float) -> InfluenceGraph:
    size = torch.full((PAIRS.shape[1],), strength, dtype=torch.double)
    prior = torch.full_like(size, 0.1)
    return InfluenceGraph(PAIRS, tuple(range(60)), torch.ones_like(size), size, size, prior=prior)


def confounded(persistence: float) -> torch.Tensor:
    """Three agents share a cause that is not observed; nobody influences anybody."""
    generator = torch.Generator().manual_seed(0)
    cause = torch.zeros(20, 4, dtype=torch.double)
    state = torch.zeros(60, 4, dtype=torch.double)
    path = []
    for time in range(50):
        shock = torch.randn(20, 4, generator=generator, dtype=torch.double)
        cause = persistence * cause + (1 - persistence**2) ** 0.5 * shock
        noise = torch.randn(60, 4, generator=generator, dtype=torch.double)
        state = 0.5 * state + 0.8 * cause.repeat_interleave(3, 0) + 0.5 * noise
        if time >= 30:
            path.append(state)
    return torch.stack(path)


def test_true_links_are_followed_and_not_anticipated(ring, neighbours):
    graph = discover(ring, neighbours, diagnose=False)
    found = shock_response(graph, ring)
    assert found.following == pytest.approx(1.0, abs=0.1)
    assert abs(found.same_time) < 3 * found.same_time_error
    assert "are followed" in found.reading


def test_shared_shocks_show_at_the_same_time():
    found = shock_response(assumed_graph(0.2), confounded(0.5))
    assert found.is_shared
    assert "shared shocks" in found.reading


def test_unfollowed_shocks_are_said_to_be():
    assert "not followed" in ShockResponse(0.1, 0.05, 0.0, 0.05, 20).reading
    noise = torch.randn(20, 60, 4, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    assert not shock_response(assumed_graph(0.5), noise).is_followed


def test_without_links_there_is_nothing_to_compare(ring, neighbours):
    zero = torch.zeros(120, dtype=torch.double)
    empty = InfluenceGraph(neighbours, tuple(range(30)), zero, zero, zero + 1)
    found = shock_response(empty, ring)
    assert math.isnan(found.following)
    assert "no comparison" in found.reading
