"""Paired tests of one system against others over seeds and splits, and what so few pairs can show.

A difference is a score of one system less that of another in the same cell (seed, split, data). Cells
that share training rows are not independent: use the corrected resampled test there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from sphunc._checks import number_between, some_names, whole_number
from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Numbers, flat_numbers, share

_NO_VARIATION = 1e-12  # standard deviation over largest difference that rounding alone explains

Pairs = Float[np.ndarray, " pair"]


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test that paired differences centre on 0.

    Where all differences are equal, whether 0 or not, a t-test has no variation to test against:
    statistic NaN, no interval, p-value and ``smallest_p`` 1, so that it is never a finding, nor one
    after Holm's control.

    Attributes:
        name: of the test.
        pairs: differences that entered.
        mean: their mean.
        low, high: 95 % interval of the mean (t, with the variance of the test); None where the test
            gives none.
        statistic: t, or the smaller rank sum; NaN where there is no test.
        p_value: two-sided, not adjusted.
        adjusted_p: after control for several comparisons; equals ``p_value`` when there is one.
        smallest_p: the least p-value that the test can give with such pairs; 0 when there is no
            limit, 1 when there is no test.
        cohens_dz: mean over standard deviation of the differences; infinite when all are equal, 0
            when all are 0.
        hodges_lehmann: median of all pairwise means, robust against an odd cell.
        comparisons: tests that ``adjusted_p`` controls for, this one included.
    """

    name: str
    pairs: int
    mean: float
    low: float | None
    high: float | None
    statistic: float
    p_value: float
    adjusted_p: float
    smallest_p: float
    cohens_dz: float
    hodges_lehmann: float
    comparisons: int = 1

    def is_finding(self, level: float = 0.05) -> bool:
        """Whether the adjusted p-value is below a level that so many pairs can reach at all.

        With two pairs a t-test can fall below any level, by the assumption that differences are
        normal, which two pairs cannot support: the pairs must also be enough for the signed-rank
        test, which does not assume it.
        """
        enough = wilcoxon_limit(self.pairs, level=level, comparisons=self.comparisons) is None
        return enough and self.adjusted_p < level

    def statement(self, level: float = 0.05, comparisons: int = 1) -> str:
        """The result in a plain sentence, or why there can be none at this level.

        Args:
            level: of significance.
            comparisons: tests made, this one included.
        """
        level = share("level", level, allow_one=False)
        if np.isnan(self.statistic):
            return (
                f"All {self.pairs} differences are {self.mean:.4g}: repetition shows no variation, and the "
                f"{self.name} can say nothing. Vary what the result depends on, such as the split."
            )
        if self.smallest_p > 0.0:
            limit = wilcoxon_limit(self.pairs, level=level, comparisons=comparisons)
            if limit is not None:
                return limit
        verdict = "is not shown to differ from 0"
        if self.adjusted_p < level:
            verdict = "differs from 0"
        return (
            f"The mean difference {self.mean:+.4g} over {self.pairs} pairs {verdict} at {level:g} "
            f"({self.name}, p = {self.adjusted_p:.4g}, dz = {self.cohens_dz:.2f})."
        )


def paired_t(differences: Numbers) -> PairedTest:
    """Student's paired t-test, right when pairs are independent; seeds on one split say nothing of others.

    Equal differences show no variation to test against: there is then no test (see
    :class:`PairedTest`), and the statement says so.
    """
    return _t_test("paired t-test", _differences(differences), 0.0)


def corrected_resampled_t(differences: Numbers, *, train_size: int | float, test_size: int | float) -> PairedTest:
    r"""The t-test of Nadeau and Bengio (2003) for splits that share training rows.

    .. math:: t = \bar d \Big/ \sqrt{\left(\tfrac1n + \tfrac{n_\text{test}}{n_\text{train}}\right) s^2},
              \qquad n - 1 \text{ degrees of freedom}

    Args:
        differences: d, one per split and seed.
        train_size: training rows of a split; only its ratio to ``test_size`` counts.
        test_size: test rows of a split.
    """
    ratio = _size("test_size", test_size) / _size("train_size", train_size)
    return _t_test("corrected resampled t-test", _differences(differences), ratio)


def wilcoxon(differences: Numbers) -> PairedTest:
    """Signed-rank test, exact up to 50 pairs (13 with ties); pairs that differ by exactly 0 are left out."""
    d = _differences(differences)
    moved = d[d != 0.0]
    test = _without_test("Wilcoxon signed-rank test", d)
    if not moved.size:
        return replace(test, pairs=0, statistic=0.0)
    statistic, p = map(float, stats.wilcoxon(moved))
    smallest = smallest_wilcoxon_p(len(moved))
    return replace(test, pairs=len(moved), statistic=statistic, p_value=p, adjusted_p=p, smallest_p=smallest)


def smallest_wilcoxon_p(pairs: int) -> float:
    r"""Least two-sided p-value of the signed-rank test: all differences on one side, :math:`2^{1-n}`."""
    return min(1.0, 2.0 ** (1 - whole_number("pairs", pairs, least=0)))


def wilcoxon_limit(pairs: int, *, level: float = 0.05, comparisons: int = 1) -> str | None:
    """Say in a sentence that so many pairs cannot reach a level at all, or None when they can.

    Several comparisons raise the bar: Holm's control multiplies the smallest p-value by their number.

    Args:
        pairs: differences that enter a test.
        level: of significance.
        comparisons: tests made, this one included.

    Example:
        >>> wilcoxon_limit(5)
        '5 pairs are too few: the Wilcoxon signed-rank test cannot go below p = 0.0625 with them. For 0.05 it takes 6.'
    """
    smallest = smallest_wilcoxon_p(pairs)
    comparisons = whole_number("comparisons", comparisons, least=1)
    if smallest * comparisons < share("level", level, allow_one=False):
        return None
    among = ""
    if comparisons > 1:
        among = f" among {comparisons} comparisons"
    needed = int(np.floor(np.log2(comparisons / level))) + 2
    return (
        f"{pairs} pairs are too few: the Wilcoxon signed-rank test cannot go below p = {smallest:.4g} with them. "
        f"For {level:g}{among} it takes {needed}."
    )


