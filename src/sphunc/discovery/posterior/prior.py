r"""How many links there are and how strong: a posterior over share and size, from the evidence of all targets at once.

The share :math:`\pi` of candidates that are links has a spike at (nearly) zero with mass one half, "no influence in
this panel", and is log-uniform between 0.01 and 8 parents per agent otherwise; coefficients of links are
:math:`N(0, \tau^2)`. The marginal likelihood of a target is a polynomial in the odds of :math:`\pi` with the evidence
of its parent sets as coefficients, so that shares are integrated out on a grid and not plugged in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Float

SLABS = (0.05, 0.1, 0.2, 0.4)
"""Grid of tau, in units of standardised states."""
PARENTS = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.5, 8.0)
"""Grid of expected parents per agent."""
LARGEST_SHARE = 0.5
NO_LINKS = 1e-7
"""Share of links that stands for none at all."""
SPIKE_MASS = 0.5


@dataclass(frozen=True, eq=False)
class LinkPrior:
    """Grid of shares with their weights, for one size of coefficients.

    Attributes:
        tau: standard deviation of link coefficients.
        share: ``[P]`` shares of links.
        weight: ``[P]`` their probabilities.
    """

    tau: float
    share: Tensor
    weight: Tensor

    @property
    def mean(self) -> float:
        """Probability of a link."""
        return float((self.share * self.weight).sum())

    def log_size_table(self, count: Float[Tensor, " batch"], largest: int) -> Float[Tensor, "batch size"]:
        r"""Log prior of one given set, by its size s: :math:`\log E\,\pi^s (1-\pi)^{K-s}`, for s up to ``largest``.

        Args:
            count: candidates K per target; sizes beyond it have the value of K.
            largest: greatest size.
        """
        size = torch.arange(largest + 1, dtype=count.dtype, device=count.device)
        size = torch.minimum(size, count[:, None]).unsqueeze(-1)
        absent = count[:, None, None] - size
        terms = size * self.share.log() + absent * torch.log1p(-self.share) + self.weight.log()
        return torch.logsumexp(terms, -1)


def reference_prior(mean_candidates: float, tau: float, device: torch.device) -> LinkPrior:
    """The prior before any data.

    Args:
        mean_candidates: candidates per agent, K.
        tau: standard deviation of link coefficients.
        device: of the tensors.
    """
    parents = torch.tensor(PARENTS, dtype=torch.double, device=device)
    share = (parents / max(mean_candidates, 1.0)).clamp(max=LARGEST_SHARE)
    share = torch.cat([share.new_tensor([NO_LINKS]), share])
    weight = torch.full_like(share, (1 - SPIKE_MASS) / len(PARENTS))
    weight[0] = SPIKE_MASS
    return LinkPrior(tau, share, weight)


def share_log_likelihood(
    size_evidence: Float[Tensor, "batch size"],
    count: Float[Tensor, " batch"],
    outside: Float[Tensor, "batch slot"],
    share: Float[Tensor, " point"],
) -> Float[Tensor, "batch point"]:
    r"""Log likelihood of each share, :math:`\log \sum_s \pi^s (1-\pi)^{K-s} e_s \prod_j (1 + \frac{\pi}{1-\pi} B_j)`.

    Args:
        size_evidence: log of the summed evidence of all enumerated sets of each size.
        count: candidates K.
        outside: log Bayes factors of candidates that were not enumerated; minus infinity where padded.
        share: grid of shares.
    """
    odds = share.log() - torch.log1p(-share)
    size = torch.arange(size_evidence.shape[1], dtype=share.dtype, device=share.device)
    inside = torch.logsumexp(size_evidence.unsqueeze(1) + odds[:, None] * size, -1)
    rest = torch.nn.functional.softplus(odds[None, :, None] + outside.unsqueeze(1)).sum(-1)
    return inside + rest + count[:, None] * torch.log1p(-share)


def update(prior: LinkPrior, log_likelihood: Float[Tensor, " point"]) -> tuple[LinkPrior, float]:
    """Posterior over shares, and the log evidence of ``tau``.

    Args:
        prior: before the data.
        log_likelihood: of each share, summed over targets.
    """
    joint = prior.weight.log() + log_likelihood
    evidence = torch.logsumexp(joint, 0)
    return LinkPrior(prior.tau, prior.share, (joint - evidence).exp().clamp(min=1e-30)), float(evidence)


def mixture_weights(evidence: list[float]) -> list[float]:
    """Posterior probabilities of the sizes of coefficients, equal before the data.

    Args:
        evidence: log evidence of each.
    """
    top = max(evidence)
    raw = [math.exp(value - top) for value in evidence]
    return [value / sum(raw) for value in raw]
