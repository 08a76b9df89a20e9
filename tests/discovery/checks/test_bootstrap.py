"""Simulated panels have the process that was fitted, and known links are counted as they are."""

import math

import pytest
import torch

from sphunc.discovery import calibration_of
from sphunc.discovery.candidates import candidate_links
from sphunc.discovery.checks.bootstrap import simulate_panel, simulated_calibration
from sphunc.discovery.posterior.estimate import Problem, estimate, fit_settings
from sphunc.discovery.regression.panel import build_panel


@pytest.fixture(scope="module")
def fitted(ring, neighbours):
    links = candidate_links(neighbours, range(30))
    panel = build_panel(ring, torch.ones(20, 30, dtype=torch.bool), links.links, None, replicates=False)
    problem = Problem(panel, links)
    settings = fit_settings(problem)
    return problem, settings, estimate(problem, settings, problem.explained)


def test_counts_are_of_links_above_one_half():
    probability = torch.tensor([0.9, 0.8, 0.6, 0.4, 0.1])
    found = calibration_of(probability, torch.tensor([True, True, False, True, False]))
    assert (found.shown, found.true, found.existing) == (3, 2, 3)
    assert found.claimed == pytest.approx(2.3)
    assert found.precision == pytest.approx(2 / 3)
    assert "of 3 links shown" in found.reading
    nothing = calibration_of(torch.zeros(4), torch.zeros(4, dtype=torch.bool))
    assert math.isnan(nothing.precision)
    assert "none is shown" in nothing.reading


def test_links_of_the_fit_are_found_again(fitted):
    problem, settings, result = fitted
    found = simulated_calibration(problem, settings, result, result.probability, 0, calibrate=True)
    assert found.existing == pytest.approx(float(result.probability.sum()), abs=12)
    assert found.shown > 20
    assert found.precision > 0.85


def test_simulated_links_move_their_targets(fitted):
    problem, settings, result = fitted
    strength = torch.where(result.probability > 0.5, 0.5, 0.0).double()
    panel = simulate_panel(problem, settings, strength, result.lag, torch.Generator().manual_seed(0))
    source, target = problem.candidates.links[:, result.probability > 0.5]
    before = panel.values[source][:, :-1]
    own = panel.values[target][:, :-1]
    after = panel.values[target][:, 1:]
    design = torch.stack([own.flatten(), before.flatten()], 1)
    coefficient = torch.linalg.lstsq(design, after.flatten()).solution
    assert float(coefficient[1]) == pytest.approx(0.5, abs=0.06)
    assert panel.shape[:2] == problem.panel.shape[:2]
