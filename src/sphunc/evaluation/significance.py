"""Paired tests of one system against others over seeds and splits, with what their numbers can and cannot show.

A difference is a score of one system less that of another in the same cell (seed, split, data). Cells that share
training rows are not independent: use the corrected resampled test there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Numbers, at_least, flat_numbers, inside


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test that paired differences centre on 0.

    Attributes:
        name: of the test.
        pairs: differences that entered.
        mean: their mean.
        low, high: 95 % interval of the mean (t, with the variance of the test); None where the test gives none.
        statistic: t, or the smaller rank sum.
        p_value: two-sided, not adjusted.
        adjusted_p: after control for several comparisons; equals ``p_value`` when there is one.
        smallest_p: the least p-value that the test can give with so many pairs.
        cohens_dz: mean over standard deviation of the differences.
        hodges_lehmann: median of all pairwise means, robust against an odd cell.
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

    def statement(self, level: float = 0.05, comparisons: int = 1) -> str:
        """The result in a plain sentence, or why there can be none at this level."""
        cannot = unreachable(self.smallest_p, self.pairs, self.name, level=level, comparisons=comparisons)
        if cannot:
            return cannot
        verdict = "differs from 0" if self.adjusted_p < level else "is not shown to differ from 0"
        return (
            f"The mean difference {self.mean:+.4g} over {self.pairs} pairs {verdict} at {level:g} "
            f"({self.name}, p = {self.adjusted_p:.4g}, dz = {self.cohens_dz:.2f})."
        )


def paired_t(differences: Numbers) -> PairedTest:
    """Student's paired t-test. Right when the pairs are independent; seeds on one split say nothing of other splits."""
    return _t_test("paired t-test", _differences(differences), 0.0)


def corrected_resampled_t(differences: Numbers, *, train_size: float, test_size: float) -> PairedTest:
    r"""The t-test of Nadeau and Bengio (2003) for splits that share training rows.

    .. math:: t = \bar d \Big/ \sqrt{\left(\tfrac1n + \tfrac{n_\text{test}}{n_\text{train}}\right) s^2},
              \qquad n - 1 \text{ degrees of freedom}

    Args:
        differences: one per split and seed.
        train_size, test_size: rows of a split (only their ratio counts).
    """
    if train_size <= 0 or test_size <= 0:
        raise ArgumentError(f"train_size, test_size: got {train_size}, {test_size}, expected numbers above 0.")
    return _t_test("corrected resampled t-test", _differences(differences), test_size / train_size)


def wilcoxon(differences: Numbers) -> PairedTest:
    """Signed-rank test, exact up to 50 pairs (13 with ties); pairs that differ by exactly 0 are left out."""
    d = _differences(differences)
    moved = d[d != 0.0]
    statistic, p = (0.0, 1.0) if moved.size == 0 else map(float, stats.wilcoxon(moved))
    return PairedTest(
        name="Wilcoxon signed-rank test",
        pairs=len(moved),
        mean=float(d.mean()),
        low=None,
        high=None,
        statistic=statistic,
        p_value=p,
        adjusted_p=p,
        smallest_p=smallest_wilcoxon_p(len(moved)),
        cohens_dz=cohens_dz(d),
        hodges_lehmann=hodges_lehmann(d),
    )


def smallest_wilcoxon_p(pairs: int) -> float:
    r"""Least two-sided p-value of the signed-rank test: all differences on one side, :math:`2^{1-n}`."""
    return min(1.0, 2.0 ** (1 - at_least("pairs", pairs, 0)))


def unreachable(smallest_p: float, pairs: int, name: str, *, level: float = 0.05, comparisons: int = 1) -> str | None:
    """Say in a sentence that a level cannot be reached at all, or None when it can.

    Example:
        >>> unreachable(smallest_wilcoxon_p(5), 5, "Wilcoxon signed-rank test")
        'Wilcoxon signed-rank test with n = 5 pairs cannot go below p = 0.0625, so it can never reach 0.05: 6 needed.'
    """
    inside("level", level)
    if smallest_p * comparisons < level:
        return None
    among = f" among {comparisons} comparisons" if comparisons > 1 else ""
    needed = int(np.floor(np.log2(comparisons / level))) + 2
    return (
        f"{name} with n = {pairs} pairs cannot go below p = {smallest_p:.4g}, "
        f"so it can never reach {level:g}{among}: {needed} needed."
    )