def cohens_dz(differences: Numbers) -> float:
    """Mean of the differences over their standard deviation; infinite when all are equal, 0 when all are 0."""
    d = _differences(differences)
    mean = float(d.mean())
    deviation = _deviation(d)
    if deviation > 0.0:
        return mean / deviation
    if mean == 0.0:
        return 0.0
    return math.copysign(math.inf, mean)


def hodges_lehmann(differences: Numbers) -> float:
    """Median of the means of all pairs of differences, each with itself included."""
    d = _differences(differences)
    first, second = np.triu_indices(len(d))
    return float(np.median((d[first] + d[second]) / 2.0))


def holm(p_values: Numbers) -> Pairs:
    """p-values adjusted by Holm's step-down method: bounds the chance of any false finding."""
    p = _p_values(p_values)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)[np.argsort(order)]


def benjamini_hochberg(p_values: Numbers) -> Pairs:
    """p-values adjusted by Benjamini and Hochberg: bounds the expected share of false ones among the findings."""
    return np.asarray(stats.false_discovery_control(_p_values(p_values), method="bh"))


def compare(
    scores: Mapping[str, Numbers], reference: str, *, train_size: int | float, test_size: int | float
) -> dict[str, PairedTest]:
    """Test a reference system against every other with the corrected resampled test and Holm's control.

    Args:
        scores: per system one score per cell, cells in the same order for all.
        reference: the system whose score less that of the other is tested.
        train_size: training rows of a split; only its ratio to ``test_size`` counts.
        test_size: test rows of a split.
    """
    if reference not in scores:
        raise ArgumentError(f"reference: {reference!r} has no scores. Systems: {some_names(list(map(repr, scores)))}.")
    tests = {}
    for other in scores:
        if other != reference:
            pair = {reference: scores[reference], other: scores[other]}
            ours, theirs = flat_numbers(pair, remedy="Compare only cells that all systems have.")
            tests[other] = corrected_resampled_t(ours - theirs, train_size=train_size, test_size=test_size)
    if not tests:
        raise ArgumentError(f"scores: only {reference!r} is there. Give another system to compare with.")
    return holm_controlled(tests)


def holm_controlled(tests: Mapping[str, PairedTest]) -> dict[str, PairedTest]:
    """The same tests after Holm's control over all of them."""
    if not tests:
        return {}
    adjusted = holm([test.p_value for test in tests.values()]).tolist()
    controlled = {}
    for (name, test), p in zip(tests.items(), adjusted, strict=True):
        controlled[name] = replace(test, adjusted_p=p, comparisons=len(tests))
    return controlled


def t_interval(values: Pairs, error: float) -> tuple[float, float]:
    """95 % t-interval of a mean.

    Args:
        values: what the mean is of.
        error: standard error of the mean.
    """
    mean = float(values.mean())
    half = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return mean - half, mean + half


def standard_error(values: Pairs, ratio: float = 0.0) -> float:
    r"""Standard error :math:`s \sqrt{1 / n + \text{ratio}}` of the mean of paired differences.

    Args:
        values: one per pair, two or more.
        ratio: test rows over training rows, where pairs share training rows; 0 for independent pairs.
    """
    return _deviation(values) * math.sqrt(1.0 / len(values) + ratio)


def _t_test(name: str, d: Pairs, ratio: float) -> PairedTest:
    test = _without_test(name, d)
    error = standard_error(d, ratio)
    if error == 0.0:  # no variation to test against, and so no finding, however large the differences are
        return test
    low, high = t_interval(d, error)
    t = test.mean / error
    p = float(2.0 * stats.t.sf(abs(t), len(d) - 1))
    return replace(test, low=low, high=high, statistic=t, p_value=p, adjusted_p=p, smallest_p=0.0)


def _without_test(name: str, d: Pairs) -> PairedTest:
    """Mean and effect sizes of differences, no test yet."""
    return PairedTest(
        name=name,
        pairs=len(d),
        mean=float(d.mean()),
        low=None,
        high=None,
        statistic=math.nan,
        p_value=1.0,
        adjusted_p=1.0,
        smallest_p=1.0,
        cohens_dz=cohens_dz(d),
        hodges_lehmann=hodges_lehmann(d),
    )


def _differences(differences: Numbers) -> Pairs:
    (d,) = flat_numbers({"differences": differences}, remedy="Leave such pairs out.")
    if len(d) < 2:
        raise ArgumentError("differences: one pair, and nothing shows how much it varies. Run two seeds or more.")
    return d


def _deviation(d: Pairs) -> float:
    deviation = float(d.std(ddof=1))
    if deviation <= _NO_VARIATION * np.abs(d).max():
        return 0.0
    return deviation


def _size(name: str, value: object) -> float:
    size = number_between(name, value, 0.0, math.inf)
    if size == 0.0 or size == math.inf:
        raise ArgumentError(f"{name}={size:g} must be finite and above 0")
    return size


def _p_values(p_values: Numbers) -> Pairs:
    (p,) = flat_numbers({"p_values": p_values}, remedy="Leave such tests out.")
    if p.min() < 0.0 or p.max() > 1.0:
        raise ArgumentError(f"p_values: range [{p.min():.4g}, {p.max():.4g}], expected numbers in [0, 1].")
    return p
