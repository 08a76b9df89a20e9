r"""Entropy of an outcome after an intervention, and what it is made of.

.. math:: \underbrace{H(\bar p)}_{\text{total}} = \underbrace{\tfrac1Q \sum_q H(p_q)}_{\text{within}}
          + \underbrace{I(Y; \text{structure})}_{\text{identification}}

Finite samples bias H downwards by :math:`\tfrac12 \sum_c \mathrm{Var}(\bar p_c)/\bar p_c`; every entropy is corrected
for it (equal to the jackknife within 0.001). Within is total less identification: the parts add up exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.causal.design import Layout
from sphunc.causal.kernel_density import mean_log_density
from sphunc.causal.monte_carlo import variance_of_mean, weighted_error
from sphunc.causal.weighting import LEAST_TOTAL, by_structure
from sphunc.sphere import concentration_from_resultant, vmf_entropy

RAREST = 1e-6
"""Classes rarer than this do not enter the correction: its ratio would be of two rounding errors."""
LARGEST_RESULTANT = 1.0 - 1e-6
LEAST_VARIANCE = 0.05
"""Share of the forecast's variance that a simulated number keeps, however much its mean varies."""
LARGEST_SHARE = 0.999


@dataclass(frozen=True, eq=False)
class Entropies:
    """In nats, one per agent ``[N]``.

    Attributes:
        total: of the outcome.
        within: what would be left if the structure were known.
        identification: what not knowing the structure adds, 0 or more.
        error: Monte Carlo standard error of the total; NaN with a single draw.
    """

    total: Tensor
    within: Tensor
    identification: Tensor
    error: Tensor


def entropy(p: Float[Tensor, "class *batch"]) -> Float[Tensor, "*batch"]:
    """Shannon entropy of the first axis, in nats."""
    return torch.special.entr(p).sum(0)


def correction(p: Float[Tensor, "class *batch"], variance: Float[Tensor, "class *batch"]) -> Float[Tensor, "*batch"]:
    r"""Half of :math:`\sum_c \mathrm{Var}(p_c) / p_c` over the first axis, what a mean of samples lacks in entropy."""
    return (variance / p.clamp(min=RAREST)).mul_(p > RAREST).sum(0).mul_(0.5)


def spread_of_mean(values: Tensor, dim: int) -> Tensor:
    """Variance of the mean over the draws along ``dim``, 0 of a single one.

    Draw by draw: of few draws in any order of memory several times faster than torch's ``var``.
    """
    mean, R = values.mean(dim), values.shape[dim]
    total = torch.zeros_like(mean)
    for draw in values.unbind(dim):
        gap = draw - mean
        total.addcmul_(gap, gap)
    return total.div_(max(1, R * (R - 1)))


def class_entropies(
    mean: Float[Tensor, "agent class"],
    variance: Float[Tensor, "agent class"],
    by_structure: Float[Tensor, "agent structure class"],
    structure_variance: Float[Tensor, "agent structure class"],
    error: Float[Tensor, " agent"],
    weights: Float[Tensor, "agent structure"] | None = None,
) -> Entropies:
    r"""Total, within and identification of class outcomes.

    Args:
        mean: :math:`\bar p`.
        variance: of this mean over samples; NaN where a single draw does not tell.
        by_structure: :math:`p_q` of each structure.
        structure_variance: variance of the mean of each of them over draws.
        error: standard error of the total, that of the mean of :func:`told` over samples.
        weights: of the structures, adding up to 1 for every agent; equal if None.
    """
    # Classes first: sums over few classes then run along rows of agents.
    p, each, variances = (
        value.movedim(-1, 0).transpose(1, -1).contiguous() for value in (mean, by_structure, structure_variance)
    )
    total = (entropy(p) + correction(p, variance.mT.nan_to_num())).clamp(max=math.log(len(p)))
    if each.shape[1] == 1:
        identification = torch.zeros_like(total)
    else:
        left = entropy(each) + correction(each, variances)
        known = left.mean(0) if weights is None else (left * weights.mT).sum(0)
        identification = torch.minimum((total - known).clamp(min=0.0), total)
        # Equal structures differ from their mean by rounding only.
        same = (each.amax(1) - each.amin(1)).amax(0) < RAREST
        identification = torch.where(same, 0.0, identification)
    return _parts(total, identification, error)


