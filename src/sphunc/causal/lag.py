"""How far back influence reaches: chosen by evidence, with one lag as the rule for short panels."""

from __future__ import annotations

from sphunc.causal.estimation import Problem, estimate, hyper_parameters, spread_targets

SHORTEST_FOR_TWO = 6  # with fewer times a second lag costs more rows than it can explain
TARGETS = 150


def allowed_lags(times: int, max_lag: int | None) -> int:
    """Largest lag to consider: 2, or 1 when there are fewer than 6 times, or what the user says if rows remain."""
    longest = 2 if times >= SHORTEST_FOR_TWO else 1
    return longest if max_lag is None else min(max_lag, max(times - 2, 1))


def choose_lag(problem: Problem, longest: int, min_effect: float, seed: int = 0) -> int:
    """Compare lags 1 ... ``longest`` by total evidence on the same rows; the smallest wins ties.

    The target's own lags are the same in all arms: what persists in an agent would otherwise pass for a second lag
    of its sources.
    """
    if longest == 1:
        return 1
    targets = spread_targets(problem, TARGETS)
    scores = []
    for lags in range(1, longest + 1):
        hyper = hyper_parameters(problem, lags, min_effect, targets=targets, own_lags=longest, learn=False, seed=seed)
        result = estimate(problem, hyper, targets=targets, own_lags=longest, seed=seed)
        scores.append(float(result.evidence[targets].sum()))
    return 1 + max(range(longest), key=lambda k: (scores[k], -k))
