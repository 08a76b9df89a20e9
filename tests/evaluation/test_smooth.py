"""The smooth calibration error against a dense transcription of its definition and the reference implementation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

from sphunc.evaluation import smooth_ece
from sphunc.evaluation.smooth import smooth_error, smooth_error_at


def binary(rows, power=1.3, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(3, 2, rows)
    return confidence, rng.random(rows) < confidence**power


def dense(width, confidence, correct, cells=8000):
    t = (np.arange(cells) + 0.5) / cells
    smoothed = np.zeros_like(t)
    for image in (-2, -1, 0, 1, 2):
        for place in (2 * image + confidence, 2 * image - confidence):
            kernel = np.exp(-0.5 * ((t[:, None] - place) / width) ** 2) / (width * np.sqrt(2 * np.pi))
            smoothed += kernel @ (correct - confidence) / len(confidence)
    return np.abs(smoothed).mean()


@pytest.mark.parametrize(("rows", "power"), [(10, 1.3), (60, 1.3), (60, 1.0), (150, 0.7)])
def test_equals_its_definition_to_the_accuracy_it_claims(rows, power):
    confidence, correct = binary(rows, power=power, seed=rows)
    expected = brentq(lambda width: dense(width, confidence, correct) - width, 0.005, 0.99, xtol=1e-6)
    assert smooth_error(confidence, correct) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("width", [0.1, 0.5])
def test_equals_its_definition_at_a_given_width(width):
    confidence, correct = binary(60)
    assert smooth_error_at(width, confidence, correct) == pytest.approx(dense(width, confidence, correct), abs=1e-4)


def test_is_the_fixed_point():
    confidence, correct = binary(200)
    found = smooth_error(confidence, correct)
    assert smooth_error_at(found, confidence, correct) == pytest.approx(found, abs=1e-7)


def test_falls_with_the_width():
    confidence, correct = binary(100)
    errors = [smooth_error_at(width, confidence, correct) for width in (0.0, 0.01, 0.05, 0.2, 1.0)]
    assert all(a >= b - 1e-12 for a, b in pairwise(errors))


def test_equals_the_reference_implementation():
    """Values of relplot 1.0.3 (``smECE``, which stops at a width of 0.001) for these rows."""
    for rows, seed, expected in RELPLOT:
        assert smooth_error(*binary(rows, seed=seed)) == pytest.approx(expected, abs=1e-3)


RELPLOT = ((50, 0, 0.09226), (500, 1, 0.04312), (5000, 2, 0.07495))


def test_a_constant_gap_is_found_and_truth_costs_nothing():
    confidence = np.full(1000, 0.8)
    assert smooth_error(confidence, np.arange(1000) < 600) == pytest.approx(0.2, abs=1e-6)
    assert smooth_ece(np.eye(3), [0, 1, 2]) == 0.0


@pytest.mark.parametrize("rows", [1, 2, 5, 7, 1000])
def test_all_certain_and_wrong_is_one_and_nearly_so_nearly(rows):
    assert smooth_ece([[1.0, 0.0]] * rows, [1] * rows) == pytest.approx(1.0, abs=1e-6)
    assert smooth_error(np.zeros(rows), np.ones(rows, dtype=bool)) == pytest.approx(1.0, abs=1e-6)
    assert smooth_ece([[0.999, 0.001]] * rows, [1] * rows) == pytest.approx(0.999, abs=1e-6)
    assert smooth_ece([[1 - 1e-15, 1e-15]] * rows, [0] * rows) == pytest.approx(0.0, abs=1e-6)


def test_takes_the_top_label():
    confidence, correct = binary(80)
    confidence = 0.5 + confidence / 2
    p = np.stack([confidence, 1 - confidence], axis=1)
    assert smooth_ece(p, (~correct).astype(int)) == smooth_error(confidence, correct)
