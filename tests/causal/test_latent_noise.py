"""The noise of latents is found where it was put, and not where it was not."""

import numpy as np
import pytest
import torch

from sphunc.causal.calibrate import Simulator
from sphunc.causal.candidates import candidate_links
from sphunc.causal.estimation import Problem, estimate, hyper_parameters
from sphunc.causal.latent_noise import crossing, estimate_blur, second_look
from sphunc.causal.panel import vector_panel


def ring(noise, agents=80, times=14, dim=6, seed=0):
    """Each agent follows its two predecessors; states seen through noise of the given sd."""
    g = torch.Generator().manual_seed(seed)
    h, path = torch.zeros(agents, dim, dtype=torch.double), []
    for _ in range(times + 10):
        fresh = torch.randn(agents, dim, generator=g, dtype=torch.double)
        h = 0.4 * h + 0.4 * h.roll(1, 0) + 0.3 * h.roll(2, 0) * (torch.arange(agents) % 2)[:, None] + fresh
        path.append(h)
    states = torch.stack(path[10:])
    seen = states + noise * torch.randn(states.shape, generator=g, dtype=torch.double)
    target = torch.arange(agents).repeat(5)
    source = (target - torch.arange(1, 6).repeat_interleave(agents)) % agents
    links = candidate_links(torch.stack([source, target]), agents)
    panel = vector_panel(seen, torch.ones(times, agents, dtype=torch.bool), None, whiten=False)
    return Problem(panel, links, torch.zeros(agents, dtype=torch.bool))


def found_blur(problem):
    hyper = hyper_parameters(problem, 1, 0.02)
    result = estimate(problem, hyper)
    simulate = Simulator(problem, hyper, result)
    variance = float(result.noise.nanmedian())
    return estimate_blur(problem, hyper, variance, problem.explained, lambda level: simulate(level, 0)[0])


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 0.0, 0.5), (1.0, 0.85, 1.3)])
def test_noise_is_found_where_it_is(noise, low, high):
    """Over seeds 0 ... 4 such a panel gave 0 to 0.45 without noise and 1.05 to 1.15 with noise of 1."""
    assert low <= found_blur(ring(noise)) <= high


def test_an_early_message_helps_more_through_noise():
    looks = []
    for noise in (0.0, 1.0):
        problem = ring(noise)
        looks.append(second_look(problem, hyper_parameters(problem, 1, 0.02), problem.explained))
    assert looks[1] > looks[0] + 0.15


def test_short_panels_say_nothing(problem):
    def never(level):
        raise AssertionError(level)

    short = Problem(vector_panel(*short_states(problem), None), problem.candidates, problem.silent)
    hyper = hyper_parameters(short, 1, 0.02)
    assert estimate_blur(short, hyper, 1.0, short.explained, never) == 0


def short_states(problem):
    values = problem.panel.values[:, :4].transpose(0, 1).contiguous()
    return values, torch.ones(values.shape[:2], dtype=torch.bool)


def test_crossing_by_hand():
    levels, seen = np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.3, 0.2])
    assert crossing(levels, seen, 0.05) == 0
    assert crossing(levels, seen, 0.2) == pytest.approx(0.5)
    assert crossing(levels, seen, 0.9) == 1
