"""Checks that come with a result: what the same method finds where nothing, or something else, should be found."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from sphunc.causal.estimation import Estimate, Problem, estimate, hyper_parameters, spread_targets
from sphunc.causal.posterior import Hyper

TARGETS = 300  # targets on which the checks refit; enough to tell a half from a tenth


def diagnose(problem: Problem, hyper: Hyper, result: Estimate, seed: int) -> dict[str, float]:
    """Refit on a placebo, on reversed time and with fixed effects, and compare.

    Returns:
        ``links``: expected number of links above one half, on the targets of the checks;
        ``placebo_links``: the same when every source is read at a wrong time;
        ``reversed_links``: the same with time running backwards;
        ``fixed_effect_agreement``: share of the links above one half that keep at least a third with fixed effects,
        discounting what fixed effects cannot see;
        ``screened_out``: share of the expected links outside the enumerated candidates;
        ``effective_dimension`` and ``raw_effective_dimension``: coordinates that D are worth, after and before
        whitening; ``detectable``: size of coefficient that can just be seen, 3 / sqrt(n).
    """
    targets = spread_targets(problem, TARGETS)
    mine = torch.isin(problem.candidates.links[1], targets)
    shifted = estimate(problem, hyper, targets=targets, source_times=wrong_times(problem, seed), seed=seed)
    backwards = replace(problem, panel=problem.panel.reversed())
    backward_hyper = hyper_parameters(backwards, hyper.lags, hyper.min_effect, seed=seed)
    back = estimate(backwards, backward_hyper, targets=targets, seed=seed)
    fixed = estimate(problem, replace(hyper, phi=math.inf), targets=targets, seed=seed)
    expected = float(result.probability[mine].sum())
    rows = problem.panel.shape[1] - hyper.lags
    return {
        "links": probable(result.probability[mine]),
        "placebo_links": probable(shifted.probability[mine]),
        "reversed_links": probable(back.probability[mine]),
        "fixed_effect_agreement": agreement(result.probability[mine], fixed.probability[mine]),
        "screened_out": float(result.screened_out.sum()) / max(float(result.probability.sum()), 1e-12),
        "expected_parents": expected / max(len(targets), 1),
        "effective_dimension": problem.panel.effective,
        "raw_effective_dimension": problem.panel.raw_effective,
        "detectable": 3 / math.sqrt(max(rows * problem.panel.effective, 1.0)),
    }


def probable(probability: Tensor) -> float:
    """Expected number of true links among those above one half."""
    return float(probability[probability > 0.5].sum())


def agreement(random: Tensor, fixed: Tensor) -> float:
    """Chance that a probable link ranks above an improbable one under fixed effects (an AUC); 1 without either."""
    high, low = fixed[random > 0.5], fixed[random <= 0.5]
    if not len(high) or not len(low):
        return 1.0
    order = torch.argsort(torch.argsort(torch.cat([high, low]))).double()
    return float((order[: len(high)].sum() - len(high) * (len(high) - 1) / 2) / (len(high) * len(low)))


def wrong_times(problem: Problem, seed: int) -> Tensor:
    """For every time another one, none kept and none moved by a single step where that can be avoided."""
    times = problem.panel.shape[1]
    generator = torch.Generator().manual_seed(seed)
    here = torch.arange(times)
    best, fewest = here.roll(1), times
    for _ in range(200):
        order = torch.randperm(times, generator=generator)
        close = int(((order - here).abs() <= 1).sum()) + times * int((order == here).sum())
        if close < fewest:
            best, fewest = order, close
    return best.to(problem.candidates.links.device)
