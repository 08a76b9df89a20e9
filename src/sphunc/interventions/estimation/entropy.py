r"""H_causal, the entropy of an outcome after an intervention, split exactly into two parts.

It is eq. (causal_uncertainty) of the paper,

.. math:: \underbrace{H(Y)}_{\text{entropy}} = \underbrace{\mathrm E_q H(Y \mid q)}_{\text{within}}
          + \underbrace{I(Y; q)}_{\text{identification}}

over structures q drawn from their posterior. Structure means also differ by the noise of few
samples, which would count as identification. They are drawn together first, so that their
variance is that of the posterior alone (:func:`~sphunc.interventions.estimation.moments.variance_components`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from sphunc._subsets import evenly_spaced
from sphunc._typing import Float, Tensor
from sphunc.interventions.estimation.moments import (
    FEWEST_FOR_ERROR,
    StructureMoments,
    variance_components,
)

RAREST = 1e-6
"""Classes rarer than this do not enter the bias correction: its ratio would be of rounding errors."""
HERMITE_NODES = 12
"""Nodes of Gauss-Hermite quadrature around every component of a mixture of one number."""
QUASI_NODES = 32
"""Quasi-random points around every component of a mixture of several numbers."""
MOST_EVALUATED = 32
"""Components around which a mixture is integrated; all of them enter its density."""


@dataclass(frozen=True, eq=False)
class Entropies:
    """In nats, one per agent ``[N]``.

    Attributes:
        entropy: H_causal, of the outcome.
        within: what would be left of it if the structure were known.
        identification: what not knowing the structure adds, 0 or more; NaN, as ``within``, where a
            single structure was drawn. Both add up to ``entropy`` to the bit.
        error: Monte Carlo standard error of ``entropy``; NaN below four structures.
    """

    entropy: Float[Tensor, " agent"]
    within: Float[Tensor, " agent"]
    identification: Float[Tensor, " agent"]
    error: Float[Tensor, " agent"]


def class_entropies(moments: StructureMoments) -> Entropies:
    r"""Entropies of class outcomes.

    With :math:`\tilde p_q` the structure means, drawn together by the root of
    :math:`\rho = (1 - \sum_c v_c / \sum_c s_c^2)_+` (the same for all classes, so that they stay
    probabilities),

    .. math:: H = H(\bar p) + \tfrac12 \sum_c \frac{s_c^2}{Q \bar p_c}, \qquad
              I = H(\bar p) - \frac1Q \sum_q H(\tilde p_q) + \tfrac\rho2 \sum_c \frac{s_c^2}{Q \bar p_c};

    the sums correct the bias of finite samples to second order (Miller 1955; equal to the jackknife
    within 0.001). I is not negative before the correction, by concavity.

    Args:
        moments: probabilities of the interventional arm, per structure.
    """
    each = moments.outcome.double()
    structures = len(each)
    mean = each.mean(0)
    total, noise = variance_components(each, moments.outcome_squares.double(), moments.count)
    share = _posterior_share(total.sum(-1), noise.sum(-1))
    drawn_together = mean + share.sqrt()[:, None] * (each - mean)

    bias_terms = torch.where(mean > RAREST, total / mean.clamp(min=RAREST), 0.0)
    bias = bias_terms.sum(-1) / (2.0 * structures)
    entropy_of_mean = torch.special.entr(mean).sum(-1)
    entropy = (entropy_of_mean + bias).clamp(max=math.log(mean.shape[-1]))
    within = torch.special.entr(drawn_together).sum(-1).mean(0)
    identification = entropy_of_mean - within + share * bias
    identification = torch.where(share > 0.0, identification, 0.0).clamp(min=0.0)
    identification = torch.minimum(identification, entropy)

    # To first order a structure adds -sum_c p_qc log p_c to the entropy of the mean.
    contribution = -(each * mean.clamp(min=RAREST).log()).sum(-1)
    return _split(entropy, identification, contribution, moments)


def number_entropies(moments: StructureMoments) -> Entropies:
    r"""Differential entropies of numeric outcomes.

    Given a structure, dynamics and readout are linear with Gaussian noise, and so are outcomes:
    :math:`Y \mid q \sim N(\tilde m_q, V_q)` for every number, with :math:`V_q` the conditional
    variance plus that of simulated means around the structure's own (pooled over structures).
    Identification is the mutual information of the mixture, integrated around its components
    (:func:`mixture_information`); within is :math:`\frac1{2Q} \sum_q \log 2 \pi e V_q`. Numbers of one
    agent count as independent given the structure.

    Args:
        moments: means and conditional variances of the interventional arm, per structure.
    """
    assert moments.noise is not None, "numbers have conditional variances"
    each = moments.outcome.double()
    structures = len(each)
    squares = moments.outcome_squares.double()
    mean = each.mean(0)
    total, noise = variance_components(each, squares, moments.count)
    share = _posterior_share(total, noise)
    # Variance of simulated means within a structure; what batches of one structure differ by is part of it.
    simulated = noise * moments.count.double().mean()
    variance = moments.noise.double() + simulated

    within = 0.5 * torch.log(2.0 * math.pi * math.e * variance).sum(-1).mean(0)
    identification = torch.zeros_like(within)
    if structures > 1:
        # The variance of Q means around their own mean is (Q - 1) / Q of s^2.
        scale = (share * structures / (structures - 1)).sqrt()
        identification = mixture_information(mean + scale * (each - mean), variance)
    entropy = within + identification

    # To first order, of a Gaussian with the mixture's moments.
    own_variance = moments.noise.double() + squares / (moments.count.double() - 1.0).clamp(min=1.0)[:, None, None]
    overall = variance.mean(0) + share * total
    contribution = 0.5 * ((own_variance + (each - mean).square()) / overall).sum(-1)
    return _split(entropy, identification, contribution, moments)


def mixture_information(
    means: Float[Tensor, "component agent number"],
    variances: Float[Tensor, "component agent number"],
) -> Float[Tensor, " agent"]:
    r"""Mutual information of a Gaussian mixture and its component, in nats.

    .. math:: I = -\frac1Q \sum_q \mathrm E_{x \sim N_q} \log \frac1Q \sum_r \frac{N_r(x)}{N_q(x)}

    Between 0 and log Q. Of one number by Gauss-Hermite quadrature, of several by quasi-random
    points; around at most 32 components, evenly spaced, so that the cost is linear in Q. Error
    below 1e-3 nats for one number, and below 0.03 for several.

    Args:
        means: of the components, all of the same weight.
        variances: of the components, diagonal.
    """
    components = len(means)
    # In units of the noise single precision is enough, and twice as fast.
    centre = means.mean(0)
    unit = variances.mean(0)
    positions = ((means - centre) / unit.sqrt()).float()
    widths = (variances / unit).float()
    factors = -0.5 / widths
    offsets = -0.5 * torch.log(widths).sum(-1)

    nodes, weights = _normal_nodes(means.shape[-1])
    evaluated = evenly_spaced(components, MOST_EVALUATED).tolist()
    expected = torch.zeros_like(offsets[0])
    for q in evaluated:
        for node, weight in zip(nodes, weights, strict=True):
            # The own component adds exp(0): the sum is at least 1, and never overflows.
            point = positions[q] + widths[q].sqrt() * node.to(positions)
            log_ratio = offsets - offsets[q] + 0.5 * float(node.square().sum())
            for number in range(means.shape[-1]):
                gap = positions[:, :, number] - point[:, number]
                log_ratio.addcmul_(gap.square_(), factors[:, :, number])
            expected += float(weight) * log_ratio.exp_().mean(0).log_()
    information = -(expected / len(evaluated))
    # Quadrature may leave less than nothing where components agree.
    return information.clamp(0.0, math.log(components)).to(means.dtype)


def _normal_nodes(numbers: int) -> tuple[Float[Tensor, "node number"], Float[Tensor, " node"]]:
    """Nodes and weights for a standard normal distribution of so many numbers."""
    if numbers == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(HERMITE_NODES)
        return torch.from_numpy(nodes).unsqueeze(-1), torch.from_numpy(weights / weights.sum())
    engine = torch.quasirandom.SobolEngine(numbers, scramble=True, seed=0)
    half = torch.special.ndtri(engine.draw(QUASI_NODES // 2, dtype=torch.float64))
    points = torch.cat([half, -half])
    points = points / points.square().mean(0).sqrt()
    return points, torch.full((QUASI_NODES,), 1.0 / QUASI_NODES, dtype=torch.float64)


def _posterior_share(total: Tensor, noise: Tensor) -> Tensor:
    """Share of the variance of structure means that noise does not explain, 0 to 1."""
    explained = noise / torch.where(total > 0.0, total, 1.0)
    share = (1.0 - explained).clamp(min=0.0)
    return torch.where(total > 0.0, share, 0.0)


def _split(
    entropy: Tensor,
    identification: Tensor,
    contribution: Float[Tensor, "structure agent"],
    moments: StructureMoments,
) -> Entropies:
    """Round the total last, so that the parts add up to the bit."""
    dtype = moments.outcome.dtype
    structures = moments.structures
    error = torch.full_like(entropy, torch.nan)
    if structures >= FEWEST_FOR_ERROR:
        error = contribution.std(0) / math.sqrt(structures)
    # Adding 0 turns -0 into 0.
    identification = identification.to(dtype) + 0.0
    within = (entropy.to(dtype) - identification) + 0.0
    entropy = within + identification
    if structures == 1:
        unknown = torch.full_like(entropy, torch.nan)
        return Entropies(entropy, unknown, unknown, error.to(dtype))
    return Entropies(entropy, within, identification, error.to(dtype))
