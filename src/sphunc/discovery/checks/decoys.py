r"""Compare link probabilities with those of decoys: sources that cannot influence the target.

A decoy has the same autocorrelation, tails, ties and shared shocks as a true candidate, because it is one: an agent
that the target never met; where nearly all agents are candidates, a candidate whose innovations came in another order.
If as many decoys as candidates reach a probability, none of them is a link. The share of links among candidates of raw
probability p is at least

.. math:: q(p) = 1 - f_{decoy}(p) / f_{candidate}(p)

(a local false discovery rate, Efron 2004, with an empirical null from knock-offs in the sense of Barber and Candes
2015); the ratio is estimated by isotonic regression, with an upper limit of the number of decoys at every level in the
place of their number: levels are chosen where decoys happen to be few. Nothing is lowered below the prior: that decoys
do as well as candidates is no evidence against a link.
"""

from __future__ import annotations

import numpy as np
import torch
from sklearn.isotonic import IsotonicRegression
from torch import Tensor

from sphunc._subsets import evenly_spaced
from sphunc._typing import Float, Int
from sphunc.discovery.posterior.estimate import Problem, Settings, decoy_probabilities

WANTED = 4000
"""Decoys that settle the comparison."""
MOST_ROUNDS = 8
MOST_TARGETS = 400
ORDER = 0.01
"""Share of a level's probability that keeps the order within it."""
LIMIT = 1.5
"""Standard deviations of a Poisson count by which the number of decoys is raised."""


def draw_decoys(problem: Problem, settings: Settings, seed: int) -> Float[Tensor, " decoy"]:
    """Probabilities of decoys.

    Args:
        problem: panel and candidates.
        settings: what all targets share.
        seed: of the choice.
    """
    generator = torch.Generator().manual_seed(seed)
    targets = problem.explained[evenly_spaced(len(problem.explained), MOST_TARGETS, problem.explained.device)]
    kind = decoy_kind(problem, targets)
    found: list[Tensor] = []
    total = 0
    for _ in range(MOST_ROUNDS):
        found += list(decoy_probabilities(problem, settings, targets, generator, kind))
        total = sum(len(part) for part in found)
        if total >= WANTED:
            break
    if not total:
        return torch.zeros(0, dtype=torch.double)
    return torch.cat(found)


def decoy_kind(problem: Problem, targets: Int[Tensor, " target"]) -> str:
    """Agents that are no candidates where there are enough of them, else candidates with shuffled innovations.

    Args:
        problem: panel and candidates.
        targets: agents to explain.
    """
    moving = int((~problem.panel.silent).sum())
    few_candidates = problem.candidates.counts[targets] <= 0.5 * moving
    if float(few_candidates.double().mean()) > 0.5:
        return "agents"
    return "innovations"


def against_decoys(
    probability: Float[Tensor, " link"], decoys: Float[Tensor, " decoy"], prior: float
) -> Float[Tensor, " link"]:
    """Probabilities, lowered towards the prior where decoys reach them as often as candidates do.

    Args:
        probability: raw, of the candidates.
        decoys: raw, of the decoys.
        prior: probability of a link before the data.
    """
    if not len(decoys) or not len(probability):
        return probability
    raw = np.concatenate([probability.cpu().numpy(), decoys.cpu().numpy()])
    is_candidate = np.concatenate([np.ones(len(probability)), np.zeros(len(decoys))])
    decoy_weight = len(probability) / len(decoys)
    weight = np.where(is_candidate > 0, 1.0, decoy_weight)
    level = IsotonicRegression(y_min=0, y_max=1).fit(raw, is_candidate, sample_weight=weight).predict(raw)
    _, block = np.unique(level, return_inverse=True)
    candidates = np.bincount(block, is_candidate)
    count = np.bincount(block, 1 - is_candidate) + 1
    expected = (count + LIMIT * np.sqrt(count)) * decoy_weight
    share = 1 - expected / np.maximum(candidates, 1e-12)
    share = np.maximum.accumulate(np.clip(share, prior, 1))
    bound = torch.as_tensor(share[block[: len(probability)]], dtype=probability.dtype, device=probability.device)
    # Links of one level stay in the order of their raw probabilities.
    return torch.minimum(probability, bound * (1 - ORDER * (1 - probability)))
