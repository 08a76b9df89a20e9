"""Posterior over the parent sets of a batch of targets: project, screen, enumerate, summarise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc.causal.evidence import binary_entropy, log_set_prior, prior_probability, switch_evidence
from sphunc.causal.gram import Columns, gram, project_out
from sphunc.causal.initialisation import autoregression, initial_gates
from sphunc.causal.tree import TreePlan, subset_evidence, tree_plan
from sphunc.causal.two_groups import TwoGroups, unshrunk

SCREEN = 12  # candidates per target that are enumerated
CAP = 7  # parents per set; 4 loses 2 points of AUPRC when a twentieth of the targets has more
SETS_FOR_EFFECTS = 16  # most probable sets over which coefficients are averaged
LARGEST_RATIO = 30.0  # keeps the learned sizes from outvoting any evidence
LEAST_RIDGE = 1e-10  # slab over the largest square before the nuisance: rounding leaves about a tenth of it
DRAWS = 128  # sets per target that are kept for sampling structures


@dataclass(frozen=True)
class Hyper:
    """What is shared by all targets.

    Attributes:
        lags: lags per candidate.
        phi: variance of the persistent bias over that of the noise.
        tau: sd of the Gaussian slab.
        min_effect: sd of the spike.
        effective: coordinates that D are worth.
        dim: D.
        groups: learned share, sign and size of links, which replaces slab and prior share; None keeps them.
        prior_share: mean prior probability of a link.
    """

    lags: int
    phi: float
    tau: float
    min_effect: float
    effective: float
    dim: int
    groups: TwoGroups | None = None
    prior_share: float = 0.5


@dataclass(frozen=True, eq=False)
class TargetPosterior:
    """Summary for B targets with C candidate columns each (lag by lag); padding has probability 0.

    Attributes:
        probability: ``[B, slots]`` per candidate, any lag.
        strength: ``[B, slots]`` coefficient given that the link exists, at its most probable lag.
        deviation: ``[B, slots]`` posterior standard deviation of that coefficient.
        lag: ``[B, slots]`` most probable lag.
        entropy: ``[B]`` of the parent-set posterior.
        best: ``[B, slots]`` True for members of the most probable set.
        best_mass: ``[B]`` its probability.
        screened_out: ``[B]`` expected number of parents among candidates that were not enumerated.
        evidence: ``[B]`` log marginal likelihood up to a constant of the data.
        draws: ``[B, DRAWS]`` sets drawn systematically from the posterior, as bits over enumerated columns.
        bit: ``[B, slots, lags]`` bit of each candidate column, -1 when it was not enumerated.
        noise: ``[B]`` residual variance.
        initial: ``[B, slots]`` True where the vector autoregression opens the gate.
    """

    probability: Tensor
    strength: Tensor
    deviation: Tensor
    lag: Tensor
    entropy: Tensor
    best: Tensor
    best_mass: Tensor
    screened_out: Tensor
    evidence: Tensor
    draws: Tensor
    bit: Tensor
    noise: Tensor
    initial: Tensor


@dataclass(frozen=True, eq=False)
class Moments:
    """Cross products after the nuisance, with everything the evidence needs."""

    matrix: Tensor  # [B, C + 1, C + 1]
    degrees: Tensor  # [B]
    noise: Tensor  # [B]
    slab: Tensor  # [B]
    spike: Tensor | None  # [B]
    usable: Tensor  # [B, C]
    count: Tensor  # [B]


def moments(columns: Columns, usable: Tensor, hyper: Hyper) -> Moments:
    """Gram matrices after the nuisance, degrees of freedom, noise and ridge terms."""
    share = hyper.effective / hyper.dim
    products = share * gram(columns, hyper.phi)
    matrix, _, rank = project_out(products, columns.nuisance)
    rows = columns.rows.double() - (1 if math.isinf(hyper.phi) else 0)
    free = rows * hyper.effective - rank
    degrees = free.clamp(min=1)
    count = usable.sum(1).double()
    # Where the nuisance explains everything, what is left of the products is rounding: nothing, at unit noise.
    matrix = torch.where((free >= 1)[:, None, None], matrix, torch.zeros_like(matrix))
    # Fewer rows than candidates explain everything: without a bound the slab is less than rounding, which makes
    # products indefinite.
    bound = LEAST_RIDGE * hyper.tau**2 * products.diagonal(dim1=-2, dim2=-1).amax(1)
    noise = torch.maximum(_noise(matrix, degrees, hyper, count), bound)
    noise = torch.where(free >= 1, noise, torch.ones_like(free))
    spike = noise / hyper.min_effect**2 if hyper.min_effect > 0 else None
    return Moments(matrix, degrees, noise, noise / hyper.tau**2, spike, usable, count)


def _noise(matrix: Tensor, degrees: Tensor, hyper: Hyper, count: Tensor) -> Tensor:
    """Residual variance under one ridge for all candidates, whose strength is the prior mean of the squared effects."""
    values, vectors = torch.linalg.eigh(matrix[:, :-1, :-1])
    loads = (vectors.mT @ matrix[:, :-1, -1:]).squeeze(-1).square()
    yy = matrix[:, -1, -1].clamp(min=torch.finfo(matrix.dtype).tiny)
    variance = prior_probability(count.clamp(min=1)) * hyper.tau**2
    noise = yy / degrees
    for _ in range(3):
        ridge = (noise / variance)[:, None]
        noise = (yy - (loads / (values.clamp(min=0) + ridge)).sum(1)).clamp(min=1e-9 * yy) / degrees
    return noise


def target_posterior(
    columns: Columns, usable: Tensor, required: Tensor, hyper: Hyper, generator: torch.Generator
) -> TargetPosterior:
    """Posterior of each target's parents.

    Args:
        columns: design of B targets.
        usable: ``[B, slots]`` False where a candidate is padding or says nothing.
        required: ``[B, slots]`` True where the link must be there.
        hyper: shared settings.
        generator: source of the one uniform number per target that places the draws.
    """
    slots = usable.shape[1]
    usable, required = usable.repeat(1, hyper.lags), required.repeat(1, hyper.lags)
    m = moments(columns, usable, hyper)
    chosen, gates = screen(m, required)
    plan = tree_plan(chosen.shape[1], CAP, chosen.device)
    sub = _take(m.matrix, chosen)
    log_weight = subset_evidence(sub, m.slab, m.spike, m.degrees, plan)
    log_weight = log_weight + _set_prior(plan, m, chosen, required, slots)
    evidence = log_weight.logsumexp(1)
    weight = (log_weight - evidence[:, None]).exp()
    beta, deviation, odds = _coefficients(sub, m, weight, plan, chosen)
    if hyper.groups is not None:
        ratio = _ratio(beta, deviation, hyper)
        log_weight = log_weight + ratio.gather(1, chosen) @ plan.members.double().T
        weight = torch.softmax(log_weight, 1)
        odds = odds + ratio
    return _summary(m, chosen, weight, plan, (beta, deviation, odds, gates), evidence, slots, generator)


def _ratio(beta: Tensor, deviation: Tensor, hyper: Hyper) -> Tensor:
    assert hyper.groups is not None
    estimate, error = unshrunk(beta.flatten(), deviation.flatten(), hyper.tau)
    ratio = hyper.groups.log_ratio(estimate, error, hyper.tau, hyper.min_effect, hyper.prior_share)
    return ratio.view_as(beta).clamp(-LARGEST_RATIO, LARGEST_RATIO)


def screen(m: Moments, required: Tensor) -> tuple[Tensor, Tensor]:
    """Columns to enumerate, and the initial gates.

    Required ones come first, then those with an open gate in the vector autoregression, each group by the larger of
    conditional and marginal F.
    """
    _, conditional = autoregression(m.matrix, m.slab)
    square, cross = m.matrix.diagonal(dim1=-2, dim2=-1)[:, :-1], m.matrix[:, :-1, -1]
    marginal = torch.where(square > 0, cross.square() / (square + m.slab[:, None]), torch.zeros_like(square))
    gates = initial_gates(conditional, m.noise, m.degrees, m.usable)
    score = torch.maximum(conditional, marginal)
    score = score / (1 + score.amax(1, keepdim=True)) + gates.double()
    score = torch.where(required, torch.inf, score)
    score = torch.where(m.usable | required, score, torch.full_like(score, -1))
    return score.topk(min(SCREEN, score.shape[1]), dim=1).indices, gates


def _take(matrix: Tensor, chosen: Tensor) -> Tensor:
    last = torch.full_like(chosen[:, :1], matrix.shape[1] - 1)
    index = torch.cat([chosen, last], 1)
    batch = torch.arange(len(matrix), device=matrix.device)[:, None, None]
    return matrix[batch, index[:, :, None], index[:, None, :]]


def _set_prior(plan: TreePlan, m: Moments, chosen: Tensor, required: Tensor, slots: int) -> Tensor:
    """Log prior per set; sets with padding, or without a required link (at some lag), are impossible."""
    prior = log_set_prior(plan.sizes.double()[None], m.count[:, None].expand(-1, len(plan.masks)))
    member = plan.members.double()
    padding = (~m.usable.gather(1, chosen)).double() @ member.T
    prior = torch.where(padding > 0, -torch.inf, prior)
    for slot in range(slots):
        needs = required[:, slot]
        if bool(needs.any()):
            has = ((chosen % slots == slot).double() @ member.T) > 0
            prior = torch.where(needs[:, None] & ~has, -torch.inf, prior)
    return prior


def _coefficients(sub: Tensor, m: Moments, weight: Tensor, plan: TreePlan, chosen: Tensor) -> tuple[Tensor, ...]:
    """Mean and sd of each coefficient given membership, and log odds of one more parent beside the best set.

    Enumerated columns average over the most probable sets that contain them; the others are judged beside the best.
    """
    mass, index = weight.topk(min(SETS_FOR_EFFECTS, weight.shape[1]), dim=1)
    member = plan.members[index].double()
    dropped = m.noise[:, None, None] * 1e12 if m.spike is None else m.spike[:, None, None]
    beta, variance = _solve(sub, torch.where(member > 0, m.slab[:, None, None], dropped))
    share = member * mass.unsqueeze(-1)
    seen = share.sum(1) > 0
    total = share.sum(1).clamp(min=torch.finfo(share.dtype).tiny)
    mean = (share * beta).sum(1) / total
    spread = ((share * (beta.square() + variance * m.noise[:, None, None])).sum(1) / total - mean.square()).clamp(min=0)
    odds, single, deviation = _one_more(m, chosen, plan.members[index[:, 0]])
    mean = torch.where(seen, mean, single.gather(1, chosen))
    spread = torch.where(seen, spread.sqrt(), deviation.gather(1, chosen))
    return single.scatter(1, chosen, mean), deviation.scatter(1, chosen, spread), odds


def _solve(sub: Tensor, ridge: Tensor) -> tuple[Tensor, Tensor]:
    """Ridge solutions and inverse diagonals for ``[B, S, C]`` ridges."""
    system = sub[:, None, :-1, :-1] + torch.diag_embed(ridge)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(system))
    beta = inverse @ sub[:, None, :-1, -1:]
    return beta.squeeze(-1), inverse.diagonal(dim1=-2, dim2=-1)


def _summary(
    m: Moments,
    chosen: Tensor,
    weight: Tensor,
    plan: TreePlan,
    effects: tuple[Tensor, Tensor, Tensor, Tensor],
    evidence: Tensor,
    slots: int,
    generator: torch.Generator,
) -> TargetPosterior:
    beta, deviation, odds, gates = effects
    best_mass, index = weight.max(1)
    best = plan.members[index]
    single = torch.sigmoid(odds).scatter(1, chosen, weight @ plan.members.double())
    single = torch.where(m.usable, single, torch.zeros_like(single))
    enumerated = torch.zeros_like(m.usable).scatter(1, chosen, True)
    probability, entropy = _join_lags(single, enumerated, chosen, weight, plan, slots)
    outside = torch.where(enumerated, torch.zeros_like(single), single)
    lag = single.view(len(single), -1, slots).argmax(1)
    at_lag = (lag * slots + torch.arange(slots, device=lag.device)).long()
    bit = torch.full_like(m.usable, -1, dtype=torch.long)
    bit = bit.scatter(1, chosen, torch.arange(chosen.shape[1], device=chosen.device).expand_as(chosen))
    in_best = torch.zeros_like(m.usable, dtype=torch.long).scatter(1, chosen, best)
    return TargetPosterior(
        probability=probability,
        strength=beta.gather(1, at_lag),
        deviation=deviation.gather(1, at_lag),
        lag=lag + 1,
        entropy=entropy + binary_entropy(outside).sum(1),
        best=in_best.view(len(single), -1, slots).any(1),
        best_mass=best_mass,
        screened_out=outside.sum(1),
        evidence=evidence,
        draws=_systematic(weight, plan, generator),
        bit=bit.view(len(single), -1, slots).transpose(1, 2),
        noise=m.noise,
        initial=gates.view(len(single), -1, slots).any(1),
    )


def _one_more(m: Moments, chosen: Tensor, best: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log odds, coefficient and sd of each column as one more parent beside the best set."""
    block, cross = m.matrix[:, :-1, :-1], m.matrix[:, :-1, -1]
    members = _take(m.matrix, chosen)[:, :-1, :-1]
    ridge = torch.where(best > 0, m.slab[:, None], (m.noise * 1e12)[:, None])
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(members + torch.diag_embed(ridge)))
    batch = torch.arange(len(block), device=block.device)[:, None]
    wide = block[batch, chosen]
    to_outcome = cross.gather(1, chosen)
    square = block.diagonal(dim1=-2, dim2=-1) - (wide * (inverse @ wide)).sum(1)
    product = cross - (to_outcome[:, None] @ inverse @ wide).squeeze(1)
    rss = m.matrix[:, -1, -1] - (to_outcome * (inverse @ to_outcome.unsqueeze(-1)).squeeze(-1)).sum(1)
    square, rss = square.clamp(min=0), rss.clamp(min=1e-9 * m.matrix[:, -1, -1]).clamp(min=torch.finfo(rss.dtype).tiny)
    spike = None if m.spike is None else m.spike[:, None]
    factor = switch_evidence(square, product, rss[:, None], m.degrees[:, None], m.slab[:, None], spike)
    size = best.sum(1).double()
    odds = factor + (log_set_prior(size + 1, m.count.clamp(min=2)) - log_set_prior(size, m.count.clamp(min=2)))[:, None]
    beta = product / (square + m.slab[:, None])
    deviation = (m.noise[:, None] / (square + m.slab[:, None])).sqrt()
    return odds, beta, deviation


