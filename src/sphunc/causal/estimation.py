"""From a prepared panel to the posterior of every link: lags, shared variances, then batches of targets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from sphunc.causal.candidates import CandidateLinks, batches_by_width
from sphunc.causal.evidence import prior_entropy, prior_probability, slab_scale
from sphunc.causal.gram import Columns, design
from sphunc.causal.panel import Panel
from sphunc.causal.posterior import CAP, DRAWS, Hyper, TargetPosterior, target_posterior
from sphunc.causal.random_effect import variance_components
from sphunc.causal.two_groups import fit_two_groups, unshrunk

POOLED_TARGETS = 400  # targets that suffice to estimate what all share
FEWEST_TARGETS = 40
# Cubes of the numbers of candidates, summed over the targets whose eigenvalues are taken: beyond it, fewer targets do.
POOLED_WORK = 2**28
TREE_BATCH = 192
CHUNK_BYTES = 96e6


@dataclass(frozen=True, eq=False)
class Problem:
    """A panel with its candidate links; agents marked silent say nothing and are not explained."""

    panel: Panel
    candidates: CandidateLinks
    silent: Tensor

    @property
    def explained(self) -> Tensor:
        """Agents with candidates, enough rows and some variation."""
        rows = (self.panel.present[:, 1:] & self.panel.present[:, :-1]).sum(1)
        return ((self.candidates.counts > 0) & ~self.silent & (rows >= 2)).nonzero().flatten()


@dataclass(frozen=True, eq=False)
class Estimate:
    """Posterior of all links, in the order of the candidate list; unexplained targets keep their prior."""

    probability: Tensor
    strength: Tensor
    deviation: Tensor
    lag: Tensor
    best: Tensor
    bits: Tensor
    entropy: Tensor
    prior_entropy: Tensor
    best_mass: Tensor
    screened_out: Tensor
    evidence: Tensor
    draws: Tensor
    noise: Tensor
    initial: Tensor


def batches(problem: Problem, targets: Tensor, lags: int) -> Iterator[Tensor]:
    """Targets in batches of similar candidate counts, as many as the memory budget takes."""
    _, times, dim = problem.panel.shape
    slots = CHUNK_BYTES / (times * dim * problem.panel.values.element_size() * 3 * lags)
    counts = torch.zeros_like(problem.candidates.counts)
    counts[targets] = problem.candidates.counts[targets]
    for batch in batches_by_width(counts, max(int(slots), 1)):
        yield from batch.split(TREE_BATCH)


def spread_targets(problem: Problem, count: int) -> Tensor:
    """At most ``count`` explained agents, evenly spaced."""
    agents = problem.explained
    return agents[_evenly(len(agents), count, agents.device)]


def affordable(problem: Problem, targets: Tensor, lags: int) -> Tensor:
    """Targets for what costs the cube of their candidates: all, or as many as the budget takes, evenly spaced."""
    cube = float((problem.candidates.counts[targets].double() * lags).pow(3).mean()) if len(targets) else 0.0
    count = max(FEWEST_TARGETS, int(POOLED_WORK / max(cube, 1.0)))
    return targets[_evenly(len(targets), count, targets.device)]


def _evenly(count: int, most: int, device: torch.device) -> Tensor:
    """At most ``most`` of ``count`` positions, evenly spaced."""
    if count <= most:
        return torch.arange(count, device=device)
    return torch.linspace(0, count - 1, most, device=device).round().long()


def columns_of(problem: Problem, targets: Tensor, lags: int, own_lags: int | None = None) -> Columns:
    """Design of the targets."""
    sources, _ = problem.candidates.table(targets)
    return design(problem.panel, targets, sources, lags, own_lags=own_lags)


def hyper_parameters(
    problem: Problem,
    lags: int,
    min_effect: float,
    phi: float | None = None,
    *,
    targets: Tensor | None = None,
    own_lags: int | None = None,
    learn: bool = True,
    seed: int = 0,
) -> Hyper:
    """Estimate the bias ratio and the size of effects on a spread of targets.

    The restricted likelihood gives both under one ridge; an EM step then fits the slab to the probable links, and the
    two groups are fitted to the estimates under it.
    """
    panel = problem.panel
    targets = spread_targets(problem, POOLED_TARGETS) if targets is None else targets
    some = affordable(problem, targets, lags)
    parts = [columns_of(problem, batch, lags, own_lags) for batch in batches(problem, some, lags)]
    found = variance_components(parts, panel.effective, panel.shape[2])
    count = float(problem.candidates.counts[targets].double().mean()) if len(targets) else 1.0
    floor = max(2 * min_effect, 1e-3)
    hyper = Hyper(
        lags=lags,
        phi=found.phi if phi is None else phi,
        tau=max(slab_scale(found.effect, count * lags), floor),
        min_effect=min_effect,
        effective=panel.effective,
        dim=panel.shape[2],
    )
    result = estimate(problem, hyper, targets=targets, own_lags=own_lags, seed=seed)
    hyper = replace(hyper, tau=max(_slab(result, problem, targets), floor))
    if not learn:
        return hyper
    result = estimate(problem, hyper, targets=targets, own_lags=own_lags, seed=seed)
    return learn_groups(problem, hyper, result, targets)


def learn_groups(problem: Problem, hyper: Hyper, result: Estimate, targets: Tensor) -> Hyper:
    """Read share, sign and size of links off the estimates for the targets."""
    mine = torch.isin(problem.candidates.links[1], targets) & ~problem.silent[problem.candidates.links[0]]
    value, error = unshrunk(result.strength[mine], result.deviation[mine], hyper.tau)
    share = float(prior_probability(problem.candidates.counts.double())[problem.candidates.links[1][mine]].mean())
    groups = fit_two_groups(value, error, hyper.min_effect, share)
    return replace(hyper, groups=groups, prior_share=share)


def _slab(result: Estimate, problem: Problem, targets: Tensor) -> float:
    mine = torch.isin(problem.candidates.links[1], targets)
    weight = result.probability[mine]
    square = result.strength[mine].square() + result.deviation[mine].square()
    return math.sqrt(float((weight * square).sum() / weight.sum().clamp(min=1e-12)))


def estimate(
    problem: Problem,
    hyper: Hyper,
    *,
    targets: Tensor | None = None,
    own_lags: int | None = None,
    source_times: Tensor | None = None,
    seed: int = 0,
) -> Estimate:
    """Posterior of the links into ``targets`` (all explained agents when None)."""
    targets = problem.explained if targets is None else targets
    generator = torch.Generator().manual_seed(seed)
    result = _prior_estimate(problem, hyper)
    for batch in batches(problem, targets, hyper.lags):
        sources, position = problem.candidates.table(batch)
        columns = design(problem.panel, batch, sources, hyper.lags, own_lags=own_lags, source_times=source_times)
        audible = (sources >= 0) & ~problem.silent[sources.clamp(min=0)]
        required = (sources >= 0) & problem.candidates.required[position.clamp(min=0)]
        part = target_posterior(columns, audible | required, required, hyper, generator)
        _store(result, part, batch, position, audible | required)
    return result


def _prior_estimate(problem: Problem, hyper: Hyper) -> Estimate:
    links, device = problem.candidates.links, problem.candidates.links.device
    agents, count = problem.candidates.num_agents, links.shape[1]
    widths = problem.candidates.counts
    prior = prior_probability(widths.double())[links[1]]
    zeros = torch.zeros(count, dtype=torch.double, device=device)
    per_agent = torch.zeros(agents, dtype=torch.double, device=device)
    start = prior_entropy(widths, CAP)
    return Estimate(
        probability=torch.where(problem.candidates.required, torch.ones_like(prior), prior),
        strength=zeros,
        deviation=torch.full_like(zeros, hyper.tau),
        lag=torch.ones(count, dtype=torch.long, device=device),
        best=problem.candidates.required.clone(),
        bits=torch.full((count, hyper.lags), -1, dtype=torch.int8, device=device),
        entropy=start.clone(),
        prior_entropy=start,
        best_mass=per_agent.clone(),
        screened_out=per_agent.clone(),
        evidence=per_agent.clone(),
        draws=torch.zeros(agents, DRAWS, dtype=torch.int32, device=device),
        noise=torch.full_like(per_agent, torch.nan),
        initial=torch.zeros_like(problem.candidates.required),
    )


def _store(result: Estimate, part: TargetPosterior, batch: Tensor, position: Tensor, used: Tensor) -> None:
    """Write a batch into the preallocated tensors of ``result``."""
    where = position[used]
    for name in ("probability", "strength", "deviation", "lag", "best", "initial"):
        getattr(result, name)[where] = getattr(part, name)[used]
    result.bits[where] = part.bit[used].to(torch.int8)
    for field in fields(part):
        if field.name in ("entropy", "best_mass", "screened_out", "evidence", "draws", "noise"):
            getattr(result, field.name)[batch] = getattr(part, field.name)
