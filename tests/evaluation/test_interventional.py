"""What-if scores against scipy and hand-computed numbers."""

import numpy as np
import pytest
import torch
from scipy import stats

from sphunc.errors import ArgumentError
from sphunc.evaluation import class_entropy, entropy_error, total_variation

P, Q = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]), np.array([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])


def test_total_variation_by_hand_and_its_range():
    assert total_variation(P, torch.from_numpy(Q)) == pytest.approx((0.3 + 1.0) / 2)
    assert total_variation(P, P) == 0.0
    assert total_variation(P, Q, mask=[True, False]) == pytest.approx(0.3)


def test_total_variation_is_the_largest_gap_over_events():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), 2)
    events = [[bool(code >> c & 1) for c in range(4)] for code in range(16)]
    assert total_variation([p], [q]) == pytest.approx(max(p[e].sum() - q[e].sum() for e in events))


def test_simulated_truth_has_the_noise_that_the_docstring_says():
    rng = np.random.default_rng(1)
    q = np.full((4000, 4), 0.25)
    drawn = rng.multinomial(1000, q) / 1000
    noise = total_variation(q, drawn)
    assert noise == pytest.approx(np.sqrt((4 - 1) / (2 * np.pi * 1000)), rel=0.02)


def test_entropy_equals_scipy():
    np.testing.assert_allclose(class_entropy(P), stats.entropy(P, axis=1), atol=1e-12)
    assert class_entropy([[0.5, 0.5]])[0] == pytest.approx(np.log(2))


def test_entropy_error_by_hand():
    truth = [[0.5, 0.5], [1.0, 0.0]]
    found = entropy_error([np.log(2) + 0.3, -0.1], truth)
    assert found.mean_absolute == pytest.approx(0.2)
    assert found.bias == pytest.approx(0.1)
    assert found.root_mean_square == pytest.approx(np.sqrt(0.05))
    assert entropy_error([np.nan, 0.2], truth, mask=[False, True]).bias == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: total_variation(P, Q[:1]), r"truth: shape \(1, 3\) differs from \(2, 3\) of probabilities"),
        (lambda: total_variation(P, Q * 0.5), r"truth: row \d sums to 0.5"),
        (lambda: entropy_error([0.1], Q), r"truth: shape \(2, 3\) does not fit entropy \(1,\)"),
        (lambda: entropy_error([0.1, np.nan], Q), "entropy: 1 of 2 rows are NaN"),
    ],
)
def test_faults_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