def cohens_dz(differences: Numbers) -> float:
    """Mean of the differences over their standard deviation; 0 when all are 0."""
    d = _differences(differences)
    if not d.any():
        return 0.0
    return float(d.mean() / _deviation(d))


def hodges_lehmann(differences: Numbers) -> float:
    """Median of the means of all pairs of differences, each with itself included."""
    d = _differences(differences)
    first, second = np.triu_indices(len(d))
    return float(np.median((d[first] + d[second]) / 2.0))


def holm(p_values: Numbers) -> Float[np.ndarray, " test"]:
    """p-values adjusted by Holm's step-down method: bounds the chance of any false finding."""
    p = _p_values(p_values)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)[np.argsort(order)]


def benjamini_hochberg(p_values: Numbers) -> Float[np.ndarray, " test"]:
    """p-values adjusted by Benjamini and Hochberg: bounds the expected share of false ones among the findings."""
    return np.asarray(stats.false_discovery_control(_p_values(p_values), method="bh"))


def compare(
    scores: Mapping[str, Numbers], reference: str, *, train_size: float, test_size: float
) -> dict[str, PairedTest]:
    """Test a reference system against every other with the corrected resampled test and Holm's control.

    Args:
        scores: per system one score per cell, cells in the same order for all.
        reference: the system whose score less that of the other is tested.
        train_size, test_size: rows of a split (only their ratio counts).
    """
    if reference not in scores:
        raise ArgumentError(f"reference: {reference!r} has no scores. Systems: {', '.join(map(repr, scores))}.")
    tests = {}
    for other in scores:
        if other != reference:
            ours, theirs = flat_numbers(**{reference: scores[reference], other: scores[other]})
            tests[other] = corrected_resampled_t(ours - theirs, train_size=train_size, test_size=test_size)
    if not tests:
        raise ArgumentError(f"scores: only {reference!r} is there. Give another system to compare with.")
    adjusted = holm([test.p_value for test in tests.values()])
    return {name: replace(test, adjusted_p=float(p)) for (name, test), p in zip(tests.items(), adjusted, strict=True)}


def _t_test(name: str, d: Float[np.ndarray, " pair"], shared: float) -> PairedTest:
    n, mean = len(d), float(d.mean())
    error = _deviation(d) * np.sqrt(1.0 / n + shared) if d.any() else 0.0
    t = mean / error if error else 0.0
    p = float(2.0 * stats.t.sf(abs(t), n - 1))
    half = float(stats.t.ppf(0.975, n - 1) * error)
    return PairedTest(name, n, mean, mean - half, mean + half, float(t), p, p, 0.0, cohens_dz(d), hodges_lehmann(d))


def _differences(differences: Numbers) -> Float[np.ndarray, " pair"]:
    (d,) = flat_numbers(differences=differences)
    if len(d) < 2:
        raise ArgumentError("differences: one pair, and nothing shows how much it varies. Run two seeds or more.")
    return d


def _deviation(d: Float[np.ndarray, " pair"]) -> float:
    deviation = float(d.std(ddof=1))
    if deviation <= 1e-12 * np.abs(d).max():
        raise ArgumentError(
            f"differences: all {len(d)} are {d[0]:.6g}, so that repetition shows no variation to test against. "
            "Vary what the result depends on: the split, if the seed does not matter."
        )
    return deviation


def _p_values(p_values: Numbers) -> Float[np.ndarray, " test"]:
    (p,) = flat_numbers(p_values=p_values)
    if p.min() < 0.0 or p.max() > 1.0:
        raise ArgumentError(f"p_values: range [{p.min():.4g}, {p.max():.4g}], expected numbers in [0, 1].")
    return p
