"""The floor against closed forms, against labels drawn in full, and its plausible size."""

import numpy as np
import pytest
from scipy import stats

from sphunc.errors import ArgumentError
from sphunc.evaluation import calibration_null, check_calibration, ece
from sphunc.evaluation.floor import null_errors


def two_classes(confidence):
    return np.stack([confidence, 1 - np.asarray(confidence)], axis=1)


def uniform_confidences(rows, low=0.3, seed=0):
    return np.random.default_rng(seed).uniform(low, 1.0, rows)


@pytest.mark.parametrize(("rows", "confidence"), [(40, 0.7), (160, 0.55), (200, 0.9)])
def test_one_confidence_gives_the_mean_absolute_deviation_of_a_binomial(rows, confidence):
    law = stats.binom(rows, confidence)
    hits = np.arange(rows + 1)
    exact = law.pmf(hits) @ np.abs(hits / rows - confidence)
    errors = null_errors(np.full(rows, confidence), bins=15, samples=4000, seed=0)
    assert abs(errors.mean() - exact) < 4 * errors.std() / np.sqrt(4000)


def test_the_band_holds_its_share_of_perfectly_calibrated_forecasters():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), size=300)
    null = calibration_null(p, samples=2000)
    errors = [ece(p, (p.cumsum(1) < rng.random((300, 1))).sum(1)) for _ in range(600)]
    assert abs(np.mean(errors) - null.floor) < 5 * np.std(errors) / np.sqrt(600)
    share = np.mean([null.contains(error) for error in errors])
    assert abs(share - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 600)


@pytest.mark.parametrize(("rows", "low", "high"), [(160, 0.06, 0.095), (540, 0.03, 0.05), (4830, 0.012, 0.019)])
def test_the_floor_has_the_known_size(rows, low, high):
    """About 0.046 at 540 rows and 0.016 at 4830 with spread confidences; less where they are concentrated."""
    errors = null_errors(uniform_confidences(rows), bins=15, samples=500, seed=0)
    assert low < errors.mean() < high


def test_concentrated_confidences_have_a_lower_floor():
    spread = null_errors(uniform_confidences(540), bins=15, samples=500, seed=0).mean()
    narrow = null_errors(uniform_confidences(540, low=0.97), bins=15, samples=500, seed=0).mean()
    assert narrow < 0.2 * spread


def test_the_check_tells_calibrated_from_overconfident():
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.5, 1.0, 2000)
    draw = rng.random(2000)
    honest = check_calibration(two_classes(confidence), (draw >= confidence).astype(int))
    boastful = check_calibration(two_classes(confidence), (draw >= confidence - 0.1).astype(int))
    assert honest.is_calibrated
    assert honest.p_value > 0.01
    assert abs(honest.excess) < 0.02
    assert not boastful.is_calibrated
    assert boastful.p_value == 1 / 2001
    assert boastful.excess == pytest.approx(boastful.ece - boastful.null.floor)
    assert str(honest).startswith(f"ECE {honest.ece:.4f} (floor {honest.null.floor:.4f}, 95 % band")


def test_check_and_null_agree_and_the_seed_decides():
    p, y = two_classes(uniform_confidences(100, low=0.5)), np.zeros(100, dtype=int)
    assert check_calibration(p, y, seed=4).null == calibration_null(p, seed=4)
    assert calibration_null(p, seed=4) != calibration_null(p, seed=5)
    assert check_calibration(p, y).ece == ece(p, y)


def test_chunks_do_not_change_the_law(monkeypatch):
    confidence = uniform_confidences(50)
    whole = null_errors(confidence, bins=15, samples=301, seed=0)
    monkeypatch.setattr("sphunc.evaluation.floor._CHUNK", 1000)
    # The same draws; sums over arrays of other shapes may be taken in another order.
    np.testing.assert_allclose(null_errors(confidence, bins=15, samples=301, seed=0), whole, rtol=0, atol=1e-14)


def test_faults_are_named():
    with pytest.raises(ArgumentError, match="level=95 is outside 0"):
        calibration_null([[0.5, 0.5]], level=95.0)
    with pytest.raises(ArgumentError, match="samples=0 must be at least 1"):
        calibration_null([[0.5, 0.5]], samples=0)
    with pytest.raises(ArgumentError, match="seed=-1 must be at least 0"):
        calibration_null([[0.5, 0.5]], seed=-1)
    with pytest.raises(
        ArgumentError, match="level=95 is outside 0"
    ):  # before a simulation that would not fit into memory
        check_calibration([[0.5, 0.5]], [0], samples=10**12, level=95.0)
