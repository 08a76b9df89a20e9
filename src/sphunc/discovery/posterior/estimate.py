"""From a panel to the posterior of every link: shared settings on a spread of targets, then batches of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from scipy import stats
from torch import Tensor

from sphunc._subsets import evenly_spaced
from sphunc._typing import Bool, Float, Int
from sphunc.discovery.candidates import CandidateLinks, batches_by_width
from sphunc.discovery.posterior.links import (
    CAP,
    DRAWS,
    ColumnPosterior,
    Moments,
    column_posterior,
    enumerate_sets,
    one_more,
    size_evidence,
    target_moments,
)
from sphunc.discovery.posterior.prior import (
    SLABS,
    LinkPrior,
    mixture_weights,
    reference_prior,
    share_log_likelihood,
    update,
)
from sphunc.discovery.regression.panel import Panel
from sphunc.discovery.regression.variance import (
    VarianceComponents,
    fit_variance_components,
)

POOLED_TARGETS = 200
"""Targets that suffice to estimate share and size of links."""
BATCH_BYTES = 48_000_000
TREE_BATCH = 160
FEWEST_ROWS = 2
"""Consecutive times at which an agent has to be observed to be explained."""
NEGLIGIBLE = 0.02
"""Sizes of coefficients that are less probable than this are left out."""
MOST_DRAWS = 128_000_000
"""Bytes of structure draws; larger candidate lists are sampled link by link."""
COMPARED_TARGETS = 100
DECISIVE = 2.0
"""Nats by which links have to explain what the mean of the neighbourhood explains, for it to be left out."""
INFLATION_WEIGHT = 30.0
"""Candidates that the model's own standard errors count, when their inflation is estimated."""
LARGEST_INFLATION = 20.0


@dataclass(frozen=True, eq=False)
class Problem:
    """A panel with its candidate links.

    Attributes:
        panel: states.
        candidates: links that may exist.
        lags: lags per candidate.
        own_lags: lags of the target itself.
    """

    panel: Panel
    candidates: CandidateLinks
    lags: int = 1
    own_lags: int = 1

    @property
    def explained(self) -> Int[Tensor, " target"]:
        """Agents with candidates, some variation and enough rows."""
        present = self.panel.present
        rows = (present[:, 1:] & present[:, :-1]).sum(1)
        possible = (self.candidates.counts > 0) & ~self.panel.silent & (rows >= FEWEST_ROWS)
        return possible.nonzero().flatten()


@dataclass(frozen=True, eq=False)
class Settings:
    """What all targets share.

    Attributes:
        components: nuisance coefficients and variances.
        priors: share and size of links, with their weights.
        reference: probability of a link before the data.
        evidence: ``[target]`` log evidence of links against none, per target used.
    """

    components: VarianceComponents
    priors: tuple[tuple[LinkPrior, float], ...]
    reference: float
    evidence: Tensor

    @property
    def tau(self) -> float:
        """Mean size of link coefficients."""
        return sum(prior.tau * weight for prior, weight in self.priors)

    @property
    def share(self) -> float:
        """Mean share of links."""
        return sum(prior.mean * weight for prior, weight in self.priors)


def batches(problem: Problem, targets: Int[Tensor, " target"]) -> list[Int[Tensor, " batch"]]:
    """Targets in batches of similar numbers of candidates that fit the memory budget.

    Args:
        problem: panel and candidates.
        targets: agents to explain.
    """
    _, times, dim = problem.panel.shape
    size = problem.panel.values.element_size()
    slots = BATCH_BYTES // max(times * dim * size * 2 * problem.lags, 1)
    return batches_by_width(problem.candidates.counts, targets, max(slots, 1), TREE_BATCH)


def moments_of(
    problem: Problem, components: VarianceComponents, batch: Tensor, sources: Tensor, position: Tensor
) -> Moments:
    """Cross products of a batch and its candidates.

    Args:
        problem: panel and candidates.
        components: what all agents share.
        batch: targets.
        sources: candidates per target, -1 where padded.
        position: of the candidates in the link list, -1 where padded.
    """
    required = (sources >= 0) & problem.candidates.required[position.clamp(min=0)]
    return target_moments(
        problem.panel, components, batch, sources, required, lags=problem.lags, own_lags=problem.own_lags
    )


