"""Directions that a simulation is carried on: those that every question needs first, then what one question adds.

The first ones do not depend on the question, and neither does the noise on them: the same agent meets the same chance
whatever is asked, and what an intervention does not reach stays as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.action import Action
from sphunc.causal.design import Start
from sphunc.causal.mechanism import Mechanism

SIGNAL_KEPT = 0.99
"""Share of the squared length of beliefs and priors that a basis has to hold."""
WORTHWHILE = 0.6
"""A basis of more than this share of all directions saves nothing: then all are taken."""
NEGLIGIBLE = 1e-6
"""Of the largest singular value: directions below it repeat others."""
FAITHFUL = 1e-4
"""Length of a unit direction that a basis may miss: so small a departure of a state is not followed either."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal directions.

    Attributes:
        vectors: V ``[D, r]``.
        shared: how many of them, the first ones, are those of every question.
    """

    vectors: Tensor
    shared: int


def basis_for(mechanism: Mechanism, start: Start, *actions: Action) -> Basis | None:
    """Return the basis on which actions are simulated, one for all that are compared; None for all D directions.

    Args:
        mechanism: structural step and readout.
        start: beliefs at the origin.
        actions: whose directions are held; their order does not matter.
    """
    if not mechanism.spherical or any(action.policies for action in actions):
        return None
    mean = start.eta * mechanism.mean_length(start.eta.norm(dim=-1, keepdim=True))
    shared = signal_basis(mechanism.dim, mechanism.weight, [mean, start.prior, mean @ mechanism.mapping.mT])
    if shared is None:
        return None
    changes = sorted((change.agent, change.direction.tolist()) for action in actions for change in action.states)
    vectors = extended(shared, [torch.tensor(direction, dtype=torch.float64) for _, direction in changes])
    return Basis(vectors, shared.shape[1]) if is_worthwhile(vectors.shape[1], mechanism.dim) else None


def is_worthwhile(rank: int, dim: int) -> bool:
    """Say whether so many of all directions save work."""
    return rank <= math.floor(WORTHWHILE * dim)


def extended(basis: Float[Tensor, "dim rank"], directions: list[Tensor]) -> Float[Tensor, "dim more"]:
    """Append what a basis misses of unit directions, one after the other; its own columns stay as they are."""
    vectors = basis.double()
    for direction in directions:
        missed = direction - vectors @ (vectors.mT @ direction)
        missed = missed - vectors @ (vectors.mT @ missed)
        if float(missed.norm()) > FAITHFUL:
            vectors = torch.cat([vectors, (missed / missed.norm()).unsqueeze(1)], 1)
    return torch.cat([basis, vectors[:, basis.shape[1] :].to(basis.dtype)], 1)


def signal_basis(
    dim: int, exact: Float[Tensor, "one dim"], signals: list[Tensor], share: float = SIGNAL_KEPT
) -> Float[Tensor, "dim rank"] | None:
    """Orthonormal basis that holds some directions exactly and most of the signals; None if that takes nearly all.

    Args:
        dim: D.
        exact: directions that have to be held, those of the readout ``[E, D]``.
        signals: beliefs, priors and what becomes of them, each ``[N, D]``.
        share: of the squared length of each signal that has to be held.
    """
    first = torch.linalg.svd(exact.double().mT, full_matrices=False)
    held = first.U[:, NEGLIGIBLE * float(first.S.max()) < first.S]
    grams = [_gram(signal.double()) for signal in signals]
    rest = sum(grams, torch.zeros(dim, dim, dtype=torch.float64))
    away = torch.eye(dim, dtype=torch.float64) - held @ held.mT
    values, vectors = torch.linalg.eigh(away @ rest @ away)
    values, vectors = values.flip(0).clamp(min=0), vectors.flip(1)
    lost = float(values.sum()) - values.cumsum(0)
    room = dim - held.shape[1]
    extra = min(room, int((lost > (1.0 - share) * len(grams)).sum()) + 1) if float(values.sum()) > 0 else 0
    rank = held.shape[1] + extra
    if not is_worthwhile(rank, dim):
        return None
    return torch.cat([held, vectors[:, :extra]], 1).float()


def _gram(signal: Tensor) -> Tensor:
    gram = signal.mT @ signal
    total = gram.diagonal().sum()
    return gram / torch.where(total > 0, total, 1.0)
