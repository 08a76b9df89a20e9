r"""Conformal sets and intervals: which outcomes to reckon with, for a stated coverage.

Split conformal prediction: with n held-out scores :math:`s_i` (see :meth:`~sphunc.legacy.outlook.Outlook.scores`) a set
holds every outcome whose score is at most their :math:`\lceil (n+1)(1-\alpha) \rceil`-th smallest.

The coverage is guaranteed on average over agents if calibration outcomes and future outcomes are exchangeable. Over
time they are not quite: a population that drifts, or agents that influence each other, can make it lower (or higher).
Temperature and scores come from the same held-out outcomes; its two parameters cost about 1/n of coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.errors import ArgumentError
from sphunc.legacy.calibration import largest_score
from sphunc.legacy.outlook import Outlook

CAVEAT = {
    "times": "coverage holds on average if the outcomes to come resemble those of the calibration times; "
    "it is not guaranteed when the population drifts",
    "agents": "coverage was calibrated on held-out agents at times that training saw: it says nothing about drift "
    "over time, and agents who influence each other are not quite exchangeable",
    "none": "nothing was held out for calibration: every class is in every set",
}


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """Held-out scores and where they come from.

    Attributes:
        scores: ``[n]``, ascending.
        source: "times", "agents" or "none".
    """

    scores: Tensor
    source: str

    @property
    def caveat(self) -> str:
        """What the coverage rests on."""
        return CAVEAT[self.source] if len(self.scores) else CAVEAT["none"]

    def threshold(self, coverage: float) -> float:
        """Largest score inside a set of this coverage; infinite when there are too few held-out outcomes."""
        if not 0.0 < coverage < 1.0:
            raise ArgumentError(f"coverage is {coverage}; choose a share strictly between 0 and 1, such as 0.9")
        return largest_score(self.scores, coverage)


def class_sets(outlook: Outlook, threshold: float) -> Bool[Tensor, "*batch class"]:
    """Classes whose score is at most ``threshold``; the most probable class is always in."""
    assert outlook.log_probabilities is not None
    p = outlook.log_probabilities.exp()
    top = torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]).bool()
    return (1.0 - p <= threshold) | top


def intervals(outlook: Outlook, threshold: float) -> Float[Tensor, "*batch outcome 2"]:
    """Mean plus and minus ``threshold`` deviations; without limits where the threshold is infinite."""
    assert outlook.mean is not None
    assert outlook.variance is not None
    if math.isinf(threshold):
        half = torch.full_like(outlook.mean, math.inf)
    else:
        half = threshold * outlook.variance.sqrt() * (1.0 if outlook.unit is None else outlook.unit)
    return torch.stack([outlook.mean - half, outlook.mean + half], -1)