def fit_settings(problem: Problem) -> Settings:
    """Estimate variances, the inflation of errors, and the posterior over share and size of links.

    Args:
        problem: panel and candidates.
    """
    targets = problem.explained
    references = references_of(problem)
    components = components_of(problem)
    some = targets[evenly_spaced(len(targets), POOLED_TARGETS, targets.device)]
    inflation = error_inflation(problem, components, some, references[-2])
    return _link_posterior(problem, replace(components, inflation=inflation), some, references)


def references_of(problem: Problem) -> list[LinkPrior]:
    """Priors over the share of links before the data, one per size of coefficients.

    Args:
        problem: panel and candidates.
    """
    counts = problem.candidates.counts[problem.explained].double()
    mean_candidates = float(counts.mean()) * problem.lags
    return [reference_prior(mean_candidates, tau, counts.device) for tau in SLABS]


def components_of(problem: Problem) -> VarianceComponents:
    """Variance components; the mean of the groups stays in unless sparse links explain the same better.

    Args:
        problem: panel and candidates.
    """
    targets = problem.explained
    without, components = fit_variance_components(problem.panel, problem.candidates, targets, problem.own_lags)
    if not problem.panel.has_groups or float(components.spread[-1]) == 0:
        return without
    gain = link_evidence(problem, without) - link_evidence(problem, components)
    if float(gain.sum()) > DECISIVE:
        return without
    return components


def link_evidence(problem: Problem, components: VarianceComponents) -> Tensor:
    """Log evidence of some targets under sparse links, at one size of coefficients and without inflation.

    Args:
        problem: panel and candidates.
        components: what all agents share.
    """
    few = problem.explained[evenly_spaced(len(problem.explained), COMPARED_TARGETS, problem.explained.device)]
    return _link_posterior(problem, components, few, references_of(problem)[-2:-1]).evidence


def _link_posterior(
    problem: Problem, components: VarianceComponents, targets: Tensor, references: list[LinkPrior]
) -> Settings:
    """Posterior over share and size of links, and the evidence of every target."""
    tables: list[list[Tensor]] = [[] for _ in references]
    bases = []
    for batch in batches(problem, targets):
        sources, position = problem.candidates.table(batch)
        moments = moments_of(problem, components, batch, sources, position)
        bases.append(moments.base)
        for table, reference in zip(tables, references, strict=True):
            table.append(_share_likelihood(moments, reference))
    joined = [torch.cat(table) for table in tables]
    updated = [update(reference, table.sum(0)) for reference, table in zip(references, joined, strict=True)]
    weights = mixture_weights([value for _, value in updated])
    heavy = [(prior, w) for (prior, _), w in zip(updated, weights, strict=True) if w > NEGLIGIBLE]
    total = sum(w for _, w in heavy)
    best = max(range(len(weights)), key=lambda k: weights[k])
    evidence = torch.cat(bases) + torch.logsumexp(joined[best] + updated[best][0].weight.log(), 1)
    priors = tuple((prior, w / total) for prior, w in heavy)
    return Settings(components, priors, references[0].mean, evidence)


def _share_likelihood(moments: Moments, reference: LinkPrior) -> Tensor:
    sets = enumerate_sets(moments, reference.tau)
    empty = torch.zeros_like(sets.tree.members[:1]).expand(len(moments.count), -1)
    sizes = size_evidence(sets)
    # What was not enumerated is judged given the set of greatest evidence of one member or none.
    single = one_more(moments, sets, empty, reference.tau)
    outside = torch.where(single.enumerated, -torch.inf, single.log_factor)
    return share_log_likelihood(sizes, moments.usable.sum(1).double(), outside, reference.share)


