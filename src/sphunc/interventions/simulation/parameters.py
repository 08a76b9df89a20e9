"""Structures and coefficients drawn from their posteriors, one set for each structure of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._subsets import evenly_spaced
from sphunc._typing import Float, Int, Tensor
from sphunc.interventions.simulation.origin import Origin
from sphunc.interventions.simulation.population import sparse_matrix
from sphunc.model import BaseRegression


@dataclass(frozen=True, eq=False)
class ParameterDraws:
    """Q draws of what is not known of the model.

    Attributes:
        source: agent that acts, of each sampled link ``[E]``.
        target: agent that is acted on ``[E]``.
        candidate: position of the link among the candidates ``[E]``.
        strength: coefficient beta, 0 where a structure has no such link ``[Q, E]``.
        coefficients: B of the base, intercept last ``[Q, D + 1, C]``.
    """

    source: Int[Tensor, " link"]
    target: Int[Tensor, " link"]
    candidate: Int[Tensor, " link"]
    strength: Float[Tensor, "structure link"]
    coefficients: Float[Tensor, "structure column output"]

    def link_matrix(
        self,
        structures: Int[Tensor, " kept"],
        agents: int,
        factor: Float[Tensor, " candidate"] | None = None,
        number: Int[Tensor, " agent"] | None = None,
    ) -> Tensor:
        """Links of several structures as one sparse matrix ``[kept * N, kept * N]``, one diagonal block for each.

        Args:
            structures: indices of the structures.
            agents: N.
            factor: by which the coefficient of every candidate is multiplied; None leaves them.
            number: of each agent among those between whom links are wanted, -1 for the others; None takes all.
        """
        strength = self.strength[structures]
        source = self.source
        target = self.target
        if factor is not None:
            strength = strength * factor[self.candidate].to(strength)
        if number is not None:
            source = number[source]
            target = number[target]
            strength = strength * ((source >= 0) & (target >= 0))
            agents = int((number >= 0).sum())
        block, link = strength.nonzero(as_tuple=True)
        offset = block * agents
        size = len(structures) * agents
        return sparse_matrix(offset + target[link], offset + source[link], strength[block, link], (size, size))


def draw_parameters(origin: Origin, structures: int, seed: int, dtype: torch.dtype) -> ParameterDraws:
    """Draw structures evenly from those that the sampler kept, and coefficients from their Laplace posterior.

    Args:
        origin: with the model.
        structures: Q.
        seed: of the coefficients.
        dtype: of the result.
    """
    generator = torch.Generator().manual_seed(seed)
    coefficients = draw_coefficients(origin.model.one_step.base, structures, generator)
    states = origin.states
    if states is None or states.structure is None or not len(states.structure.draws):
        none = torch.zeros(0, dtype=torch.long)
        return ParameterDraws(none, none, none, torch.zeros(structures, 0, dtype=dtype), coefficients.to(dtype))
    posterior = states.structure
    place = origin.place
    if place is None:
        place = torch.arange(origin.num_agents)

    # Slots of the learned agents become links between the agents at hand.
    learned = posterior.links
    now = torch.full((len(learned.source),), -1, device=place.device)
    now[place[place >= 0]] = (place >= 0).nonzero().flatten()
    rows = place.clamp(min=0)
    source = now[learned.source.gather(1, posterior.slots)[rows]]
    there = learned.is_candidate.gather(1, posterior.slots)[rows] & (place >= 0).unsqueeze(1) & (source >= 0)
    target, slot = there.nonzero(as_tuple=True)
    sources = source[target, slot]

    kept = len(posterior.draws)
    chosen = torch.arange(structures) % kept
    if structures <= kept:
        chosen = evenly_spaced(kept, structures)
    strength = posterior.draws[chosen][:, rows[target], slot].to(dtype)
    ever = strength.ne(0).any(0)
    candidate = _positions(origin.candidates, sources[ever], target[ever], origin.num_agents)
    return ParameterDraws(sources[ever], target[ever], candidate, strength[:, ever], coefficients.to(dtype))


def _positions(
    candidates: Int[Tensor, "2 candidate"], source: Int[Tensor, " link"], target: Int[Tensor, " link"], agents: int
) -> Int[Tensor, " link"]:
    """Position of links among the candidates, which are sorted by target."""
    known = candidates[1] * agents + candidates[0]
    order = known.argsort()
    place = torch.searchsorted(known[order], target * agents + source)
    return order[place]


def draw_coefficients(
    base: BaseRegression, count: int, generator: torch.Generator
) -> Float[Tensor, "structure column output"]:
    """Draw coefficients of the base from its Laplace posterior, each output by itself.

    Args:
        base: fitted.
        count: Q.
        generator: of the draws.
    """
    columns, outputs = base.coefficients.shape
    factor = torch.linalg.cholesky(base.covariance)
    normal = torch.randn((count, outputs, columns), generator=generator, dtype=torch.float64).to(factor)
    deviation = torch.einsum("cde,qce->qdc", factor.expand(outputs, columns, columns), normal)
    if base.is_numeric:
        # The covariance of numbers is in units of the noise, whose typical level the intercept has.
        deviation = deviation * (0.5 * base.log_variance[-1]).exp()
    return base.coefficients + deviation
