r"""The structural step of beliefs: from evidence about today to a state for tomorrow.

.. math:: s = a m + \lambda \sum_j \gamma_{ij} \Phi m_j + (g + g' R_e^2) \bar m_e + b u, \qquad
          m = A_D(\|\eta\|)\, \eta / \|\eta\|

The pull of a group e is along the mean of its members' beliefs, whose length :math:`R_e` is small where they disagree.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sphunc._typing import Bool, Float, Links
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.evidence import inverse_softplus
from sphunc.nn.concentration import cap
from sphunc.nn.shrinking import lengths, shrink
from sphunc.nn.structural import influence_sum, sparse_product

# The map of messages starts as the identity; it has D^2 entries, and learns at this pace relative to other matrices.
MAP_PACE = 0.02
# In units of D / 2, as all concentrations.
INITIAL_STRENGTH, INITIAL_SETTLED = 6.0, 1.0
# Without a sphere to hold them, states are sums of evidence divided by this many units: all sources together.
FLAT_WEIGHT = 12.0
# Concentration that a state of length one stands for, before it is known how far states really move.
INITIAL_SURENESS = 0.2
GAINS = {"keep": 0.4, "lasting": 1.0, "link": 1.0, "pull": 0.3, "cohesion": 0.3}
# Of the persistent prior: what the first sight of an agent says about it, how far the unexpected moves it, and how
# many times the first sight counts for.
LASTING = {"first": 0.4, "pace": 2.5, "patience": 4.0}


class Step(nn.Module):
    """Owns the gains of the structural step and the shared map of messages."""

    sureness: Tensor

    def __init__(self, config: SphUncConfig) -> None:
        super().__init__()
        self.dim, self.is_spherical = config.dim, config.geometry == "sphere"
        self.gains = nn.ParameterDict({name: nn.Parameter(torch.tensor(value)) for name, value in GAINS.items()})
        self.change = nn.Parameter(torch.zeros(config.dim, config.dim))
        self.log_strength = nn.Parameter(torch.tensor(inverse_softplus(INITIAL_STRENGTH)))
        self.log_settled = nn.Parameter(torch.tensor(inverse_softplus(INITIAL_SETTLED)))
        self.log_sureness = nn.Parameter(torch.tensor(math.log(INITIAL_SURENESS)))
        self.register_buffer("sureness", torch.tensor(INITIAL_SURENESS))
        self.logs = nn.ParameterDict(
            {name: nn.Parameter(torch.tensor(math.log(value))) for name, value in LASTING.items()}
        )

    @property
    def strength(self) -> Tensor:
        r""":math:`\kappa_s > 0`, what a state of length one weighs as evidence tomorrow."""
        return self.dim / 2 * nn.functional.softplus(self.log_strength)

    def concentration(self, state: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
        r""":math:`\kappa` in [1, 200] that a state of this length stands for, by what was found before training."""
        return cap(self.sureness * lengths(state))

    def weight(self, state: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
        r""":math:`\kappa` in [1, 200] by which the causal loss weighs a state; learned with the step."""
        return cap(self.log_sureness.exp() * lengths(state))

    def mean(self, eta: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        r"""Mean vector of a belief, :math:`A_D(\kappa)\mu` with the lower bound of Amos for the ratio.

        .. math:: A_D(\kappa) \ge \kappa \Big/ \Big(\tfrac{D-1}{2} + \sqrt{(\tfrac{D+1}{2})^2 + \kappa^2}\Big)

        Within 1e-3 of the exact ratio for ``dim`` 64 and more, within 4e-2 down to 2: one root instead of a series.
        """
        if not self.is_spherical:
            return eta / (self.dim / 2 * FLAT_WEIGHT)
        below, above = (self.dim - 1) / 2, (self.dim + 1) / 2
        return shrink(eta, below, torch.tensor(above, dtype=eta.dtype, device=eta.device))

    def settled(self, eta: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        r"""What outcomes are read from, :math:`\eta / \sqrt{k_0^2 + \|\eta\|^2}`: the direction, once it is firm.

        Outcomes hang on where a state points. :math:`k_0`, learned, is the strength at which half of that is granted.
        """
        if not self.is_spherical:
            return eta / (self.dim / 2 * FLAT_WEIGHT)
        half = self.dim / 2 * nn.functional.softplus(self.log_settled)
        return shrink(eta, 0.0, half)

    def lasting(
        self,
        prior: Float[Tensor, "agent dim"],
        m: Float[Tensor, "agent dim"],
        expected: Float[Tensor, "agent dim"],
        count: Float[Tensor, " agent"],
        seen: Bool[Tensor, " agent"],
    ) -> Float[Tensor, "agent dim"]:
        r"""Persistent prior u of each agent after one more time: what the step did not expect moves it.

        .. math:: u \leftarrow u + \frac{g}{c + n} (m - \hat m), \qquad u = f m \text{ at first sight}

        Without evidence today :math:`m = \hat m`: u stays, and is 0 until the agent is seen, whatever others do to it.

        Args:
            prior: u so far.
            m: mean of the belief now.
            expected: mean of the belief before today's evidence came.
            count: n, times at which the agent was seen before.
            seen: whether it is seen today.
        """
        first, pace, patience = (self.logs[name].exp() for name in ("first", "pace", "patience"))
        moved = prior + (pace / (patience + count)).unsqueeze(-1) * (m - expected)
        at_first_sight = (count == 0) & seen
        return torch.where(at_first_sight.unsqueeze(-1), first * m, moved)

    def forward(
        self,
        eta: Float[Tensor, "agent dim"],
        lasting: Float[Tensor, "agent dim"],
        groups: tuple[Tensor, Tensor] | None,
        links: Links,
        gates: Float[Tensor, " link"],
    ) -> Float[Tensor, "agent dim"]:
        """Return the state one step on ``[N, D]``, not normalised: its length says how much agrees."""
        return self.drive(self.mean(eta), lasting, groups, links, gates)

    def drive(
        self,
        m: Float[Tensor, "agent dim"],
        lasting: Float[Tensor, "agent dim"],
        groups: tuple[Tensor, Tensor] | None,
        links: Links,
        gates: Float[Tensor, " link"],
    ) -> Float[Tensor, "agent dim"]:
        """Sum what acts on every agent whose state is ``m``: the mean of a belief, or a simulated state."""
        state = self.gains["keep"] * m + self.gains["lasting"] * lasting
        if links.shape[1]:
            identity = torch.eye(self.dim, dtype=m.dtype, device=m.device)
            phi = self.gains["link"] * (identity + MAP_PACE * self.change)
            state += influence_sum(m @ phi.mT, links, gates)
        if groups is not None:
            state += self.pull(m, groups)
        return state

    def pull(self, m: Float[Tensor, "agent dim"], groups: tuple[Tensor, Tensor]) -> Float[Tensor, "agent dim"]:
        """Mean over an agent's groups of their pull."""
        gather, spread = groups
        mean = sparse_product(gather, m)
        # Never above 1 on the sphere; off it, far states would otherwise pull each other ever further.
        cohesion = mean.square().sum(-1, keepdim=True).clamp(max=1.0)
        return sparse_product(spread, mean * (self.gains["pull"] + self.gains["cohesion"] * cohesion))
