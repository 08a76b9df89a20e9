"""Bootstrap intervals against scipy, the normal law, and their coverage."""

import numpy as np
import pytest
import torch
from scipy import stats

from sphunc import evaluation as ev
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.evaluation import bootstrap, ece, macro_auc, nll


def mean(x):
    return float(np.mean(x))


def test_equals_scipy_up_to_resampling_noise():
    x = np.random.default_rng(0).exponential(size=200)
    for pivot, method in ((False, "percentile"), (True, "basic")):
        ours = bootstrap(mean, x, samples=2000, pivot=pivot)
        theirs = stats.bootstrap((x,), np.mean, n_resamples=2000, method=method, rng=1).confidence_interval
        np.testing.assert_allclose([ours.low, ours.high], [theirs.low, theirs.high], atol=0.02)
        assert ours.estimate == pytest.approx(x.mean())


def test_width_is_that_of_the_normal_law():
    x = np.random.default_rng(1).normal(size=400)
    found = bootstrap(mean, torch.from_numpy(x), samples=2000, level=0.9)
    assert found.high - found.low == pytest.approx(2 * 1.645 * x.std() / 20, rel=0.08)


def test_clusters_widen_the_interval_by_the_root_of_their_size():
    agents = np.repeat(np.arange(40), 9)
    x = np.random.default_rng(2).normal(size=60)[agents]
    by_row, by_agent = bootstrap(mean, x, samples=2000), bootstrap(mean, x, clusters=agents, samples=2000)
    assert (by_agent.high - by_agent.low) / (by_row.high - by_row.low) == pytest.approx(3.0, rel=0.12)


def test_clusters_of_unequal_size_and_any_label_are_kept_whole():
    labels = np.array(["b", "a", "b", "c", "b"])
    seen = []
    bootstrap(lambda rows: float(seen.append(np.sort(rows)) or 0.0), np.arange(5), clusters=labels, samples=50)
    for rows in seen[1:]:
        counts = np.bincount(rows, minlength=5)
        assert counts[0] == counts[2] == counts[4]
        assert counts[0] + counts[1] + counts[3] == 3


def test_arrays_are_resampled_together_and_a_difference_is_a_metric():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 300)
    y = (p.cumsum(1) < rng.random((300, 1))).sum(1)
    worse = 0.5 * p + 0.5 / 3
    found = bootstrap(lambda a, b, labels: nll(a, labels) - nll(b, labels), p, worse, y, samples=300)
    assert found.high < 0.0
    assert str(found) == f"{found.estimate:.4f} [{found.low:.4f}, {found.high:.4f}]"


def test_the_seed_decides():
    x = np.arange(20.0)
    assert bootstrap(mean, x, seed=1) == bootstrap(mean, x, seed=1) != bootstrap(mean, x, seed=2)


def test_resamples_without_a_value_are_counted():
    p, y = [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2], [0.5, 0.5]], [0, 1, 0, 0]
    found = bootstrap(lambda p, y: macro_auc(p, y).value, p, y, samples=200)
    # one positive of four rows: absent from (3/4)^4 of resamples, alone in (1/4)^4
    expected = 200 * ((3 / 4) ** 4 + (1 / 4) ** 4)
    assert abs(found.undefined - expected) < 4 * np.sqrt(200 * 0.25)
    assert found.samples + found.undefined == 200


def test_a_metric_that_gives_nan_is_undefined_there():
    def spread(x):
        return float("nan") if len(np.unique(x)) < 2 else float(x.std())

    found = bootstrap(spread, np.array([0.0, 0.0, 0.0, 1.0]), samples=400)
    # the one that differs is absent from (3/4)^4 of resamples, alone in (1/4)^4
    expected = 400 * ((3 / 4) ** 4 + (1 / 4) ** 4)
    assert abs(found.undefined - expected) < 4 * np.sqrt(400 * 0.25)
    assert found.samples + found.undefined == 400
    assert 0.0 < found.low < found.high < 1.0
    with pytest.raises(ArgumentError, match=r"metric: gave NaN on the rows as they are, expected a number\. Leave"):
        bootstrap(lambda x: float("nan"), np.arange(4))


def test_infinite_values_have_infinite_ends():
    p, y = np.tile([[0.6, 0.4], [0.5, 0.5]], (10, 1)), np.zeros(20, dtype=int)
    p[0] = 0.0, 1.0
    found = bootstrap(nll, p, y, samples=300)
    assert (found.estimate, found.high) == (np.inf, np.inf)
    assert np.log(1 / 0.6) < found.low < np.log(2)
    assert found.undefined == 0
    pivoted = bootstrap(nll, p, y, samples=300, pivot=True)
    assert (pivoted.low, pivoted.high) == (-np.inf, np.inf)
    below = bootstrap(lambda p, y: -nll(p, y), p, y, samples=300)
    assert below.low == -np.inf
    assert below.high == pytest.approx(-found.low)


def test_infinite_values_beyond_the_ends_change_nothing():
    x = np.random.default_rng(0).random(199)
    values = iter([1.0, np.inf, *x])
    found = bootstrap(lambda rows: next(values), np.zeros(3), samples=200)
    np.testing.assert_allclose([found.low, found.high], np.quantile([*x, 9.0], [0.025, 0.975]), rtol=1e-12)


