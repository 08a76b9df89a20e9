"""A small system with known links for the structure posterior, and one intervention of every kind."""

import pytest
import torch

from sphunc.causal.candidates import all_pairs, candidate_links
from sphunc.causal.estimation import Problem
from sphunc.causal.interventions import CutGroup, CutLink, Do, Policy, ScaleLink, Shift, Stochastic
from sphunc.causal.panel import vector_panel


def chain(seed=0, agents=6, times=8, dim=24, strength=0.5):
    """Agent k follows agent k-1; unit vectors, float64."""
    g = torch.Generator().manual_seed(seed)
    bias = torch.randn(agents, dim, generator=g, dtype=torch.double) / dim**0.5
    h = torch.nn.functional.normalize(torch.randn(agents, dim, generator=g, dtype=torch.double), dim=1)
    path = []
    for _ in range(times + 5):
        push = torch.cat([torch.zeros(1, dim, dtype=torch.double), strength * h[:-1]])
        noise = torch.randn(agents, dim, generator=g, dtype=torch.double) / dim**0.5
        h = torch.nn.functional.normalize(0.4 * h + push + 0.3 * bias + noise, dim=1)
        path.append(h)
    return torch.stack(path[5:])


@pytest.fixture
def latents():
    return chain()


@pytest.fixture
def problem(latents):
    present = torch.ones(latents.shape[:2], dtype=torch.bool)
    links = candidate_links(all_pairs(latents.shape[1]), latents.shape[1])
    return Problem(vector_panel(latents, present, None), links, torch.zeros(latents.shape[1], dtype=torch.bool))


def stand_still(step, states):
    return {}


EVERY_KIND = [
    Do("a", (0.0, 1.0)),
    Do("a", toward="calm"),
    Do("a", observed="b", times=0),
    Shift("a", "calm", 0.5, times=[2, 1]),
    Shift("a", (1.0, 0.0), 0.5),
    Stochastic(3, "b", 40.0),
    CutLink("a", "b"),
    ScaleLink("a", "b", 2.0, times=1),
    CutGroup("g"),
    Policy(stand_still),
]


@pytest.fixture(name="stand_still")
def policy_that_sets_nobody():
    return stand_still


@pytest.fixture
def every_kind():
    return EVERY_KIND


@pytest.fixture(params=EVERY_KIND, ids=str)
def one(request):
    """Every kind in turn."""
    return request.param
