import numpy as np
import pytest
import torch

from sphunc.causal.calibrate import calibration_error, fit_map


def test_map_learns_frequencies_and_keeps_order():
    rng = np.random.default_rng(0)
    raw = rng.random(20000)
    truth = (rng.random(20000) < raw**2).astype(float)
    mapping = fit_map(raw, truth)
    grid = torch.linspace(0, 1, 101, dtype=torch.double)
    mapped = mapping(grid)
    assert bool((mapped[1:] >= mapped[:-1]).all())
    assert float((mapped - grid**2).abs().max()) < 0.06
    assert calibration_error(mapping(torch.from_numpy(raw)).numpy(), truth) < 0.02 < calibration_error(raw, truth)


def test_error_of_certain_and_right_is_zero():
    assert calibration_error(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == pytest.approx(0)
