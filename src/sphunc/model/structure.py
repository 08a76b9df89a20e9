r"""Who influences whom: spike and slab over the links, by Gibbs sampling.

.. math:: \beta_{ij} = 0 \;\text{or}\; \pm\lambda_i f_{ij}, \qquad f_{ij} \sim N(\mu, \omega^2)

The raw observations of a target are regressed on what is believed of its sources from their own
data; the target's own path and persistent effect are integrated out by the whitened responses of
:mod:`sphunc.model.kalman`, and what is not known of the sources' states adds to the transition
noise. Share, sign, size and spread of the links are learned by empirical Bayes. George and
McCulloch (1993); Bottolo and Richardson (2010) for the closed-form odds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.model.dynamics import LARGEST_INERTIA, Dynamics, Links, sum_over_sources
from sphunc.model.kalman import kalman_filter, whitened_responses

GRID = (-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0)
"""Log inertia of an agent relative to the common one, over which it is integrated."""
INERTIA_SPREAD = 0.45
"""Prior deviation of that log inertia."""
MOST_PARENTS = 30
"""Candidates of a target that a ridge regression passes on to the sampler."""
SCREENING_RIDGE = 10.0
STANDARD_ERRORS = 4.0
"""At which a link among many candidates is seen."""
CHUNK = 2**20
"""Numbers held at once while normal equations are made: 8 MB."""
NARROWEST = 0.3
WIDEST = 0.5
"""Bounds of the spread of forces relative to their size: a wider slab is no link at all."""
FEWEST_FOR_COMMON_SHOCKS = 20
BLEND = 0.1
"""Share of a sweep's estimate in the running empirical Bayes estimates."""


