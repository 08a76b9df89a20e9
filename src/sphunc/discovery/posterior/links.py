"""Posterior of the parents of a batch of targets: cross products, screening, enumeration, summary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int
from sphunc.discovery.posterior.parent_sets import SubsetTree, subset_evidence, subset_tree, systematic_sets
from sphunc.discovery.posterior.prior import LinkPrior
from sphunc.discovery.regression.design import source_columns, target_rows, whiten_rows
from sphunc.discovery.regression.panel import Panel
from sphunc.discovery.regression.variance import (
    VarianceComponents,
    posterior_noise,
    t_log_density,
    without_shared,
)

SCREEN = 12
"""Candidates per target that are enumerated."""
CAP = 7
"""Parents per set; 4 loses 2 points of AUPRC where a twentieth of the targets has more."""
WIDEST = 96
"""Candidate columns whose cross products with each other are taken; of more, the best by themselves."""
DRAWS = 64
"""Sets per target that are kept for sampling structures."""
ROUNDING = 1e-9
"""Relative size of a square below which a column is taken for a combination of others."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Cross products after the nuisance, and what the evidence needs.

    Attributes:
        matrix: ``[B, W + 1, W + 1]`` of the columns taken, outcome last.
        taken: ``[B, W]`` which columns these are.
        square: ``[B, C]`` squares of all columns.
        cross: ``[B, C]`` products with the outcome.
        count: ``[B]`` rows n, discounted.
        noise: ``[B]`` shrunk noise variance without links.
        prior_squares: ``nu s^2``.
        degrees: ``[B]`` nu + n.
        usable: ``[B, C]`` columns that can be parents.
        required: ``[B, C]`` columns of required links.
        base: ``[B]`` log density of the outcome without links.
    """

    matrix: Tensor
    taken: Tensor
    square: Tensor
    cross: Tensor
    count: Tensor
    noise: Tensor
    prior_squares: Tensor
    degrees: Tensor
    usable: Tensor
    required: Tensor
    base: Tensor


def target_moments(
    panel: Panel,
    components: VarianceComponents,
    targets: Int[Tensor, " batch"],
    sources: Int[Tensor, "batch slot"],
    required: Bool[Tensor, "batch slot"],
    *,
    lags: int,
    own_lags: int,
    source_panel: Panel | None = None,
) -> Moments:
    """Cross products of candidates and outcome, shared nuisance, level, trend and inertia taken out.

    Args:
        panel: states.
        components: what all agents share.
        targets: agents to explain.
        sources: candidates per target, -1 where padded.
        required: links that exist.
        lags: lags per candidate.
        own_lags: lags of the target itself.
        source_panel: states of the sources, if others than the targets' (a placebo).
    """
    if source_panel is None:
        source_panel = panel
    rows = target_rows(panel, targets, own_lags)
    share = panel.effective / panel.shape[2] / components.inflation
    shape = rows.weight, components.level, components.trend
    fixed = whiten_rows(torch.cat([rows.nuisance, rows.outcome.unsqueeze(1)], 1), *shape)
    columns = whiten_rows(source_columns(source_panel, sources, rows, lags), *shape)
    usable = ((sources >= 0) & ~panel.silent[sources.clamp(min=0)] | required).repeat(1, lags)
    required = required.repeat(1, lags)

    # Outcome without its shared part; each agent's own deviations from it are integrated out.
    own = without_shared(share * (fixed @ fixed.mT).double(), components.theta)
    width = len(components.theta)
    weights = torch.cat([-components.theta, components.theta.new_ones(1)]).to(fixed)
    outcome = (weights[:, None] * fixed).sum(1, keepdim=True)
    with_known = share * (columns @ torch.cat([fixed[:, :width], outcome], 1).mT).double()
    ridge = components.scale / components.spread.clamp(min=1e-12)
    ridged = own[:, :-1, :-1] + torch.diag(ridge)
    inverse = torch.linalg.inv_ex(ridged).inverse
    to_own = with_known[:, :, :-1]
    projected = to_own @ inverse
    rss = own[:, -1, -1] - ((own[:, -1:, :-1] @ inverse) @ own[:, :-1, -1:]).squeeze(-1).squeeze(-1)
    rss = rss.clamp(min=0)
    cross = with_known[:, :, -1] - (projected @ own[:, :-1, -1:]).squeeze(-1)
    raw_square = share * columns.double().square().sum(-1) if columns.dtype == torch.double else None
    if raw_square is None:
        raw_square = share * columns.square().sum(-1).double()
    square = (raw_square - (projected * to_own).sum(-1)).clamp(min=0)
    usable = usable & (square > ROUNDING * raw_square.clamp(min=torch.finfo(torch.double).tiny)) | required
    cross = torch.where(usable, cross, torch.zeros_like(cross))

    # Only the best columns by themselves are taken where there are very many.
    most = min(WIDEST, columns.shape[1])
    score = torch.where(usable, cross.square() / square.clamp(min=1e-300), torch.full_like(square, -1.0))
    score = torch.where(required, torch.full_like(score, torch.inf), score)
    taken = score.topk(most, dim=1).indices.sort(1).values
    if most < columns.shape[1]:
        columns = columns.gather(1, taken.unsqueeze(-1).expand(-1, -1, columns.shape[2]))
        to_own = to_own.gather(1, taken.unsqueeze(-1).expand(-1, -1, to_own.shape[2]))
        projected = to_own @ inverse
    block = share * (columns @ columns.mT).double() - projected @ to_own.mT
    end = cross.gather(1, taken)
    live = usable.gather(1, taken).double()
    block = block * live[:, :, None] * live[:, None, :]
    matrix = torch.cat([torch.cat([block, end.unsqueeze(2)], 2), torch.cat([end, rss[:, None]], 1).unsqueeze(1)], 1)

    count = share * panel.shape[2] * rows.weight.sum(1).double()
    prior_squares = torch.full_like(count, components.degrees * components.scale)
    noise = posterior_noise(rss, count, components.degrees, components.scale)
    determinant = torch.linalg.slogdet(ridged).logabsdet - ridge.log().sum()
    scatter = torch.log1p(rows.weight.sum(1).double() * components.level)
    scatter = scatter + torch.log1p(rows.weight.sum(1).double() * components.trend)
    base = t_log_density(rss, count, components.degrees, components.scale)
    base = base - 0.5 * (determinant + share * panel.shape[2] * scatter)
    return Moments(
        matrix=matrix,
        taken=taken,
        square=square,
        cross=cross,
        count=count,
        noise=noise,
        prior_squares=prior_squares,
        degrees=components.degrees + count,
        usable=usable,
        required=required,
        base=base,
    )


@dataclass(frozen=True, eq=False)
class SetPosterior:
    """Evidence of the enumerated sets of B targets.

    Attributes:
        chosen: ``[B, S]`` positions, among the columns taken, that are enumerated.
        evidence: ``[B, sets]`` log evidence against the empty set.
        tree: the sets.
    """

    chosen: Tensor
    evidence: Tensor
    tree: SubsetTree


def enumerate_sets(moments: Moments, tau: float) -> SetPosterior:
    """Screen by forward selection, then enumerate all sets of the screened candidates.

    Args:
        moments: of B targets.
        tau: standard deviation of link coefficients.
    """
    ridge = moments.noise / tau**2
    chosen = _forward_selection(moments, ridge)
    tree = subset_tree(chosen.shape[1], CAP, chosen.device)
    last = torch.full_like(chosen[:, :1], moments.matrix.shape[1] - 1)
    index = torch.cat([chosen, last], 1)
    batch = torch.arange(len(index), device=index.device)[:, None, None]
    part = moments.matrix[batch, index[:, :, None], index[:, None, :]]
    evidence = subset_evidence(part, ridge, moments.prior_squares, moments.degrees, tree)
    # Padding can be no parent; a required link belongs to every set.
    columns = moments.taken.gather(1, chosen)
    padding = (~moments.usable.gather(1, columns)).double()
    needed = moments.required.gather(1, columns).double()
    impossible = (padding @ tree.members.T > 0) | (needed @ (1 - tree.members).T > 0)
    return SetPosterior(chosen, torch.where(impossible, -torch.inf, evidence), tree)


def _forward_selection(moments: Moments, ridge: Tensor) -> Tensor:
    """Columns in the order in which they explain most beside those before (orthogonal matching pursuit)."""
    matrix = moments.matrix
    usable = moments.usable.gather(1, moments.taken)
    required = moments.required.gather(1, moments.taken)
    square = matrix.diagonal(dim1=-2, dim2=-1)[:, :-1].clone()
    cross = matrix[:, :-1, -1].clone()
    batch = torch.arange(len(matrix), device=matrix.device)
    free = torch.ones_like(usable)
    basis: list[Tensor] = []
    order = []
    for _ in range(min(SCREEN, square.shape[1])):
        score = cross.square() / (square.clamp(min=0) + ridge[:, None])
        score = torch.where(usable, score, torch.full_like(score, -1.0))
        score = torch.where(required, torch.full_like(score, torch.inf), score)
        best = torch.where(free, score, torch.full_like(score, -2.0)).argmax(1)
        row = matrix[batch, best]
        for vector in basis:
            row = row - vector[batch, best, None] * vector
        pivot = row[batch, best].clamp(min=0) + ridge
        basis.append(row / pivot.sqrt()[:, None])
        square = square - basis[-1][:, :-1].square()
        cross = cross - basis[-1][:, :-1] * basis[-1][:, -1:]
        free = free.scatter(1, best[:, None], False)
        order.append(best)
    return torch.stack(order, 1)


@dataclass(frozen=True, eq=False)
class OneMore:
    """Every column as one more parent given the most probable set (given the rest of it, for its members).

    Attributes:
        log_factor: ``[B, C]`` log Bayes factor.
        coefficient: ``[B, C]`` posterior mean.
        deviation: ``[B, C]`` posterior standard deviation.
        z_score: ``[B, C]`` product with the outcome over its standard error.
        enumerated: ``[B, C]`` True for columns that were enumerated.
    """

    log_factor: Tensor
    coefficient: Tensor
    deviation: Tensor
    z_score: Tensor
    enumerated: Tensor


def one_more(moments: Moments, sets: SetPosterior, best: Float[Tensor, "batch screened"], tau: float) -> OneMore:
    """Judge each column given the most probable set.

    Args:
        moments: of B targets.
        sets: enumerated sets.
        best: 1 for the members of the most probable set.
        tau: standard deviation of link coefficients.
    """
    matrix = moments.matrix
    ridge = moments.noise / tau**2
    batch = torch.arange(len(matrix), device=matrix.device)
    basis: list[Tensor] = []
    for place in range(sets.chosen.shape[1]):
        column = sets.chosen[:, place]
        row = matrix[batch, column]
        for vector in basis:
            row = row - vector[batch, column, None] * vector
        pivot = row[batch, column].clamp(min=0) + ridge
        basis.append(row / pivot.sqrt()[:, None] * best[:, place, None])
    removed = torch.stack(basis, 1)
    square = moments.square.clone()
    cross = moments.cross.clone()
    square.scatter_add_(1, moments.taken, -removed[:, :, :-1].square().sum(1))
    cross.scatter_add_(1, moments.taken, -(removed[:, :, :-1] * removed[:, :, -1:]).sum(1))
    rss = (matrix[:, -1, -1] - removed[:, :, -1].square().sum(1)).clamp(min=0)
    square = square.clamp(min=0)
    noise = ((moments.prior_squares + rss) / moments.degrees)[:, None]
    shrunk = square + ridge[:, None]
    explained = cross.square() / shrunk
    total = (moments.prior_squares + rss)[:, None]
    gain = torch.log1p(-(explained / total).clamp(max=1 - 1e-12))
    log_factor = -0.5 * torch.log1p(square / ridge[:, None]) - 0.5 * moments.degrees[:, None] * gain
    coefficient = cross / shrunk
    deviation = (noise / shrunk).sqrt()
    z_score = cross / (square * noise).clamp(min=1e-300).sqrt()

    # Members of the best set: their coefficients in the joint solution.
    inner, spread = _joint(matrix, sets.chosen, best, ridge, noise)
    columns = moments.taken.gather(1, sets.chosen)
    inside = best > 0
    coefficient = coefficient.scatter(1, columns, torch.where(inside, inner, coefficient.gather(1, columns)))
    deviation = deviation.scatter(1, columns, torch.where(inside, spread, deviation.gather(1, columns)))
    enumerated = torch.zeros_like(moments.usable).scatter(1, columns, True)
    log_factor = torch.where(moments.usable, log_factor, torch.full_like(log_factor, -torch.inf))
    return OneMore(log_factor, coefficient, deviation, z_score, enumerated)


def _joint(matrix: Tensor, chosen: Tensor, best: Tensor, ridge: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    batch = torch.arange(len(matrix), device=matrix.device)[:, None, None]
    block = matrix[batch, chosen[:, :, None], chosen[:, None, :]] * best[:, :, None] * best[:, None, :]
    largest = block.diagonal(dim1=-2, dim2=-1).amax(1, keepdim=True)
    system = block + torch.diag_embed((ridge[:, None] + 1e-10 * largest).expand_as(best))
    inverse = torch.linalg.inv_ex(system).inverse
    cross = matrix[:, :-1, -1].gather(1, chosen) * best
    mean = (inverse @ cross.unsqueeze(-1)).squeeze(-1)
    spread = (noise * inverse.diagonal(dim1=-2, dim2=-1).clamp(min=0)).sqrt()
    return torch.nan_to_num(mean), torch.nan_to_num(spread)


@dataclass(frozen=True, eq=False)
class ColumnPosterior:
    """Summary for B targets, per candidate column.

    Attributes:
        probability: ``[B, C]`` that the column belongs to the parents.
        coefficient: ``[B, C]`` given that it does.
        deviation: ``[B, C]`` of the coefficient.
        entropy: ``[B]`` of the posterior over enumerated sets.
        draws: ``[B, R, C]`` sets at even quantiles of the posterior.
    """

    probability: Tensor
    coefficient: Tensor
    deviation: Tensor
    entropy: Tensor
    draws: Tensor


def column_posterior(
    moments: Moments, prior: LinkPrior, generator: torch.Generator | None
) -> tuple[ColumnPosterior, SetPosterior, OneMore]:
    """Enumerate and summarise.

    Args:
        moments: of B targets.
        prior: share and size of links.
        generator: places the draws; None draws none.
    """
    sets = enumerate_sets(moments, prior.tau)
    candidates = moments.usable.sum(1).double()
    by_size = prior.log_size_table(candidates, CAP + 1)
    weight = torch.softmax(sets.evidence + by_size[:, sets.tree.sizes], 1)
    best = sets.tree.members[weight.argmax(1)]
    single = one_more(moments, sets, best, prior.tau)
    size = best.sum(1).long().unsqueeze(1)
    step = by_size.gather(1, size + 1) - by_size.gather(1, size)
    # Candidates that were not enumerated explain the same residual: at most one of them is one more parent.
    odds = torch.where(single.enumerated, -torch.inf, single.log_factor + step)
    nobody = torch.zeros_like(odds[:, :1])
    outside = torch.softmax(torch.cat([nobody, odds], 1), 1)[:, 1:]
    columns = moments.taken.gather(1, sets.chosen)
    probability = outside.scatter(1, columns, weight @ sets.tree.members)
    probability = torch.where(moments.usable, probability.clamp(0, 1), torch.zeros_like(probability))
    draws = torch.zeros(len(weight), 0, probability.shape[1], dtype=torch.bool, device=weight.device)
    if generator is not None:
        masks = systematic_sets(weight, sets.tree, DRAWS, generator)
        bits = (masks.unsqueeze(-1) >> torch.arange(columns.shape[1], device=masks.device)) & 1
        draws = torch.zeros(len(weight), DRAWS, probability.shape[1], dtype=torch.bool, device=weight.device)
        draws = draws.scatter(2, columns.unsqueeze(1).expand(-1, DRAWS, -1), bits.bool())
    entropy = torch.special.entr(weight).sum(1)
    return ColumnPosterior(probability, single.coefficient, single.deviation, entropy, draws), sets, single


def size_evidence(sets: SetPosterior) -> Float[Tensor, "batch size"]:
    """Log of the summed evidence of the enumerated sets of each size, minus infinity where there is none."""
    largest = int(sets.tree.sizes.max())
    parts = [torch.logsumexp(sets.evidence[:, sets.tree.sizes == size], 1) for size in range(largest + 1)]
    return torch.stack(parts, 1)
