"""How far back influence reaches: chosen by evidence, with one lag as the rule for short panels."""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc.causal.estimation import Problem, estimate, hyper_parameters, spread_targets

SHORTEST_FOR_TWO = 6  # with fewer times a second lag costs more rows than it can explain
TARGETS = 150
BEYOND_DOUBT = 2.0  # standard errors by which a longer lag must win: noise in the latents lets it win by chance


def allowed_lags(times: int, max_lag: int | None) -> int:
    """Largest lag to consider: 2, or 1 when there are fewer than 6 times, or what the user says if rows remain."""
    longest = 2 if times >= SHORTEST_FOR_TWO else 1
    return longest if max_lag is None else min(max_lag, max(times - 2, 1))


def choose_lag(problem: Problem, longest: int, min_effect: float, seed: int = 0) -> int:
    """Compare lags 1 ... ``longest`` by evidence on the same rows; a longer one must win beyond doubt over the targets.

    The target's own lags are the same in all arms: what persists in an agent would otherwise pass for a second lag
    of its sources. So would the noise of latents, through which an earlier state still tells something; it wins by
    little, a true second lag by much.
    """
    if longest == 1:
        return 1
    targets = spread_targets(problem, TARGETS)
    chosen, best = 1, _evidence(problem, 1, longest, min_effect, targets, seed)
    for lags in range(2, longest + 1):
        score = _evidence(problem, lags, longest, min_effect, targets, seed)
        if is_beyond_doubt(score - best):
            chosen, best = lags, score
    return chosen


def _evidence(problem: Problem, lags: int, own_lags: int, min_effect: float, targets: Tensor, seed: int) -> Tensor:
    hyper = hyper_parameters(problem, lags, min_effect, targets=targets, own_lags=own_lags, learn=False, seed=seed)
    return estimate(problem, hyper, targets=targets, own_lags=own_lags, seed=seed).evidence[targets]


def is_beyond_doubt(gain: Tensor) -> bool:
    """Whether the total gain exceeds its standard error over targets twice."""
    spread = float(torch.var(gain, correction=1)) if len(gain) > 1 else 0.0
    return float(gain.sum()) > BEYOND_DOUBT * (len(gain) * spread) ** 0.5
