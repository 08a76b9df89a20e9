r"""The structural step: where an agent is tomorrow, given who influences it.

.. math:: F_i = \mathrm{normalise}\Big(a\, h_i + \sum_{j \to i} \gamma_{ij}\, \Phi h_j + g\, c_i + b\, u_i\Big),
          \qquad h_i' \sim \mathrm{vMF}(F_i, \kappa_\varepsilon)

with everything on the right at the time before: state h, influence gates :math:`\gamma`, context c of the groups,
persistent prior u. Time runs over links and Monte Carlo samples alike: the cost is linear in samples times links.
"""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Float, Int, Links, Tensor
from sphunc.nn.projection import normalise
from sphunc.sphere.sampling import rsample_vmf

# Numbers gathered at once by the sum over links: 16 MB in float32.
GATHER_CHUNK = 2**22


def influence_sum(
    values: Float[Tensor, "*sample agent dim"], links: Links, gates: Float[Tensor, "*structure link"]
) -> Float[Tensor, "*result agent dim"]:
    r"""What reaches every agent along its links, :math:`\sum_{j \to i} \gamma_{ij} v_j`.

    Args:
        values: :math:`v_j` ``[N, D]`` or ``[S, N, D]``.
        links: row 0 source j, row 1 target i, ``[2, K]``; may be empty.
        gates: :math:`\gamma` ``[K]``, or one row per sample or structure ``[S, K]``.

    Returns:
        ``[N, D]``, or ``[S, N, D]`` when either argument has samples; 0 for an agent without parents.
    """
    batch = torch.broadcast_shapes(values.shape[:-2], gates.shape[:-1])
    values = values.expand(*batch, *values.shape[-2:])
    gates = gates.expand(*batch, gates.shape[-1])
    source, target = links
    total = values.new_zeros(values.shape)
    per_link = max(1, values.numel() // max(1, values.shape[-2]))
    for part in torch.arange(links.shape[1], device=links.device).split(max(1, GATHER_CHUNK // per_link)):
        sent = values.index_select(-2, source[part]) * gates[..., part].unsqueeze(-1)
        total.index_add_(-2, target[part], sent)
    return total


def structural_step(
    h: Float[Tensor, "*sample agent dim"],
    links: Links,
    gates: Float[Tensor, "*structure link"],
    *,
    mapping: Float[Tensor, "dim dim"],
    keep: Float[Tensor, ""],
    context: Float[Tensor, "*contexts agent dim"] | None = None,
    context_gain: Float[Tensor, ""] | None = None,
    prior: Float[Tensor, "agent dim"] | None = None,
    prior_gain: Float[Tensor, ""] | None = None,
) -> Float[Tensor, "*result agent dim"]:
    r"""Mean direction of every agent one step on, :math:`F_i`.

    Args:
        h: states ``[N, D]`` or ``[S, N, D]``; unit vectors, or means of beliefs shorter than that.
        links: row 0 source, row 1 target ``[2, K]``.
        gates: :math:`\gamma` ``[K]`` or ``[S, K]``.
        mapping: :math:`\Phi` ``[D, D]``, shared by all links.
        keep: a, how much of itself an agent keeps.
        context: c ``[N, D]`` or ``[S, N, D]``, with its gain g; default none.
        context_gain: g.
        prior: u ``[N, D]``, with its gain b; default none.
        prior_gain: b.

    Returns:
        Unit vectors ``[N, D]`` or ``[S, N, D]``.
    """
    total = keep * h + influence_sum(h @ mapping.mT, links, gates)
    if context is not None and context_gain is not None:
        total = total + context_gain * context
    if prior is not None and prior_gain is not None:
        total = total + prior_gain * prior
    return normalise(total)


def perturb(
    mean: Float[Tensor, "*batch dim"], noise: Float[Tensor, "*noises"], generator: torch.Generator
) -> Float[Tensor, "*batch dim"]:
    r"""One draw of :math:`\mathrm{vMF}(F, \kappa_\varepsilon)` around every mean direction, with gradients to both.

    Args:
        mean: F ``[..., D]``; a zero vector points nowhere, and its draw is uniform on the sphere.
        noise: :math:`\kappa_\varepsilon`, a scalar or anything that broadcasts to ``[...]``.
        generator: source of the noise.
    """
    flat = mean.reshape(-1, mean.shape[-1])
    points_nowhere = (flat == 0).all(-1, keepdim=True)
    if bool(points_nowhere.any()):
        anywhere = torch.randn(flat.shape, generator=generator, dtype=flat.dtype, device=flat.device)
        flat = torch.where(points_nowhere, normalise(anywhere), flat)
    kappa = noise.expand(mean.shape[:-1]).reshape(-1)
    return rsample_vmf(flat, kappa, 1, generator)[0].view(mean.shape)


def prior_of(table: Float[Tensor, "known dim"], known: Int[Tensor, " agent"]) -> Float[Tensor, "agent dim"]:
    """Rows of the table of persistent priors; zero for agents unseen in training.

    Args:
        table: u of the training agents ``[P, D]``.
        known: row of each agent in the table, -1 for an agent that training never saw ``[N]``.
    """
    padded = torch.cat([table, table.new_zeros(1, table.shape[1])])
    return padded[torch.where(known >= 0, known, table.shape[0])]


class StructuralStep(nn.Module):
    r"""Owns :math:`\Phi` (identity at the start), the gains a, g, b and the priors u of :func:`structural_step`.

    The gates come from outside: they are what the posterior over structures says.

    Args:
        dim: D.
        num_agents: agents of the training data, one prior each, starting at zero.
    """

    def __init__(self, dim: int, num_agents: int) -> None:
        super().__init__()
        self.mapping = nn.Parameter(torch.eye(dim))
        self.log_keep = nn.Parameter(torch.zeros(()))
        self.context_gain = nn.Parameter(torch.zeros(()))
        self.prior_gain = nn.Parameter(torch.ones(()))
        self.prior = nn.Parameter(torch.zeros(num_agents, dim))

    def forward(
        self,
        h: Float[Tensor, "*sample agent dim"],
        links: Links,
        gates: Float[Tensor, "*structure link"],
        *,
        context: Float[Tensor, "*contexts agent dim"] | None = None,
        known: Int[Tensor, " agent"] | None = None,
    ) -> Float[Tensor, "*result agent dim"]:
        """Return F; ``known`` names each agent's row of the priors, by default agent i has row i."""
        return structural_step(
            h,
            links,
            gates,
            mapping=self.mapping,
            keep=self.log_keep.exp(),
            context=context,
            context_gain=self.context_gain,
            prior=self.prior if known is None else prior_of(self.prior, known),
            prior_gain=self.prior_gain,
        )