RNG = np.random.default_rng(7)
P = RNG.dirichlet(np.ones(3), 80)
Y = (P.cumsum(1) < RNG.random((80, 1))).sum(1)
U, FLAG, X = RNG.random(80), RNG.random(80) < 0.3, RNG.normal(size=(80, 6))
CLASS_METRICS = (
    ev.accuracy,
    ev.macro_f1,
    ev.nll,
    ev.brier,
    ev.ece,
    ev.adaptive_ece,
    ev.classwise_ece,
    ev.debiased_ece,
    ev.smooth_ece,
)
METRICS = [
    *((metric, (P, Y)) for metric in CLASS_METRICS),
    (lambda p, y: ev.macro_auc(p, y).value, (P, Y)),
    (lambda p, y: ev.brier_parts(p, y).resolution, (P, Y)),
    *((metric, (U, FLAG)) for metric in (ev.aurc, ev.excess_aurc, ev.misclassification_auroc)),
    *((metric, (U, FLAG)) for metric in (ev.precision_at_k, ev.r_precision, ev.auprc, ev.link_ece)),
    (lambda u, new: ev.out_of_distribution_auroc(u[~new], u[new]), (U, FLAG)),
    (lambda u, new: ev.fpr95(u[~new], u[new]), (U, FLAG)),
    (lambda x, y: ev.crps_samples(x.T, y), (X, X[:, 0])),
    (lambda m, y: ev.crps_gaussian(m, np.ones_like(m), y), (X[:, 1], X[:, 0])),
    (lambda m, y: ev.interval_coverage(m - 1, m + 1, y), (X[:, 1], X[:, 0])),
    (ev.total_variation, (P, P[::-1])),
    (lambda h, q: ev.entropy_error(h, q).bias, (U, P)),
]


@pytest.mark.parametrize(("metric", "arrays"), METRICS)
def test_every_metric_has_an_interval(metric, arrays):
    found = bootstrap(metric, *arrays, clusters=np.repeat(np.arange(40), 2), samples=30)
    assert found.estimate == metric(*arrays)
    assert found.low < found.high
    assert found.undefined == 0


@pytest.mark.slow
def test_pivot_covers_a_small_calibration_error_and_the_plain_interval_does_not():
    rng = np.random.default_rng(0)
    grid, covered = (np.arange(8, 15) + 0.5) / 15, np.zeros(2)
    for trial in range(40):
        confidence = rng.choice(grid, 300)
        p = np.stack([confidence, 1 - confidence], axis=1)
        y = (rng.random(300) >= confidence - 0.03).astype(int)
        for method, pivot in enumerate((False, True)):
            found = bootstrap(ece, p, y, samples=100, pivot=pivot, seed=trial)
            covered[method] += found.low <= 0.03 <= found.high
    assert covered[0] / 40 < 0.4
    assert covered[1] / 40 > 0.8


def test_a_result_with_a_value_is_a_number_and_others_are_refused_in_words():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    assert bootstrap(macro_auc, p, y, samples=20) == bootstrap(lambda p, y: macro_auc(p, y).value, p, y, samples=20)
    with pytest.raises(ArgumentTypeError, match=r"metric: gave a BrierParts, expected a number. Wrap it so that"):
        bootstrap(ev.brier_parts, p, y)


def test_faults_are_named():
    with pytest.raises(ArgumentError, match="arrays: none given"):
        bootstrap(mean)
    with pytest.raises(ArgumentError, match=r"arrays: shapes \[\(3,\), \(2,\)\], expected equal lengths"):
        bootstrap(lambda a, b: 0.0, np.zeros(3), np.zeros(2))
    with pytest.raises(ArgumentError, match=r"clusters: shape \(2,\), expected one label for each of the 3 rows"):
        bootstrap(mean, np.zeros(3), clusters=[0, 1])
    with pytest.raises(ArgumentError, match="clusters: a single one"):
        bootstrap(mean, np.zeros(3), clusters=[1, 1, 1])
    with pytest.raises(ArgumentError, match="samples=1 must be at least 2"):
        bootstrap(mean, np.zeros(3), samples=1)
    with pytest.raises(ArgumentError, match="level=95 is outside 0"):
        bootstrap(mean, np.zeros(3), level=95.0)
    with pytest.raises(ArgumentError, match="seed=-1 must be at least 0"):
        bootstrap(mean, np.zeros(3), seed=-1)
    with pytest.raises(ArgumentError, match="clusters: rows have unequally many entries"):
        bootstrap(mean, np.zeros(2), clusters=[[1], [1, 2]])


@pytest.mark.parametrize("options", [{"level": 95.0}, {"seed": -1}, {"samples": 1}])
def test_options_are_checked_before_any_work(options):
    def never(values):
        raise AssertionError("the metric was called")

    with pytest.raises(ArgumentError, match=r"must be at least|is outside"):
        bootstrap(never, np.zeros(3), **options)


def test_an_interval_from_few_defined_resamples_is_refused():
    def largest_of_three(x):
        if len(np.unique(x)) < 3:
            raise ArgumentError("x: fewer than three values")
        return float(x.max())

    with pytest.raises(ArgumentError, match=r"metric: not defined on \d+ of 300 resamples"):
        bootstrap(largest_of_three, np.arange(3), samples=300)
