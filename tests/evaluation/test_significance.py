"""Paired tests against scipy, exact enumeration and hand-computed numbers; what few pairs cannot show."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from sphunc.errors import ArgumentError
from sphunc.evaluation import (
    benjamini_hochberg,
    cohens_dz,
    compare,
    corrected_resampled_t,
    hodges_lehmann,
    holm,
    paired_t,
    smallest_wilcoxon_p,
    wilcoxon,
    wilcoxon_limit,
)

D = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def test_paired_t_equals_scipy():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.3, 1, 12), rng.normal(size=12)
    found, expected = paired_t(torch.from_numpy(ours - theirs)), stats.ttest_rel(ours, theirs)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == found.adjusted_p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_the_corrected_test_by_hand():
    # mean 3, variance 2.5, (1/5 + 1/4) 2.5 = 1.125
    found = corrected_resampled_t(D, train_size=400, test_size=100)
    assert found.statistic == pytest.approx(3 / np.sqrt(1.125))
    assert found.p_value == pytest.approx(2 * stats.t.sf(3 / np.sqrt(1.125), 4))
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 4) * np.sqrt(1.125))
    assert found.cohens_dz == pytest.approx(3 / np.sqrt(2.5))


def test_the_correction_holds_its_level_where_splits_share_rows():
    """Means over random quarters of one sample correlate by 1/4, which is what the correction assumes."""
    rng = np.random.default_rng(1)
    rejected = np.zeros(2)
    for _ in range(300):
        x = rng.normal(size=100)
        means = np.array([x[rng.permutation(100)[:25]].mean() for _ in range(10)])
        corrected = corrected_resampled_t(means, train_size=75, test_size=25)
        rejected += [paired_t(means).p_value < 0.05, corrected.p_value < 0.05]
    # the variance of a mean of 10 such is 1 + 10 (1/4) / (3/4) times what the plain test takes it for
    plain = 2 * stats.t.sf(stats.t.ppf(0.975, 9) / np.sqrt(1 + 10 / 3), 9)
    for share, expected in zip(rejected / 300, (plain, 0.05), strict=True):
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 300)
    assert plain > 0.3


@pytest.mark.parametrize("differences", [[0.3, -0.1, 0.7, 0.2, 1.1, 0.5], [1.0, 1.0, -1.0, 2.0, 2.0, 3.0]])
def test_wilcoxon_is_exact_with_and_without_ties(differences):
    d = np.array(differences)
    ranks = stats.rankdata(np.abs(d))
    centre = ranks.sum() / 2
    sums = [ranks @ (np.array(signs) > 0) for signs in product((-1, 1), repeat=len(d))]
    extreme = np.abs(np.array(sums) - centre) >= abs(ranks[d > 0].sum() - centre) - 1e-12
    assert wilcoxon(d).p_value == pytest.approx(extreme.mean())


def test_five_pairs_cannot_be_significant():
    found = wilcoxon(D)
    assert found.p_value == found.smallest_p == smallest_wilcoxon_p(5) == 0.0625
    assert found.statement() == (
        "5 pairs are too few: the Wilcoxon signed-rank test cannot go below p = 0.0625 with them. For 0.05 it takes 6."
    )


@pytest.mark.parametrize("comparisons", [1, 5, 20])
@pytest.mark.parametrize("level", [0.05, 0.01, 0.0625])
def test_the_number_of_pairs_needed_is_the_least_that_can(level, comparisons):
    needed = next(n for n in range(1, 40) if 2.0 ** (1 - n) * comparisons < level)
    assert wilcoxon_limit(needed, level=level, comparisons=comparisons) is None
    sentence = wilcoxon_limit(needed - 1, level=level, comparisons=comparisons)
    assert sentence is not None
    assert sentence.endswith(f"it takes {needed}.")
    assert ("among" in sentence) == (comparisons > 1)


def test_a_finding_is_one_that_so_many_pairs_can_show_at_all():
    two, five = (corrected_resampled_t(1 + 1e-4 * D[:n], train_size=4, test_size=1) for n in (2, 5))
    assert (two.adjusted_p < 0.05, five.adjusted_p < 0.05) == (True, True)
    assert not two.is_finding()
    assert not five.is_finding()
    six = corrected_resampled_t(1 + 1e-4 * np.arange(6.0), train_size=4, test_size=1)
    assert six.is_finding()
    assert not six.is_finding(level=0.01)
    assert not replace(six, comparisons=2).is_finding()
    assert not replace(six, adjusted_p=0.06).is_finding()


def test_pairs_without_difference_are_left_out_of_the_ranks():
    found = wilcoxon([0.0, 0.0, *D, 6.0])
    assert found.pairs == 6
    assert found.p_value == 2 / 2**6
    nothing = wilcoxon(np.zeros(4))
    assert (nothing.pairs, nothing.p_value, nothing.cohens_dz) == (0, 1.0, 0.0)


def test_statements_say_what_was_found():
    assert "The mean difference +3 over 5 pairs differs from 0 at 0.05 (paired t-test, p = 0.01324" in (
        paired_t(D).statement()
    )
    assert "is not shown to differ from 0 at 0.01" in paired_t(D).statement(level=0.01)


@pytest.mark.parametrize("value", [0.1, -0.1, 0.0])
def test_equal_differences_are_no_test_and_no_finding(value):
    for found in (paired_t([value] * 5), corrected_resampled_t([value] * 5, train_size=4, test_size=1)):
        assert (found.p_value, found.adjusted_p, found.smallest_p) == (1.0, 1.0, 1.0)
        assert np.isnan(found.statistic)
        assert (found.low, found.high) == (None, None)
        assert found.mean == pytest.approx(value)
        assert found.statement().startswith(f"All 5 differences are {value:g}: repetition shows no variation")
    assert found.cohens_dz == (np.copysign(np.inf, value) if value else 0.0)


def test_equal_differences_weaken_no_other_comparison_beyond_their_number():
    tests = compare({"a": D, "b": D - 0.1, "c": np.zeros(5)}, "a", train_size=4, test_size=1)
    assert tests["b"].adjusted_p == 1.0
    assert tests["c"].adjusted_p == pytest.approx(2 * tests["c"].p_value)
    assert wilcoxon([0.1] * 5).p_value == 0.0625


def test_effect_sizes_by_hand():
    assert cohens_dz(D) == pytest.approx(3 / np.sqrt(2.5))
    # means of pairs of 1, 2, 9: 1, 1.5, 5, 2, 5.5, 9
    assert hodges_lehmann([1.0, 2.0, 9.0]) == pytest.approx(3.5)
    assert hodges_lehmann(-D) == -3.0


def test_adjustments_by_hand_and_against_scipy():
    p = [0.01, 0.04, 0.03, 0.005]
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(benjamini_hochberg(p), [0.02, 0.04, 0.04, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])


def test_holm_bounds_the_chance_of_any_false_finding():
    p = np.random.default_rng(2).random((2000, 6))
    any_false = np.mean([holm(row).min() < 0.05 for row in p])
    assert abs(any_false - (1 - (1 - 0.05 / 6) ** 6)) < 4 * np.sqrt(0.05 * 0.95 / 2000)


def test_comparison_of_systems_is_adjusted():
    rng = np.random.default_rng(3)
    ours = rng.normal(1.0, 0.1, 10)
    scores = {"ours": ours, "other": ours - 0.2 + rng.normal(0, 0.02, 10), "twin": ours + rng.normal(0, 0.1, 10)}
    tests = compare(scores, "ours", train_size=80, test_size=20)
    assert list(tests) == ["other", "twin"]
    raw = [tests[name].p_value for name in tests]
    np.testing.assert_allclose([tests[name].adjusted_p for name in tests], holm(raw))
    assert tests["other"].adjusted_p < 0.001
    assert tests["other"].mean == pytest.approx(0.2, abs=0.02)
    assert tests["twin"].adjusted_p > 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_t([1.0]), "differences: one pair"),
        (lambda: paired_t([1.0, np.nan]), "differences: 1 of 2 rows are NaN .* Leave such pairs out."),
        (lambda: paired_t([]), "differences: empty, and nothing can be computed from nothing"),
        (lambda: wilcoxon([]), "differences: empty"),
        (lambda: holm([]), "p_values: empty"),
        (lambda: holm([np.nan]), "p_values: 1 of 1 rows are NaN .* Leave such tests out."),
        (lambda: compare({"mask": D, "b": D * np.nan}, "mask", train_size=1, test_size=1), "b: 5 of 5 rows .* Compare"),
        (
            lambda: corrected_resampled_t(D, train_size=0, test_size=1),
            "train_size=0 must be finite and above 0",
        ),
        (lambda: corrected_resampled_t(D, train_size=np.nan, test_size=1), "train_size=nan is outside 0"),
        (lambda: corrected_resampled_t(D, train_size=1, test_size=np.inf), "test_size=inf must be finite"),
        (lambda: compare({"a": D, "b": D}, "a", train_size=np.nan, test_size=1), "train_size=nan"),
        (lambda: paired_t(D).statement(level=5.0), "level=5 is outside"),
        (lambda: holm([0.1, 1.2]), r"p_values: range \[0.1, 1.2\], expected numbers in \[0, 1\]"),
        (lambda: compare({"a": D}, "b", train_size=1, test_size=1), "reference: 'b' has no scores. Systems: 'a'"),
        (lambda: compare({"a": D}, "a", train_size=1, test_size=1), "scores: only 'a' is there"),
        (lambda: compare({"a": D, "c": D[:3]}, "a", train_size=1, test_size=1), r"c: shape \(3,\) differs from"),
        (lambda: wilcoxon_limit(5, level=5.0), "level=5 is outside"),
        (lambda: smallest_wilcoxon_p(-1), "pairs=-1 must be at least 0"),
    ],
)
def test_faults_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