def told(
    samples: Float[Tensor, "class sample agent"], mean: Float[Tensor, "agent class"]
) -> Float[Tensor, "sample agent"]:
    r"""What a sample adds to the entropy of the mean, up to sign and a constant: :math:`\sum_c p_c \log \bar p_c`."""
    return (samples * mean.clamp(min=RAREST).log().mT.unsqueeze(1)).sum(0)


def _parts(total: Tensor, identification: Tensor, error: Tensor) -> Entropies:
    """Round the total last, so that the parts add up to the bit; adding 0 turns -0 into 0."""
    identification = identification + 0.0
    within = total - identification + 0.0
    return Entropies(within + identification, within, identification, error)


def number_entropies(
    means: Float[Tensor, "agent sample number"],
    noise: Float[Tensor, "agent number"],
    variance: Float[Tensor, "agent number"],
    layout: Layout,
    scale: Float[Tensor, " number"] | None = None,
    weights: Float[Tensor, "agent sample"] | None = None,
    order: Int[Tensor, "structure agent"] | None = None,
) -> Entropies:
    r"""The same for numbers, whose law is a mixture of Gaussians around the samples' means.

    The total is :math:`-\sum_s w_s \mathbb E_s \log \hat f`, integrated around every sample at a cost linear in
    S; :mod:`~sphunc.causal.kernel_density` tells how accurately. Identification is
    :math:`\frac12 \log` of the variance over what remains of it when the structure is known.

    Args:
        means: of each sample.
        noise: variance of a sample's law.
        variance: of the whole.
        layout: of the samples.
        scale: what the numbers are in units of, if they are standardised: an entropy is that of the outcomes.
        weights: of the samples, adding up to 1 for every agent; equal if None.
        order: structures by stratum, for the error; without it they count as independent, and a single one as known.
    """
    density = mean_log_density(means, noise, weights)
    share = (_between(means, weights, layout) / variance).clamp(0.0, LARGEST_SHARE)
    identification = -0.5 * torch.log1p(-share).sum(-1)
    if weights is None:
        mean, error = density.mean(1), variance_of_mean(density.mT, layout, order).sqrt()
    else:
        mean, error = (density * weights).sum(1), weighted_error(density.unsqueeze(-1), weights, layout, order)[:, 0]
    return _parts(-mean if scale is None else scale.log().sum() - mean, identification, error)


def _between(
    means: Float[Tensor, "agent sample number"], weights: Tensor | None, layout: Layout
) -> Float[Tensor, "agent number"]:
    """Variance between structures of a block, which share their draws."""
    if layout.structures == 1:
        return torch.zeros_like(means[:, 0])
    if weights is None:
        return means.unflatten(1, layout.shape).mean(3).var(2, correction=0).mean(1)
    each, _, shares = by_structure(means, weights, layout.draws)
    split, share = each.unflatten(1, layout.shape[:2]), shares.unflatten(1, layout.shape[:2])
    own = share / share.sum(2, keepdim=True).clamp(min=LEAST_TOTAL)
    centre = (split * own.unsqueeze(-1)).sum(2, keepdim=True)
    return ((split - centre).square() * share.unsqueeze(-1)).sum((1, 2))


def latent_bound(resultant: Float[Tensor, " agent"], dim: int) -> Float[Tensor, " agent"]:
    """Largest entropy that a state with this squared mean resultant length can have: that of a von Mises-Fisher law."""
    length = resultant.clamp(min=0.0).sqrt().clamp(max=LARGEST_RESULTANT)
    return vmf_entropy(concentration_from_resultant(length.double(), dim), dim).to(resultant.dtype)
