r"""Beliefs as von Mises-Fisher laws: evidence adds in natural parameters.

.. math:: \eta = \sum_k \kappa_k d_k, \qquad \mu = \eta / \|\eta\|, \qquad R = \|\eta\| \big/ \sum_k \kappa_k

The product of von Mises-Fisher densities is one again, with the natural parameters summed. Evidence that agrees adds
up; evidence that conflicts shortens :math:`\eta`, and so raises the entropy of the belief.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Float, Tensor
from sphunc.nn.concentration import cap
from sphunc.nn.projection import project
from sphunc.sphere import concentration_from_resultant, mean_resultant_length


@dataclass(frozen=True, eq=False)
class Belief:
    r"""A von Mises-Fisher law per agent.

    Attributes:
        direction: :math:`\mu` ``[..., D]``; zero where the evidence cancels or there is none.
        concentration: :math:`\kappa` ``[...]``, in [1, 200].
    """

    direction: Tensor
    concentration: Tensor

    @property
    def mean(self) -> Tensor:
        r"""Mean vector :math:`A_D(\kappa)\,\mu` ``[..., D]``: the shorter, the less is known."""
        length = mean_resultant_length(self.concentration, self.direction.shape[-1])
        return self.direction * length.unsqueeze(-1)


def add_evidence(
    directions: Float[Tensor, "*batch source dim"], concentrations: Float[Tensor, "*batch source"]
) -> tuple[Float[Tensor, "*batch dim"], Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    r"""Sum of natural parameters over the sources of evidence.

    Args:
        directions: :math:`d_k` ``[..., K, D]`` (features, context, structural step ...).
        concentrations: :math:`\kappa_k \ge 0` ``[..., K]``; 0 leaves a source out.

    Returns:
        Direction :math:`\mu` ``[..., D]``, strength :math:`\|\eta\|` ``[...]``, and resultant length R ``[...]``: 1
        when all sources agree, 0 when they cancel or there are none.
    """
    direction, strength = project((directions * concentrations.unsqueeze(-1)).sum(-2))
    total = concentrations.sum(-1)
    return direction, strength, strength / torch.where(total > 0, total, 1.0)


def believe(directions: Float[Tensor, "*batch source dim"], concentrations: Float[Tensor, "*batch source"]) -> Belief:
    """Belief from all evidence, with the strength brought into [1, 200]; arguments of :func:`add_evidence`."""
    direction, strength, _ = add_evidence(directions, concentrations)
    return Belief(direction, cap(strength))


def diffuse(
    concentration: Float[Tensor, "*batch"], noise: Float[Tensor, "*others"], dim: int
) -> Float[Tensor, "*batch"]:
    r"""Concentration of yesterday's belief after a step with noise :math:`\mathrm{vMF}(\cdot, \kappa_\varepsilon)`.

    .. math:: A_D(\kappa') = A_D(\kappa)\, A_D(\kappa_\varepsilon)

    The mean vector after the step is exact; the law is the von Mises-Fisher law that has it. Never above either input.

    Args:
        concentration: :math:`\kappa` ``[...]``.
        noise: :math:`\kappa_\varepsilon`, broadcast against it.
        dim: D.
    """
    return concentration_from_resultant(
        mean_resultant_length(concentration, dim) * mean_resultant_length(noise, dim), dim
    )