def error_inflation(
    problem: Problem, components: VarianceComponents, targets: Int[Tensor, " target"], prior: LinkPrior
) -> float:
    """Factor by which squared z-scores of candidates outside the parent sets exceed those of a t distribution.

    An empirical null (Efron 2004): most candidates are no links, so that the median tells how wide the null is.
    At least 1.

    Args:
        problem: panel and candidates.
        components: what all agents share.
        targets: agents to look at.
        prior: share and size of links, to find the parent sets.
    """
    squares = []
    for batch in batches(problem, targets):
        sources, position = problem.candidates.table(batch)
        moments = moments_of(problem, components, batch, sources, position)
        sets = enumerate_sets(moments, prior.tau)
        by_size = prior.log_size_table(moments.usable.sum(1).double(), CAP)
        best = sets.tree.members[(sets.evidence + by_size[:, sets.tree.sizes]).argmax(1)]
        single = one_more(moments, sets, best, prior.tau)
        columns = moments.taken.gather(1, sets.chosen)
        in_best = torch.zeros_like(moments.usable).scatter(1, columns, best > 0)
        degrees = moments.degrees[:, None].expand_as(single.z_score)
        tail = stats.t.sf(single.z_score.abs().cpu().numpy(), degrees.cpu().numpy())
        normal = torch.from_numpy(stats.norm.isf(tail.clip(1e-300, 0.5)))
        usable = (moments.usable & ~in_best).cpu()
        squares.append(normal[usable].square())
    if not squares or not sum(len(part) for part in squares):
        return 1.0
    values = torch.cat(squares)
    ratio = float(values.median()) / float(stats.chi2.median(1))
    shrunk = 1 + (ratio - 1) * len(values) / (len(values) + INFLATION_WEIGHT)
    return min(max(shrunk, 1.0), LARGEST_INFLATION)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Posterior of all links, in the order of the candidate list; targets that are not explained keep the prior.

    Attributes:
        probability: ``[K]``.
        strength: ``[K]`` coefficient given the link, at its most probable lag.
        deviation: ``[K]``.
        lag: ``[K]``.
        entropy: ``[N]`` of the parent sets.
        draws: ``[R, K]`` structures, or None where they would be too many.
    """

    probability: Tensor
    strength: Tensor
    deviation: Tensor
    lag: Tensor
    entropy: Tensor
    draws: Tensor | None


def mixed_posterior(moments: Moments, settings: Settings, generator: torch.Generator | None) -> ColumnPosterior:
    """Posterior of a batch, averaged over the sizes of coefficients.

    Args:
        moments: of B targets.
        settings: what all targets share.
        generator: places the draws; None draws none.
    """
    parts = []
    for prior, weight in settings.priors:
        posterior, _, _ = column_posterior(moments, prior, generator)
        parts.append((posterior, weight))
    probability = sum_weighted([(part.probability, weight) for part, weight in parts])
    tiny = torch.finfo(probability.dtype).tiny
    member = [(part, weight * part.probability / probability.clamp(min=tiny)) for part, weight in parts]
    coefficient = sum_weighted([(part.coefficient, share) for part, share in member])
    squares = sum_weighted([(part.deviation.square() + part.coefficient.square(), share) for part, share in member])
    deviation = (squares - coefficient.square()).clamp(min=0).sqrt()
    probability = probability.clamp(max=1)
    entropy = sum_weighted([(part.entropy, weight) for part, weight in parts])
    heaviest = max(parts, key=lambda pair: pair[1])[0]
    return ColumnPosterior(probability, coefficient, deviation, entropy, heaviest.draws)


def sum_weighted(parts: list[tuple[Tensor, float | Tensor]]) -> Tensor:
    """Sum of tensors times weights.

    Args:
        parts: pairs of a tensor and its weight.
    """
    total = torch.zeros_like(parts[0][0])
    for value, weight in parts:
        total = total + weight * value
    return total


def estimate(problem: Problem, settings: Settings, targets: Tensor, seed: int = 0, *, draw: bool = False) -> Estimate:
    """Posterior of the links into ``targets``.

    Args:
        problem: panel and candidates.
        settings: what all targets share.
        targets: agents to explain; links into others keep the prior.
        seed: of the draws.
        draw: whether to keep structure draws.
    """
    links = problem.candidates.links
    required = problem.candidates.required
    count = links.shape[1]
    zeros = torch.zeros(count, dtype=torch.double, device=links.device)
    probability = torch.where(required, torch.ones_like(zeros), torch.full_like(zeros, settings.reference))
    strength = zeros.clone()
    deviation = torch.full_like(zeros, settings.tau)
    lag = torch.ones(count, dtype=torch.long, device=links.device)
    entropy = torch.full((problem.candidates.num_agents,), torch.inf, dtype=torch.double, device=links.device)
    draws = None
    generator = None
    if draw and DRAWS * count <= MOST_DRAWS:
        draws = torch.zeros(DRAWS, count, dtype=torch.bool, device=links.device)
        draws[:, required] = True
        generator = torch.Generator().manual_seed(seed)
    for batch in batches(problem, targets):
        sources, position = problem.candidates.table(batch)
        moments = moments_of(problem, settings.components, batch, sources, position)
        found = mixed_posterior(moments, settings, generator)
        slots = sources.shape[1]
        by_lag = found.probability.unflatten(1, (problem.lags, slots))
        at = by_lag.argmax(1)
        column = at * slots + torch.arange(slots, device=at.device)
        usable = moments.usable.gather(1, column) & (sources >= 0)
        where = position[usable]
        probability[where] = (1 - (1 - by_lag).prod(1))[usable]
        strength[where] = found.coefficient.gather(1, column)[usable]
        deviation[where] = found.deviation.gather(1, column)[usable]
        lag[where] = at[usable] + 1
        entropy[batch] = found.entropy
        if draws is not None:
            any_lag = found.draws.unflatten(2, (problem.lags, slots)).any(2)
            draws[:, where] = any_lag.transpose(0, 1)[:, usable]
    probability = torch.where(required, torch.ones_like(probability), probability)
    return Estimate(probability, strength, deviation, lag, entropy, draws)


def decoy_probabilities(
    problem: Problem,
    settings: Settings,
    targets: Tensor,
    generator: torch.Generator,
    kind: str,
) -> Iterator[Tensor]:
    """Probabilities of links from sources that cannot influence the target.

    Args:
        problem: panel and candidates.
        settings: what all targets share.
        targets: agents to explain.
        generator: of the random choice.
        kind: "agents" that are no candidates; "innovations", the candidates with their innovations in another order.
    """
    source_panel = problem.panel
    if kind == "innovations":
        inertia = float(settings.components.theta[: problem.own_lags].sum())
        values = shuffled_innovations(problem.panel.values, problem.panel.present, inertia, generator)
        source_panel = replace(problem.panel, values=values)
    for batch in batches(problem, targets):
        sources, _ = problem.candidates.table(batch)
        if kind == "agents":
            sources = _other_agents(problem, batch, sources, generator)
        moments = target_moments(
            problem.panel,
            settings.components,
            batch,
            sources,
            torch.zeros_like(sources, dtype=torch.bool),
            lags=problem.lags,
            own_lags=problem.own_lags,
            source_panel=source_panel,
        )
        found = mixed_posterior(moments, settings, None)
        by_lag = found.probability.unflatten(1, (problem.lags, sources.shape[1]))
        live = moments.usable.unflatten(1, (problem.lags, sources.shape[1])).any(1) & (sources >= 0)
        yield (1 - (1 - by_lag).prod(1))[live]


def shuffled_innovations(
    values: Float[Tensor, "agent time dim"],
    present: Bool[Tensor, "agent time"],
    inertia: float,
    generator: torch.Generator,
) -> Float[Tensor, "agent time dim"]:
    """Paths of the same start and innovations as the observed ones, the innovations in a random order per agent.

    Args:
        values: states.
        present: where an agent was observed; innovations elsewhere are taken as 0.
        inertia: coefficient a of the path, innovations are e_t = h_t - a h_(t-1).
        generator: of the orders.
    """
    both = (present[:, 1:] & present[:, :-1]).unsqueeze(-1)
    innovations = torch.where(both, values[:, 1:] - inertia * values[:, :-1], 0.0)
    order = torch.argsort(torch.rand(innovations.shape[:2], generator=generator), 1).to(values.device)
    innovations = innovations.gather(1, order.unsqueeze(-1).expand_as(innovations))
    path = [values[:, 0]]
    for time in range(innovations.shape[1]):
        path.append(inertia * path[-1] + innovations[:, time])
    return torch.stack(path, 1) * present.unsqueeze(-1)


def _other_agents(problem: Problem, batch: Tensor, sources: Tensor, generator: torch.Generator) -> Tensor:
    """As many agents per target that are neither candidates nor the target itself, -1 where none was found."""
    agents = (~problem.panel.silent).nonzero().flatten()
    drawn = torch.randint(len(agents), sources.shape, generator=generator).to(sources.device)
    other = agents[drawn]
    key = batch[:, None] * problem.candidates.num_agents + other
    known = problem.candidates.links[1] * problem.candidates.num_agents + problem.candidates.links[0]
    repeated = torch.zeros_like(other, dtype=torch.bool)
    ordered, order = other.sort(1)
    same = torch.zeros_like(repeated)
    same[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    repeated.scatter_(1, order, same)
    forbidden = torch.isin(key, known) | (other == batch[:, None]) | repeated | (sources < 0)
    return torch.where(forbidden, -1, other)
