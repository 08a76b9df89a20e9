"""Binned calibration errors against netcal, hand-computed numbers and their expectations."""

import numpy as np
import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation import (
    adaptive_ece,
    classwise_ece,
    debiased_ece,
    debiased_squared_error,
    ece,
    reliability_curve,
)
from sphunc.evaluation.calibration import equal_mass, equal_width


def forecast(rows, seed=0, sharpen=1.5):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), size=rows)
    y = (p.cumsum(1) < rng.random((rows, 1))).sum(1)
    q = p**sharpen
    return q / q.sum(1, keepdims=True), y


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_errors_equal_those_of_netcal(bins):
    metrics = pytest.importorskip("netcal.metrics")
    p, y = forecast(700)
    assert ece(p, y, bins=bins) == pytest.approx(metrics.ECE(bins).measure(p, y), abs=1e-12)
    by_mass = metrics.ECE(bins, equal_intervals=False).measure(p, y)
    assert adaptive_ece(p, y, bins=bins) == pytest.approx(by_mass, abs=1e-12)
    by_class = [metrics.ECE(bins).measure(p[:, c], (y == c).astype(int)) for c in range(4)]
    assert classwise_ece(p, y, bins=bins) == pytest.approx(np.mean(by_class), abs=1e-12)


def two_classes(confidence):
    return np.stack([confidence, 1 - np.asarray(confidence)], axis=1)


def test_by_hand():
    # bins 13 (0.9: mean 0.9, two of three right) and 9 (0.62 and 0.65: one of two right)
    p, y = two_classes([0.9, 0.9, 0.9, 0.62, 0.65]), np.array([0, 0, 1, 0, 1])
    assert ece(p, y) == pytest.approx((3 * (0.9 - 2 / 3) + 2 * (0.635 - 0.5)) / 5)
    assert classwise_ece(p, y) == pytest.approx(ece(p, y))
    curve = reliability_curve(p, y)
    np.testing.assert_allclose(curve.low, [9 / 15, 13 / 15])
    np.testing.assert_allclose(curve.high, [10 / 15, 14 / 15])
    np.testing.assert_array_equal(curve.count, [2, 3])
    np.testing.assert_allclose(curve.confidence, [0.635, 0.9])
    np.testing.assert_allclose(curve.accuracy, [0.5, 2 / 3])


def test_the_last_bin_is_closed_at_one_and_edges_open_upwards():
    edges = np.linspace(0, 1, 16)
    np.testing.assert_array_equal(equal_width(edges, 15), [*range(15), 14])
    assert ece(np.eye(3), [0, 1, 2]) == 0.0


def test_equal_mass_bins_hold_equally_many_and_keep_ties_together():
    confidence = np.random.default_rng(0).random(150)
    np.testing.assert_array_equal(np.bincount(equal_mass(confidence, 15)), 10)
    tied = np.repeat([0.6, 0.9], [40, 3])
    assert len(np.unique(equal_mass(tied, 15)[:40])) == 1


@pytest.mark.parametrize("low_rows", [3, 20, 50, 80, 97])
def test_two_values_make_two_bins_by_mass(low_rows):
    confidence = np.repeat([0.5001, 0.9], [low_rows, 100 - low_rows])
    assert len(np.unique(equal_mass(confidence, 15))) == 2
    correct = np.concatenate([np.arange(low_rows) < 0.9 * low_rows, np.arange(100 - low_rows) < (100 - low_rows) / 2])
    p, y = two_classes(confidence), (~correct).astype(int)
    assert adaptive_ece(p, y) == pytest.approx(ece(p, y), abs=1e-12)
    if low_rows == 50:
        assert adaptive_ece(p, y) == pytest.approx(0.39995, abs=1e-12)


def test_bins_by_mass_take_one_row_and_rows_that_are_all_equal():
    assert adaptive_ece([[0.8, 0.2]], [0]) == pytest.approx(0.2)
    assert adaptive_ece(two_classes([0.8] * 4), [0, 0, 0, 1]) == pytest.approx(0.05)


def test_the_order_of_rows_does_not_matter():
    p, y = forecast(300)
    p = np.round(p, 1)
    p[:, 0] += 1 - p.sum(1)
    p = np.abs(p) / np.abs(p).sum(1, keepdims=True)
    order = np.random.default_rng(1).permutation(300)
    for metric in (ece, adaptive_ece, classwise_ece, debiased_ece):
        assert metric(p[order], y[order]) == pytest.approx(metric(p, y), abs=1e-12)


def test_the_weighted_gap_of_the_curve_is_the_error():
    p, y = forecast(500)
    curve = reliability_curve(p, y)
    gap = np.average(np.abs(curve.accuracy - curve.confidence), weights=curve.count)
    assert gap == pytest.approx(ece(p, y), abs=1e-12)


def test_debiased_error_is_that_of_kumar_where_confidence_is_constant_in_a_bin():
    rng = np.random.default_rng(5)
    confidence = rng.choice([0.55, 0.7, 0.85], size=200)
    correct = rng.random(200) < confidence - 0.1
    expected = 0.0
    for value in np.unique(confidence):
        hits = correct[confidence == value]
        accuracy = hits.mean()
        expected += len(hits) / 200 * ((accuracy - value) ** 2 - accuracy * (1 - accuracy) / (len(hits) - 1))
    found = debiased_squared_error(two_classes(confidence), (~correct).astype(int))
    assert found == pytest.approx(expected, abs=1e-12)
    assert debiased_ece(two_classes(confidence), (~correct).astype(int)) == pytest.approx(max(expected, 0) ** 0.5)


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_debiased_error_has_no_bias_while_the_plain_one_has(shift):
    rng = np.random.default_rng(11)
    edges = np.arange(9, 15) / 15
    found, plain = [], []
    for _ in range(800):
        confidence = rng.choice(edges, 120) + rng.random(120) / 15
        p, y = two_classes(confidence), (rng.random(120) >= confidence - shift).astype(int)
        found.append(debiased_squared_error(p, y))
        plain.append(ece(p, y) ** 2)
    # bins with a single row count 0, which is too little by at most their share: below 1e-6 here
    standard_error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - shift**2) < 4 * standard_error
    assert np.mean(plain) - shift**2 > 10 * standard_error


def test_bins_below_one_are_refused():
    with pytest.raises(ArgumentError, match="bins=0 must be at least 1"):
        ece(*forecast(10), bins=0)