@dataclass(frozen=True)
class LinkPrior:
    """Spike-and-slab prior of the links, learned by empirical Bayes.

    Attributes:
        share: of candidates that are links.
        positive: share of links that attract.
        size: mu, mean force of a link in units of inertia.
        spread: omega, its deviation.
        group_force: p, the force of groups.
    """

    share: float = 0.1
    positive: float = 0.7
    size: float = 2.0
    spread: float = 1.0
    group_force: float = 2.0


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Sufficient statistics of every target for each inertia of a grid; the last regressor is the
    group message.

    Attributes:
        grid: log-spaced inertia values ``[G]``.
        gram: ``[G, N, J + 1, J + 1]``.
        moment: ``[G, N, J + 1]``.
        level: log-likelihood without any control input ``[G, N]``.
    """

    grid: Float[Tensor, " grid"]
    gram: Float[Tensor, "grid agent regressor regressor2"]
    moment: Float[Tensor, "grid agent regressor"]
    level: Float[Tensor, "grid agent"]


@dataclass(frozen=True, eq=False)
class StructurePosterior:
    """Posterior of links and inertia.

    Attributes:
        links: with posterior moments, over all candidates.
        inertia: geometric posterior mean of each agent ``[N]``.
        prior: as learned.
        slots: candidates that were sampled ``[N, j]``.
        draws: coefficients of sampled structures ``[S, N, j]``.
        detectable: size of a coefficient that these data can show.
        diagnostics: checks of the links by name.
    """

    links: Links
    inertia: Float[Tensor, " agent"]
    prior: LinkPrior
    slots: Int[Tensor, "agent parent"]
    draws: Float[Tensor, "sample agent parent"]
    detectable: float = math.inf
    diagnostics: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class ChainData:
    """What structure learning reads; all at the padded times.

    Attributes:
        observation: z ``[T, N, K]``.
        precision: of z, 0 where nothing was observed ``[T, N, K]``.
        states: believed mean of every source's state, from its own data ``[T, S, K]``; agents
            first, then others that may act on them.
        variance: of that belief ``[T, S, K]``.
        messages: group messages of these states ``[T, N, K]``.
    """

    observation: Float[Tensor, "time agent axis"]
    precision: Float[Tensor, "time agent axis"]
    states: Float[Tensor, "time source axis"]
    variance: Float[Tensor, "time source axis"]
    messages: Float[Tensor, "time agent axis"]


def without_common_shocks(data: ChainData) -> ChainData:
    """Take out what moves all agents alike from one time to the next: it would pass for influence.

    The mean over agents loses its changes over time; its level stays. Fewer agents than
    :data:`FEWEST_FOR_COMMON_SHOCKS` are left alone: their mean is mostly each agent itself.

    Args:
        data: observations, states and messages.
    """
    if data.observation.shape[1] < FEWEST_FOR_COMMON_SHOCKS:
        return data
    observed = (data.precision > 0).to(data.observation)
    everywhere = torch.ones_like(observed)
    return replace(
        data,
        observation=_without_common_change(data.observation, observed),
        states=_without_common_change(data.states, torch.ones_like(data.states)),
        messages=_without_common_change(data.messages, everywhere),
    )


def _without_common_change(
    values: Float[Tensor, "time agent axis"], weight: Float[Tensor, "time agent axis"]
) -> Float[Tensor, "time agent axis"]:
    count = weight.sum(1, keepdim=True)
    mean = (weight * values).sum(1, keepdim=True) / count.clamp(min=1.0)
    is_known = (count > 0).to(values)
    level = (is_known * mean).sum(0, keepdim=True) / is_known.sum(0, keepdim=True).clamp(min=1.0)
    return values - is_known * (mean - level)


def source_variance(links: Links, variance: Float[Tensor, "time source axis"]) -> Float[Tensor, "time agent axis"]:
    """Variance that not knowing the sources' states adds to a transition, :math:`\\sum_j
    E[\\beta_{ij}^2] S_j`.

    Args:
        links: with the second moments of their coefficients.
        variance: S, of the believed states.
    """
    return sum_over_sources(links.matrix(links.square, variance.shape[1]), variance)


def learn_structure(
    dynamics: Dynamics,
    links: Links,
    data: ChainData,
    prior: LinkPrior,
    *,
    sweeps: int,
    burn_in: int,
    chains: int,
    seed: int,
    required: Bool[Tensor, "agent candidate"] | None = None,
    keep: int = 0,
    adapts: bool = True,
) -> StructurePosterior:
    """Sample links, coefficients and inertia of all targets.

    Args:
        dynamics: variances, and the inertia around which the grid is laid.
        links: candidates, with the moments of the round before.
        data: observations and beliefs.
        prior: to start from.
        sweeps: of the Gibbs sampler.
        burn_in: sweeps that are not counted.
        chains: run in parallel.
        seed: of the sampler.
        required: candidates that are links for certain.
        keep: structures to keep, evenly spaced over sweeps and chains.
        adapts: learn share, sign, size and spread of the links; False leaves the prior as it is.
    """
    extra = source_variance(links, data.variance)
    centre = float(dynamics.inertia.log().mean())
    grid = (centre + torch.tensor(GRID)).exp().clamp(max=LARGEST_INERTIA).to(data.observation)
    middle = grid[len(GRID) // 2 : len(GRID) // 2 + 1]
    screened = normal_equations(dynamics, middle, links.source, data, extra)
    slots = _screen(screened, links, required)
    source = links.source.gather(1, slots)
    equations = normal_equations(dynamics, grid, source, data, extra)
    few = replace(
        links,
        source=source,
        is_candidate=links.is_candidate.gather(1, slots),
        probability=links.probability.gather(1, slots),
        mean=links.mean.gather(1, slots),
        square=links.square.gather(1, slots),
    )
    must = None if required is None else required.gather(1, slots)
    sampler = _Gibbs(equations, few, prior, centre, chains, seed, must)
    for sweep in range(sweeps):
        sampler.sweep(is_counted=sweep >= burn_in, adapts=adapts and sweep >= min(10, burn_in))
        sampler.keep_draws(sweep - burn_in, sweeps - burn_in, keep)
    found, inertia = sampler.posterior()
    empty = torch.zeros_like(links.mean)
    spread = replace(
        links,
        probability=empty.scatter(1, slots, found.probability),
        mean=empty.scatter(1, slots, found.mean),
        square=empty.scatter(1, slots, found.square),
    )
    least = detectable_coefficient(screened, links)
    return StructurePosterior(spread, inertia, sampler.prior, slots, sampler.kept_draws(), least)


def detectable_coefficient(equations: NormalEquations, links: Links) -> float:
    """Coefficient of four standard errors of a typical candidate, the group message taken out.

    Args:
        equations: of all candidates at one inertia.
        links: candidates.
    """
    gram = equations.gram[0]
    along = gram[:, :-1, -1].square() / gram[:, -1:, -1].clamp(min=1e-12)
    information = (gram.diagonal(dim1=1, dim2=2)[:, :-1] - along)[links.is_candidate]
    if not len(information):
        return math.inf
    return STANDARD_ERRORS / math.sqrt(max(float(information.median()), 1e-12))


def normal_equations(
    dynamics: Dynamics,
    grid: Float[Tensor, " grid"],
    source: Int[Tensor, "agent candidate"],
    data: ChainData,
    extra: Float[Tensor, "time agent axis"],
) -> NormalEquations:
    """Gram matrices and moments of every target, with its own path and persistent effect integrated
    out.

    Args:
        dynamics: variances of the chains.
        grid: inertia values.
        source: candidates of every target.
        data: observations and beliefs.
        extra: variance added to the transitions.
    """
    times, agents, axes = data.observation.shape
    regressors = source.shape[1] + 1
    size = max(1, CHUNK // (times * axes * regressors))
    gram = extra.new_zeros(len(grid), agents, regressors, regressors)
    moment = extra.new_zeros(len(grid), agents, regressors)
    level = extra.new_zeros(len(grid), agents)
    nothing = torch.zeros_like(data.observation)
    for g, inertia in enumerate(grid):
        everywhere = replace(dynamics, inertia=inertia.expand(agents))
        for part in torch.arange(agents, device=source.device).split(size):
            chain = replace(everywhere, inertia=everywhere.inertia[part]).chains(extra[:, part])
            filtered = kalman_filter(chain, data.observation[:, part], data.precision[:, part], nothing[:, part])
            controls = torch.cat(
                [
                    data.states[:, source[part]].permute(0, 1, 3, 2),
                    data.messages[:, part].unsqueeze(-1),
                ],
                -1,
            )
            phi = whitened_responses(chain.inertia, filtered, controls)
            flat = phi.permute(1, 0, 2, 3).flatten(1, 2)
            residual = (filtered.innovation * filtered.precision.sqrt()).permute(1, 0, 2).flatten(1)
            gram[g, part] = flat.mT @ flat
            moment[g, part] = (flat.mT @ residual.unsqueeze(-1)).squeeze(-1)
            level[g, part] = filtered.log_likelihood.sum(-1)
    return NormalEquations(grid, gram, moment, level)


def _screen(
    equations: NormalEquations, links: Links, required: Bool[Tensor, "agent candidate"] | None
) -> Int[Tensor, "agent parent"]:
    """Slots of the candidates with the largest scores in a ridge regression on all of them."""
    gram = equations.gram[0]
    ridge = torch.full_like(equations.moment[0], SCREENING_RIDGE)
    inverse = torch.linalg.inv(gram + torch.diag_embed(ridge))
    fitted = (inverse @ equations.moment[0].unsqueeze(-1)).squeeze(-1)
    score = fitted.square() / inverse.diagonal(dim1=1, dim2=2)
    score = torch.where(links.is_candidate, score[:, :-1], -1.0)
    if required is not None:
        score = torch.where(required, torch.inf, score)
    return score.topk(min(MOST_PARENTS, score.shape[1]), 1).indices


class _Gibbs:
    """State of the sampler: R chains over N targets with J candidates each."""

    def __init__(
        self,
        equations: NormalEquations,
        links: Links,
        prior: LinkPrior,
        centre: float,
        chains: int,
        seed: int,
        required: Bool[Tensor, "agent parent"] | None,
    ) -> None:
        self.equations = equations
        self.links = links
        self.prior = prior
        self.centre = centre
        self.required = required
        self.generator = torch.Generator(device=links.mean.device).manual_seed(seed)
        self.parents = links.mean.shape[1]
        agents = len(links.mean)
        self.agents = torch.arange(agents, device=links.mean.device).expand(chains, -1)
        place = len(equations.grid) // 2
        self.place = torch.full((chains, agents), place, device=links.mean.device)
        self.force = torch.full((chains, 1), prior.group_force).to(links.mean)
        own = equations.grid[self.place]
        self.beta = torch.cat([links.mean.expand(chains, -1, -1), (self.force * own).unsqueeze(-1)], 2)
        self.sign = torch.sign(self.beta[..., : self.parents])
        self.count = 0
        self.sum_probability = torch.zeros_like(links.mean)
        self.sum_mean = torch.zeros_like(links.mean)
        self.sum_square = torch.zeros_like(links.mean)
        self.sum_log_inertia = torch.zeros_like(links.mean[:, 0])
        self.sum_force = 0.0
        self.draws: list[Tensor] = []

    def _uniform(self, shape: torch.Size) -> Tensor:
        return torch.rand(shape, generator=self.generator, dtype=torch.float64, device=self.generator.device)

    def _normal(self, shape: torch.Size) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64, device=self.generator.device)

    def sweep(self, *, is_counted: bool, adapts: bool) -> None:
        """Draw inertia, group force and every link in turn."""
        self._draw_inertia()
        inertia = self.equations.grid[self.place]
        gram = self.equations.gram[self.place, self.agents]
        moment = self.equations.moment[self.place, self.agents]
        fitted = (gram @ self.beta.unsqueeze(-1)).squeeze(-1)
        self._draw_group_force(inertia, gram, moment, fitted)
        for slot in range(self.parents):
            self._draw_link(slot, inertia, gram, moment, fitted, is_counted)
        if is_counted:
            self.count += 1
            self.sum_log_inertia += inertia.log().mean(0)
            self.sum_force += float(self.force.mean())
        if adapts:
            self._adapt(inertia)

    def _draw_inertia(self) -> None:
        grid = self.equations.grid
        if len(grid) == 1:
            return
        last = self.parents
        beta = self.beta[..., :last]
        gram = self.equations.gram
        moment = self.equations.moment
        by_force = self.force.unsqueeze(-1) * grid
        fit = torch.einsum("rnj,gnj->rng", beta, moment[..., :last]) + self.equations.level.T
        quadratic = (torch.einsum("gnij,rnj->grni", gram[..., :last, :last], beta) * beta).sum(-1)
        fit = fit - 0.5 * quadratic.permute(1, 2, 0)
        cross = torch.einsum("rnj,gnj->rng", beta, gram[:, :, last, :last])
        fit = fit + by_force * (moment[..., last].T - cross)
        fit = fit - 0.5 * by_force.square() * gram[:, :, last, last].T
        # Prior of the coefficients given the inertia: forces are counted in its unit.
        active = self.sign.abs().sum(2, keepdim=True)
        first = (self.sign * beta).sum(2, keepdim=True)
        second = beta.square().sum(2, keepdim=True)
        size = self.prior.size
        squared = second / grid.square() - 2 * size * first / grid + active * size**2
        log_prior = -0.5 * squared / self.prior.spread**2 - active * grid.log()
        log_prior = log_prior - 0.5 * ((grid.log() - self.centre) / INERTIA_SPREAD).square()
        gumbel = -torch.log(-torch.log(self._uniform(fit.shape)))
        self.place = (fit + log_prior + gumbel).argmax(2)

    def _draw_group_force(self, inertia: Tensor, gram: Tensor, moment: Tensor, fitted: Tensor) -> None:
        last = self.parents
        diagonal = gram[..., last, last]
        rest = moment[..., last] - fitted[..., last] + self.beta[..., last] * diagonal
        information = (inertia.square() * diagonal).sum(1, keepdim=True)
        variance = 1.0 / (information + 1e-2)
        mean = variance * (inertia * rest).sum(1, keepdim=True)
        self.force = mean + self._normal(variance.shape) * variance.sqrt()
        change = self.force * inertia - self.beta[..., last]
        fitted += change.unsqueeze(-1) * gram[:, :, last]
        self.beta[..., last] = self.force * inertia

    def _draw_link(
        self, slot: int, inertia: Tensor, gram: Tensor, moment: Tensor, fitted: Tensor, is_counted: bool
    ) -> None:
        old = self.beta[..., slot]
        diagonal = gram[..., slot, slot]
        rest = moment[..., slot] - fitted[..., slot] + old * diagonal
        size = self.prior.size * inertia
        variance = (self.prior.spread * inertia).square()
        posterior = 1.0 / (diagonal + 1.0 / variance)
        up = posterior * (rest + size / variance)
        down = posterior * (rest - size / variance)
        common = -0.5 * size.square() / variance + 0.5 * torch.log(posterior / variance)
        odds = math.log(self.prior.share / (1 - self.prior.share))
        attract = odds + math.log(self.prior.positive) + 0.5 * up.square() / posterior + common
        repel = odds + math.log(1 - self.prior.positive) + 0.5 * down.square() / posterior + common
        none = torch.zeros_like(up)
        if self.required is not None:
            none = torch.where(self.required[:, slot], -torch.inf, none)
        p = torch.softmax(torch.stack([none, attract, repel]), 0) * self.links.is_candidate[:, slot]
        u = self._uniform(old.shape)
        attracts = u < p[1]
        repels = ~attracts & (u < p[1] + p[2])
        sign = attracts.double() - repels.double()
        centre = torch.where(attracts, up, down)
        new = sign.abs() * (centre + self._normal(old.shape) * posterior.sqrt())
        fitted += (new - old).unsqueeze(-1) * gram[:, :, slot]
        self.beta[..., slot] = new
        self.sign[..., slot] = sign
        if is_counted:
            self.sum_probability[:, slot] += (p[1] + p[2]).mean(0)
            self.sum_mean[:, slot] += (p[1] * up + p[2] * down).mean(0)
            squares = p[1] * (up.square() + posterior) + p[2] * (down.square() + posterior)
            self.sum_square[:, slot] += squares.mean(0)

    def _adapt(self, inertia: Tensor) -> None:
        """Empirical Bayes: how many links there are, how strong, how different, of which sign."""
        active = self.sign.abs()
        force = self.sign * self.beta[..., : self.parents] / inertia.unsqueeze(-1)
        count = float(active.sum()) + 1.0
        mean = (float(force.sum()) + self.prior.size) / count
        mean = max(mean, 1e-3)
        deviation = math.sqrt(float(((force - mean).square() * active).sum()) / count)
        spread = min(max(NARROWEST * mean, deviation), WIDEST * mean)
        candidates = float(self.links.is_candidate.sum()) * len(self.sign)
        share = min(0.5, count / (candidates + 1.0))
        positive = (float((self.sign > 0).sum()) + 0.7) / count
        self.prior = LinkPrior(
            share=(1 - BLEND) * self.prior.share + BLEND * share,
            positive=min(0.98, (1 - BLEND) * self.prior.positive + BLEND * min(positive, 1.0)),
            size=(1 - BLEND) * self.prior.size + BLEND * mean,
            spread=(1 - BLEND) * self.prior.spread + BLEND * spread,
            group_force=self.prior.group_force,
        )

    def keep_draws(self, number: int, total: int, keep: int) -> None:
        """Keep the structures of a sweep where it is one of those to keep."""
        chains = len(self.beta)
        wanted = -(-keep // chains)
        if number < 0 or not wanted:
            return
        every = max(1, total // wanted)
        if number % every == every - 1 and len(self.draws) < wanted:
            self.draws.append(self.beta[..., : self.parents].float().clone())

    def kept_draws(self) -> Float[Tensor, "sample agent parent"]:
        """Structures that were kept; none is an empty tensor."""
        if not self.draws:
            return self.beta.new_zeros(0, self.beta.shape[1], self.parents)
        return torch.cat(self.draws)

    def posterior(self) -> tuple[Links, Float[Tensor, " agent"]]:
        """Posterior moments of the links, and the inertia of every agent."""
        count = max(1, self.count)
        links = replace(
            self.links,
            probability=self.sum_probability / count,
            mean=self.sum_mean / count,
            square=self.sum_square / count,
        )
        self.prior = replace(self.prior, group_force=self.sum_force / count)
        return links, (self.sum_log_inertia / count).exp()
