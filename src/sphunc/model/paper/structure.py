r"""Influence structure: scores of candidate links, their posterior, identification confidence.

What the paper says: causal structure learning "is initialized via vector autoregression with lag
two and significance thresholding", the gating factor "depends on parent importance or learned
Granger-like scores", and after every epoch Algorithm 1 refines "structural posterior weights to
generate an identification confidence score". It gives no formula for any of them. Chosen here, for
each candidate j of agent i:

.. math::
    h_t^i = \sum_l a_l h_{t-l}^i + \sum_l \beta_{ij}^{(l)} W_c h_{t-l}^j + U_i + e, \qquad
    \log \frac{p_{ij}}{1 - p_{ij}} = \frac n2 \log \frac{RSS_0}{RSS_1} - \frac L2 \log n
    + \log \frac{\pi_i}{1 - \pi_i}

the regression with and without the candidate, compared by the Bayesian information criterion
(Schwarz, 1978), with the sparsity prior :math:`\pi_i` of two parents per agent. The gating factor
is :math:`\gamma_{ij} = p_{ij} \beta_{ij}`; :math:`\beta` starts at the regression where the link
is significant and at 0 elsewhere, and is learned by gradient from there. :math:`p_{ij}` is *not*
learned by gradient: gates learned from the prediction loss alone rank links no better than chance.
As every Granger score, this one is blind to hidden confounders that vary over time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Links, Tensor
from sphunc.discovery import binary_entropy

PARENTS = 2.0
"""Expected number of parents of an agent under the sparsity prior; the paper bounds it by "s << N"."""
SIGNIFICANCE = 0.05
"""Level of the test below which a link starts with a coefficient; the paper names none."""
CHUNK = 2**23
"""Numbers held at once while links are scored: 64 MB in float64."""
RIDGE = 1e-9
"""Relative ridge of the normal equations: agents whose features never change have collinear lags."""


@dataclass(frozen=True, eq=False)
class LinkScores:
    """Scores of K candidate links.

    Attributes:
        log_bayes_factor: for the link against its absence, by the information criterion ``[K]``.
        p_value: of the likelihood-ratio test ``[K]``.
        coefficient: :math:`\\beta` of each lag ``[K, L]``.
    """

    log_bayes_factor: Float[Tensor, " link"]
    p_value: Float[Tensor, " link"]
    coefficient: Float[Tensor, "link lag"]


@torch.no_grad()
def score_links(
    h: Float[Tensor, "time agent dim"],
    messages: Float[Tensor, "time agent dim"],
    present: Bool[Tensor, "time agent"],
    links: Links,
    max_lag: int,
) -> LinkScores:
    r"""Compare, for every candidate, the autoregression of its target with and without it.

    States before any mixing of agents are scored: after message passing co-members would explain
    each other by construction. :math:`U_i` is removed by centring within the agent where at least
    three rows remain. Dimensions count as repeated observations, as many as their covariance has
    effective ones,
    :math:`D_{eff} = (\mathrm{tr}\, S)^2 / \mathrm{tr}\, S^2`.

    Args:
        h: latent states of each agent from its own features.
        messages: :math:`W_c h`, what agents would send.
        present: who was observed; rows of absent targets or sources count nothing.
        links: row 0 source j, row 1 target i.
        max_lag: L; fewer where there are fewer times, lags that do not fit get the coefficient 0.
    """
    T = len(h)
    K = links.shape[1]
    L = min(max_lag, T - 1)
    log_bayes_factor = torch.zeros(K, dtype=torch.float64, device=h.device)
    p_value = torch.ones(K, dtype=torch.float64, device=h.device)
    coefficient = torch.zeros(K, max_lag, dtype=torch.float64, device=h.device)
    if L < 1 or K == 0:
        return LinkScores(log_bayes_factor, p_value, coefficient)
    h = h.double()
    messages = messages.double()
    effective_dim = participation_ratio(h[present])
    width = (T - L) * (1 + 2 * L) * h.shape[-1]
    for rows in torch.arange(K, device=h.device).split(max(1, CHUNK // width)):
        gram, count = _normal_equations(h, messages, present, links[:, rows], L)
        residual, restricted, beta = _compare(gram, L)
        observations = (count * effective_dim).clamp(min=0.0)
        gain = observations * (restricted / residual).log().clamp(min=0.0)
        log_bayes_factor[rows] = 0.5 * (gain - L * observations.clamp(min=1.0).log())
        p_value[rows] = torch.special.gammaincc(torch.full_like(gain, 0.5 * L), 0.5 * gain)
        coefficient[rows, :L] = beta
    return LinkScores(log_bayes_factor, p_value, coefficient)


def _normal_equations(h: Tensor, messages: Tensor, present: Tensor, links: Tensor, lags: int) -> tuple[Tensor, Tensor]:
    """Gram matrix of (own lags, source lags, target) per link, and rows left after centring."""
    T = len(h)
    source = links[0]
    target = links[1]
    columns = [h[lags - lag : T - lag, target] for lag in range(1, lags + 1)]
    columns += [messages[lags - lag : T - lag, source] for lag in range(1, lags + 1)]
    columns += [h[lags:, target]]
    used = present[lags:, target]
    for lag in range(1, lags + 1):
        used = used & present[lags - lag : T - lag, target] & present[lags - lag : T - lag, source]
    weight = used.to(h.dtype)
    count = weight.sum(0)
    # Centre within the agent where that leaves two rows or more.
    is_centred = (count >= 3).to(h.dtype)
    table = torch.stack(columns, 1) * weight.unsqueeze(1).unsqueeze(-1)  # [time, column, link, dim]
    mean = table.sum(0) / count.clamp(min=1.0).unsqueeze(-1)
    centre = mean * is_centred.unsqueeze(-1)
    table = table - centre * weight.unsqueeze(1).unsqueeze(-1)
    rows = table.permute(2, 1, 0, 3).flatten(2)  # [link, column, time and dim]
    return rows @ rows.mT, count - is_centred


def _compare(gram: Tensor, lags: int) -> tuple[Tensor, Tensor, Tensor]:
    """Residual sums with and without the source's lags, and the source's coefficients."""
    size = gram.shape[-1] - 1
    total = gram[:, -1, -1]
    scale = gram.diagonal(dim1=-2, dim2=-1)[:, :-1].mean(-1)
    ridge = (RIDGE * scale + torch.finfo(gram.dtype).tiny)[:, None, None]
    eye = torch.eye(size, dtype=gram.dtype, device=gram.device)
    design = gram[:, :-1, :-1] + ridge * eye
    moment = gram[:, :-1, -1]
    full = torch.linalg.solve(design, moment)
    own = torch.linalg.solve(design[:, :lags, :lags], moment[:, :lags])
    # Residuals of a constant target are 0 in both: their ratio is one, not 0 / 0.
    floor = RIDGE * total + torch.finfo(gram.dtype).tiny
    residual = (total - (full * moment).sum(-1)).clamp(min=0.0) + floor
    restricted = (total - (own * moment[:, :lags]).sum(-1)).clamp(min=0.0) + floor
    return residual, restricted, full[:, lags:]


def participation_ratio(values: Float[Tensor, "row dim"]) -> float:
    r"""Effective number of dimensions, :math:`(\mathrm{tr}\, S)^2 / \mathrm{tr}\, S^2`; 1 without variation."""
    if len(values) < 2:
        return 1.0
    centred = values - values.mean(0)
    covariance = centred.mT @ centred
    trace = float(covariance.trace())
    if trace <= 0.0:
        return 1.0
    return trace**2 / float(covariance.square().sum())


def prior_log_odds(links: Links, num_agents: int) -> Float[Tensor, " link"]:
    r"""Log odds of a link under the sparsity prior, :math:`\pi_i = \min(1/2,\ 2 / c_i)`, c candidates of i.

    Args:
        links: candidates, row 1 the target.
        num_agents: N.
    """
    candidates = torch.bincount(links[1], minlength=num_agents)[links[1]].double()
    share = (PARENTS / candidates).clamp(max=0.5)
    return share.log() - (-share).log1p()


def starting_coefficients(scores: LinkScores) -> Float[Tensor, "link lag"]:
    """Coefficients of significant links, 0 for the others: the paper's significance thresholding.

    Args:
        scores: of the vector autoregression.
    """
    is_significant = scores.p_value < SIGNIFICANCE
    return scores.coefficient * is_significant.unsqueeze(-1)


def parent_set_entropies(
    probability: Float[Tensor, " link"],
    prior: Float[Tensor, " link"],
    links: Links,
    num_agents: int,
) -> tuple[Float[Tensor, " agent"], Float[Tensor, " agent"]]:
    """Entropy of the posterior and of the prior over each agent's parent sets, links independent, in nats.

    Args:
        probability: of each link.
        prior: log odds of :func:`prior_log_odds`.
        links: candidates, row 1 the target.
        num_agents: N.
    """
    start = torch.zeros(num_agents, dtype=torch.float64, device=links.device)
    posterior_entropy = start.index_add(0, links[1], binary_entropy(probability.double()))
    prior_entropy = start.index_add(0, links[1], binary_entropy(prior.double().sigmoid()))
    return posterior_entropy, prior_entropy