def _join_lags(
    single: Tensor, enumerated: Tensor, chosen: Tensor, weight: Tensor, plan: TreePlan, slots: int
) -> tuple[Tensor, Tensor]:
    """Probability of a link at any lag, and the entropy of the set of parents."""
    if single.shape[1] == slots:
        return single, torch.special.entr(weight).sum(1)
    parent = torch.zeros(len(weight), len(plan.masks), dtype=torch.long, device=weight.device)
    for column in range(chosen.shape[1]):
        same = (chosen % slots) == (chosen[:, column] % slots)[:, None]
        representative = same.long().argmax(1)
        parent |= plan.members[:, column][None] << representative[:, None]
    mass = weight.new_zeros(len(weight), 1 << chosen.shape[1]).scatter_add_(1, parent, weight)
    bits = torch.arange(chosen.shape[1], device=chosen.device)
    codes = (torch.arange(mass.shape[1], device=mass.device)[:, None] >> bits) & 1
    joint = mass @ codes.double()
    representative = ((chosen[:, :, None] % slots) == (chosen[:, None, :] % slots)).long().argmax(2)
    inside = weight.new_zeros(len(weight), slots).scatter_(1, chosen % slots, joint.gather(1, representative))
    outside = torch.where(enumerated, torch.zeros_like(single), single).view(len(single), -1, slots)
    probability = 1 - (1 - inside) * (1 - outside).prod(1)
    return probability, torch.special.entr(mass).sum(1)


def _systematic(weight: Tensor, plan: TreePlan, generator: torch.Generator) -> Tensor:
    """Sets at evenly spaced quantiles of the posterior, with one random offset per target."""
    offset = torch.rand(len(weight), 1, generator=generator, dtype=torch.double).to(weight.device)
    quantile = (torch.arange(DRAWS, device=weight.device) + offset) / DRAWS
    position = torch.searchsorted(weight.cumsum(1), quantile * weight.sum(1, keepdim=True))
    return plan.masks[position.clamp(max=weight.shape[1] - 1)].to(torch.int32)
