r"""The equations of the paper as pure functions, each with its LaTeX label.

===============================  ========================================================
label in the paper               here
===============================  ========================================================
``eq:spherical_projection``      :func:`project_features`
``eq:vmf_density``               :func:`belief_log_density`
``eq:hyperspherical_entropy``    :func:`belief_entropy`, :func:`scaled_belief_entropy`
``eq:angular_attention``         :func:`pass_messages`
``eq:scm_structural``            :func:`structural_mean`, :func:`draw_state`
``eq:uncertainty_fusion``        :class:`sphunc.nn.fusion.MonotoneFusion`
``eq:predictive``                :func:`class_log_probabilities`, :func:`number_variance`
``eq:causal_uncertainty``        :mod:`sphunc.model.paper.simulation`
``eq:joint_loss``                :mod:`sphunc.model.paper.objective`
``eq:entropy_calibration``       :mod:`sphunc.model.paper.objective`
===============================  ========================================================

Rows are agents, or agents at several times or in several samples, one block of N after another.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import nn

from sphunc._typing import Directions, Float, Links, Tensor
from sphunc.hypergraph import Buckets
from sphunc.nn import (
    HIGHEST_CONCENTRATION,
    LOWEST_CONCENTRATION,
    angular_attention_with_self,
    flattening,
    normalise,
    scaled_entropy,
)
from sphunc.sphere import VonMisesFisher, log_normalizer, vmf_entropy

Geometry = Literal["sphere", "euclidean"]


def on_manifold(vectors: Float[Tensor, "*batch dim"], geometry: Geometry) -> Float[Tensor, "*batch dim"]:
    """Return unit vectors on the sphere (zero stays zero), or the vectors themselves."""
    if geometry == "sphere":
        return normalise(vectors)
    return vectors


def project_features(
    x: Float[Tensor, "*batch feature"],
    weight: Float[Tensor, "dim feature"],
    bias: Float[Tensor, " dim"],
    geometry: Geometry,
) -> Float[Tensor, "*batch dim"]:
    r"""Latent state from features, ``eq:spherical_projection``.

    .. math:: \tilde h = W x + b, \qquad h = \tilde h / \|\tilde h\|_2

    Args:
        x: standardised features.
        weight: W.
        bias: b.
        geometry: "euclidean" returns :math:`\tilde h`.
    """
    return on_manifold(nn.functional.linear(x, weight, bias), geometry)


def belief_log_density(
    h: Float[Tensor, "*batch dim"],
    mean: Float[Tensor, "*batch dim"],
    kappa: Float[Tensor, "*batch"],
    geometry: Geometry,
) -> Float[Tensor, "*batch"]:
    r"""Log density of a latent state under a belief, ``eq:vmf_density``, in nats.

    .. math:: \log p(h \mid \mu, \kappa) = \log C_D(\kappa) + \kappa \mu^\top h

    In Euclidean space the belief is :math:`N(\mu, I / \kappa)`.

    Args:
        h: latent states.
        mean: :math:`\mu`, of unit length on the sphere.
        kappa: concentration, or precision.
        geometry: which of the two.
    """
    dim = h.shape[-1]
    if geometry == "sphere":
        return log_normalizer(kappa, dim, validate=False) + kappa * (mean * h).sum(-1)
    log_scale = 0.5 * dim * (kappa.log() - math.log(2.0 * math.pi))
    return log_scale - 0.5 * kappa * (h - mean).square().sum(-1)


def belief_entropy(kappa: Float[Tensor, "*batch"], dim: int, geometry: Geometry) -> Float[Tensor, "*batch"]:
    r"""Epistemic uncertainty, ``eq:hyperspherical_entropy`` in the form of ``eq:H_identity``, in nats.

    .. math:: H_{sph}(\kappa) = \psi(\kappa) - \kappa \psi'(\kappa), \qquad \psi = -\log C_D

    Computed exactly for every kappa. The paper's expansion for large kappa (``eq:H_largekappa``) is
    off by 19.6 nats at kappa 200 and D 128 and is not used. In Euclidean space it is the entropy of
    :math:`N(\mu, I / \kappa)`.

    Args:
        kappa: concentration, or precision.
        dim: D.
        geometry: which of the two.
    """
    if geometry == "sphere":
        return vmf_entropy(kappa, dim, validate=False)
    return 0.5 * dim * (math.log(2.0 * math.pi * math.e) - kappa.log())


def scaled_belief_entropy(kappa: Float[Tensor, "*batch"], dim: int, geometry: Geometry) -> Float[Tensor, "*batch"]:
    r"""Epistemic uncertainty in [0, 1]: 0 at kappa 200, 1 at kappa 1, the ends of the paper's range.

    The entropy in nats is negative for concentrated beliefs and grows with D; the fusion head needs
    a quantity on the scale of its other input.

    Args:
        kappa: concentration, or precision.
        dim: D.
        geometry: which of the two.
    """
    if geometry == "sphere":
        return scaled_entropy(kappa, dim)
    return (math.log(HIGHEST_CONCENTRATION) - kappa.log()) / math.log(HIGHEST_CONCENTRATION / LOWEST_CONCENTRATION)


def pass_messages(
    h: Directions,
    weight: Float[Tensor, "dim dim"],
    sharpness: Float[Tensor, ""],
    groups: Buckets,
    geometry: Geometry,
    retained: Float[Tensor, "agent dim"] | None = None,
) -> Directions:
    r"""One layer of message passing with angular attention, ``eq:angular_attention``.

    .. math:: \alpha_{ij}^e = \frac{\exp(\kappa_a h_i^\top h_j)}{\sum_{k \in e} \exp(\kappa_a h_i^\top h_k)},
              \qquad h_i \leftarrow \mathrm{normalise}\Big(h_i + \mathrm{ReLU}\big(W_m
              \tfrac{1}{\deg i} \sum_{e \ni i} \sum_{j \in e} \alpha_{ij}^e h_j\big)\Big)

    The sum over :math:`k \in e` includes i, as the paper writes it. How messages of several
    hyperedges are joined, and where the ReLU stands, the paper does not say: here they are
    averaged, and the ReLU acts on the message, because on the state it would confine all directions
    to one orthant.

    Args:
        h: latent states.
        weight: :math:`W_m`.
        sharpness: :math:`\kappa_a`; :math:`1 / \sqrt D` is dot-product attention.
        groups: hyperedges among the rows of ``h``; a group of one sends nothing.
        geometry: "euclidean" leaves out the normalisation.
        retained: dropout factors of the message, 0 or 1 / (1 - rate); None drops nothing.
    """
    pooled = angular_attention_with_self(h, sharpness, groups)
    message = torch.relu(pooled @ weight.mT)
    if retained is not None:
        message = message * retained
    return on_manifold(h + message, geometry)


def sum_over_parents(values: Directions, links: Links, factors: Float[Tensor, " link"]) -> Directions:
    r"""Sum of the parents' messages, :math:`\sum_{j \in Pa(i)} \gamma_{ij} v_j`, with gradients in both.

    Args:
        values: :math:`v_j`.
        links: row 0 source j, row 1 target i, sorted by target.
        factors: :math:`\gamma_{ij}`.

    Returns:
        One row per row of ``values``; 0 for an agent without parents.
    """
    counts = torch.bincount(links[1], minlength=len(values))
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return nn.functional.embedding_bag(
        links[0],
        values,
        offsets,
        mode="sum",
        per_sample_weights=factors,
        include_last_offset=True,
    )


def structural_mean(
    context: Directions,
    lagged: list[Directions],
    persistent: Directions,
    causal_projection: Float[Tensor, "dim dim"],
    links: Links,
    gating_factors: Float[Tensor, "link lag"],
    geometry: Geometry,
) -> Directions:
    r"""Mean direction of the structural assignment F_i, ``eq:scm_structural``.

    .. math:: \mu_{t+1}^i = \mathrm{normalise}\Big(c_t^i + \sum_{l=1}^{L} \sum_{j \in Pa(i)}
              \gamma_{ij}^{(l)} W_c h_{t+1-l}^j + U_i\Big)

    The paper lets :math:`F_i` read the features at the time of the effect. A forecast cannot know
    them: the last ones that were observed enter, through the aggregation over hyperedges
    :math:`c_t^i`.

    Args:
        context: :math:`c_t`, latent states after message passing.
        lagged: :math:`h_t, h_{t-1}, ...`, one per lag; 0 where there is no such time.
        persistent: :math:`U_i`, persistent bias of each agent.
        causal_projection: :math:`W_c`.
        links: row 0 source j, row 1 target i, sorted by target.
        gating_factors: :math:`\gamma_{ij}^{(l)}`.
        geometry: "euclidean" leaves out the normalisation.
    """
    total = context + persistent
    if links.shape[1] > 0:
        for lag, values in enumerate(lagged):
            messages = sum_over_parents(values, links, gating_factors[:, lag])
            total = total + messages @ causal_projection.mT
    return on_manifold(total, geometry)


def draw_state(
    mean: Float[Tensor, "*batch dim"],
    kappa: Float[Tensor, "*batch"],
    cosine: Float[Tensor, "*batch"],
    normal: Float[Tensor, "*batch dim"],
    geometry: Geometry,
) -> Float[Tensor, "*batch dim"]:
    r"""State after the exogenous noise :math:`\varepsilon_t^i` of ``eq:scm_structural``.

    .. math:: h = w \mu + \sqrt{1 - w^2}\, v, \qquad v = (g - (g^\top\mu)\mu) / \|g - (g^\top\mu)\mu\|

    With w from the marginal of a von Mises-Fisher law and g normal, h has that law around
    :math:`\mu`. The same (w, g) around two means gives states as far apart as the means: arms of an
    intervention share their noise. A zero mean, of an agent nothing is known of, stays zero.

    Args:
        mean: :math:`\mu`.
        kappa: precision in Euclidean space, where :math:`h = \mu + g / \sqrt\kappa`.
        cosine: w, see :func:`draw_cosine`.
        normal: g.
        geometry: which of the two.
    """
    is_known = (mean != 0).any(-1, keepdim=True)
    if geometry == "euclidean":
        noise = normal / kappa.sqrt().unsqueeze(-1)
        return mean + noise * is_known
    along = (normal * mean).sum(-1, keepdim=True)
    across = normalise(normal - along * mean)
    radius = (1.0 - cosine.square()).clamp(min=0.0).sqrt()
    return (cosine.unsqueeze(-1) * mean + radius.unsqueeze(-1) * across) * is_known


def draw_cosine(
    kappa: Float[Tensor, " agent"], dim: int, samples: int, generator: torch.Generator
) -> Float[Tensor, "sample agent"]:
    """Draw cosines between samples of a von Mises-Fisher law and its mean direction.

    Args:
        kappa: concentrations.
        dim: D.
        samples: draws per concentration.
        generator: source of randomness, on the device of ``kappa``.
    """
    pole = torch.zeros(len(kappa), dim, dtype=kappa.dtype, device=kappa.device)
    pole[:, 0] = 1.0
    law = VonMisesFisher(pole, kappa, validate_args=False)
    return law.sample((samples,), generator=generator)[..., 0]


def class_log_probabilities(
    logits: Float[Tensor, "*batch class"],
    variance: Float[Tensor, "*batch"],
    temperature: Float[Tensor, "*batch"],
) -> Float[Tensor, "*batch class"]:
    r"""Predictive distribution of classes, ``eq:predictive``.

    .. math:: p = E_\epsilon\, \mathrm{softmax}\big((z + \sigma \epsilon) / \tau\big) \approx
              \mathrm{softmax}\big(z / (\tau \sqrt{1 + 2 a_C \sigma^2})\big)

    The paper does not say how uncertainty enters the prediction. Here the aleatoric variance is
    that of the logits (Kendall and Gal, 2017; expectation by
    :func:`sphunc.nn.aleatoric.flattening`), and the total uncertainty sets the temperature.

    Args:
        logits: z.
        variance: :math:`\sigma^2`.
        temperature: :math:`\tau`.
    """
    scale = temperature * flattening(variance, logits.shape[-1])
    return torch.log_softmax(logits / scale.unsqueeze(-1), -1)


def number_variance(variance: Float[Tensor, "*batch"], temperature: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r"""Predictive variance of standardised numbers, :math:`\sigma^2 \tau^2` (``eq:predictive``).

    Args:
        variance: :math:`\sigma^2`.
        temperature: :math:`\tau`.
    """
    return variance * temperature.square()
