r"""The structural mechanism as numbers: what acts on a state, and how outcomes are read off it.

.. math:: \eta' = \kappa_s \Big(a h + \lambda \sum_j \gamma_{ij} \Phi h_j + (g + g' R_e^2)\,\bar h_e + b u\Big)

A value without parameters or gradients, so that simulation knows no network. States may be given by their coordinates
on an orthonormal basis V ``[D, r]`` that holds their signal: of the rest only the squared length counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse import csr_matrix

from sphunc._typing import Bool, Float, Int, Links, Tensor
from sphunc.causal.noise import row_sums

try:
    from scipy.sparse._sparsetools import csr_matvecs
except ImportError:  # private to scipy: it may move
    csr_matvecs = None


@dataclass(frozen=True, eq=False)
class Mechanism:
    r"""Gains and maps of the structural step.

    Attributes:
        dim: D.
        spherical: unit states; else states are Gaussian around :math:`\eta` times ``flat``.
        keep: a.
        prior: b.
        link: :math:`\lambda`.
        pull: g.
        cohesion: g'.
        strength: :math:`\kappa_s`.
        firmness: :math:`k_0` of the reading, :math:`\eta / \sqrt{k_0^2 + \|\eta\|^2}`.
        mapping: :math:`\Phi` ``[D, D]``; on a basis ``[r, r]``.
        weight: of the readout ``[C, D]``; on a basis ``[C, r]``.
        bias: of the readout ``[C]``.
        lean: of the readout, for states of length one ``[C]``; None without.
        flat: factor from :math:`\eta` to a state without a sphere.
    """

    dim: int
    spherical: bool
    keep: float
    prior: float
    link: float
    pull: float
    cohesion: float
    strength: float
    firmness: float
    mapping: Tensor
    weight: Tensor
    bias: Tensor
    lean: Tensor | None = None
    flat: float = 1.0

    @property
    def stretch(self) -> float:
        """Mean squared stretch of the map, for what lies outside a basis."""
        return float(self.mapping.square().sum()) / self.mapping.shape[0]

    def on(self, basis: Float[Tensor, "dim rank"]) -> Mechanism:
        """Return the mechanism in coordinates on a basis."""
        return replace(self, mapping=basis.mT @ self.mapping @ basis, weight=self.weight @ basis)

    def driven(self) -> Mechanism:
        r"""Return the mechanism whose forces are natural parameters: every gain times :math:`\kappa_s`."""
        gains = {name: self.strength * getattr(self, name) for name in ("keep", "prior", "link", "pull", "cohesion")}
        return replace(self, strength=1.0, **gains)

    def mean_length(self, length: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        r"""Factor from :math:`\eta` to the mean of the state, :math:`A_D(\kappa)/\kappa` by the bound of Amos."""
        if not self.spherical:
            return torch.full_like(length, self.flat)
        below, above = (self.dim - 1) / 2, (self.dim + 1) / 2
        return 1.0 / (below + torch.sqrt(above * above + length.square()))

    def firm(self, length: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        r"""Factor from :math:`\eta` to the state that is read."""
        if not self.spherical:
            return torch.full_like(length, self.flat)
        return torch.rsqrt(self.firmness**2 + length.square())

    def read(self, state: Float[Tensor, "*batch rank"]) -> Float[Tensor, "*batch class"]:
        """Return logits, or standardised numbers, of states that are known: of length one, on the sphere."""
        logits = state @ self.weight.mT + self.bias
        return logits if self.lean is None else logits + self.lean

    def read_belief(self, eta: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch class"]:
        """Return logits, or standardised numbers, of beliefs with these natural parameters."""
        length = eta.norm(dim=-1, keepdim=True)
        firm = self.firm(length)
        logits = (eta * firm) @ self.weight.mT + self.bias
        return logits if self.lean is None else logits + length * firm * self.lean


@dataclass(frozen=True, eq=False)
class Company:
    """Who acts on whom in one transition, as sparse matrices; the squares serve what lies outside a basis.

    Those of scipy: on arrays with some hundred columns they take half of the time that torch's take.

    Attributes:
        influence: :math:`\\lambda\\gamma` ``[N, N]``, target by source; None without links.
        gather: agents to group means ``[M, N]``; None if no group meets.
        spread: groups to agents ``[N, M]``.
        influence2: squared entries of the same.
        gather2: squared entries of the same.
        spread2: squared entries of the same.
        own: weight of an agent in what its groups tell it ``[N, M]``.
    """

    influence: csr_matrix | None
    gather: csr_matrix | None
    spread: csr_matrix | None
    influence2: csr_matrix | None
    gather2: csr_matrix | None
    spread2: csr_matrix | None
    own: csr_matrix | None

    def only(self, rows: Tensor) -> Company:
        """Return what acts on some agents: rows of targets, all sources."""
        chosen = rows.numpy()
        influence = None if self.influence is None else self.influence[chosen]
        spread = None if self.spread is None else self.spread[chosen]
        if spread is None or self.gather is None or not spread.nnz:
            return Company(influence, None, None, _squared(influence), None, None, None)
        groups, place = np.unique(spread.indices, return_inverse=True)
        gather = self.gather[groups]
        spread = csr_matrix((spread.data, place, spread.indptr), shape=(len(chosen), len(groups)))
        # Members of a group have equal weights in its mean.
        own = csr_matrix((spread.data * gather.data[gather.indptr[:-1]][place], place, spread.indptr), spread.shape)
        return Company(influence, gather, spread, _squared(influence), _squared(gather), _squared(spread), own)

    def blocks(self, agents: int, size: int) -> list[Company]:
        """Return what acts on blocks of agents, in order; groups are to meet before."""
        matrices = (self.influence, self.spread, self.influence2, self.spread2, self.own)
        parts = []
        for first in range(0, agents, size):
            cut = [None if matrix is None else matrix[first : first + size] for matrix in matrices]
            parts.append(Company(cut[0], None, cut[1], cut[2], None, cut[3], cut[4]))
        return parts

    def reach(self, rows: Tensor, agents: int) -> Bool[Tensor, " agent"]:
        """Tell on whom some agents act, themselves included."""
        there = np.zeros(agents, dtype=np.float32)
        there[rows.numpy()] = 1.0
        reached = there > 0
        if self.influence2 is not None:
            reached |= (self.influence2 @ there) > 0
        if self.gather2 is not None and self.spread2 is not None:
            reached |= (self.spread2 @ (self.gather2 @ there)) > 0
        return torch.from_numpy(reached)


def company(
    links: Links,
    gates: Float[Tensor, " link"],
    memberships: tuple[Tensor, Tensor] | None,
    agents: int,
    *,
    cut: tuple[int, ...] = (),
) -> Company:
    """Assemble the matrices of one structure.

    Args:
        links: ``[2, K]`` source and target.
        gates: of one structure, gain included ``[K]``; zeros are left out.
        memberships: agent and group of every membership at the origin (groups counted from 0), or None.
        agents: N.
        cut: groups that do not meet.
    """
    on = gates != 0
    influence = _csr(links[1][on], links[0][on], gates[on], (agents, agents)) if bool(on.any()) else None
    gather = spread = None
    if memberships is not None and memberships[0].numel():
        gather, spread = averages(*memberships, agents, cut)
    own = None if gather is None or spread is None else spread.multiply(gather.T).tocsr()
    return Company(influence, gather, spread, _squared(influence), _squared(gather), _squared(spread), own)


def averages(agent: Tensor, group: Tensor, agents: int, cut: tuple[int, ...]) -> tuple[csr_matrix, csr_matrix]:
    """Means of agents over groups ``[M, N]`` and of groups over agents ``[N, M]``, without groups that are cut."""
    count = int(group.max()) + 1
    if cut:
        kept = ~torch.isin(group, torch.tensor(cut))
        agent, group = agent[kept], group[kept]
    size = torch.bincount(group, minlength=count).float()
    degree = torch.bincount(agent, minlength=agents).float()
    gather = _csr(group, agent, 1.0 / size[group], (count, agents))
    return gather, _csr(agent, group, 1.0 / degree[agent], (agents, count))


def _csr(row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> csr_matrix:
    return csr_matrix((value.float().numpy(), (row.numpy(), column.numpy())), shape=shape)


def _squared(matrix: csr_matrix | None) -> csr_matrix | None:
    return None if matrix is None else csr_matrix((matrix.data**2, matrix.indices, matrix.indptr), shape=matrix.shape)


def spmm(matrix: csr_matrix, values: Tensor, into: Tensor | None = None) -> Tensor:
    """Sparse product over the first axis of ``values [N, ...]``, added to ``into`` if it is given.

    scipy's own routine: its operator makes a new array every time, and what is added is then added in a second pass.
    """
    targets, sources = len(matrix.indptr) - 1, len(values)
    into = torch.zeros(targets, *values.shape[1:]) if into is None else into
    columns = math.prod(values.shape[1:])
    if csr_matvecs is None or not into.is_contiguous():
        product = matrix @ values.contiguous().numpy().reshape(sources, columns)
        return into.add_(torch.from_numpy(product).view(into.shape))
    flat = values.contiguous().view(-1).numpy(), into.view(-1).numpy()
    csr_matvecs(targets, sources, columns, matrix.indptr, matrix.indices, matrix.data, *flat)
    return into


@dataclass(frozen=True, eq=False)
class Meeting:
    """What groups tell their members.

    Attributes:
        told: mean state of every group, times its gain ``[M, R, r]``.
        gain: ``[M, R]``.
        hidden: squared length of the mean outside the basis ``[M, R]``; None when the basis holds everything.
    """

    told: Tensor
    gain: Tensor
    hidden: Tensor | None


def meet(
    mechanism: Mechanism,
    states: Float[Tensor, "agent draw rank"],
    outside: Float[Tensor, "agent draw"] | None,
    around: Company,
) -> Meeting | None:
    """Let all groups meet; None if there are none. Arguments as for :func:`drive`."""
    if around.gather is None or around.gather2 is None:
        return None
    mean = spmm(around.gather, states)
    hidden = None if outside is None else spmm(around.gather2, outside)
    cohesion = row_sums(mean.square()) if hidden is None else row_sums(mean.square()) + hidden
    gain = mechanism.pull + mechanism.cohesion * cohesion.clamp(max=1.0)
    return Meeting(mean.mul_(gain.unsqueeze(-1)), gain, hidden)


def drive(
    mechanism: Mechanism,
    states: Float[Tensor, "agent draw rank"],
    outside: Float[Tensor, "agent draw"] | None,
    prior: Float[Tensor, "target rank"],
    around: Company,
    rows: Int[Tensor, " target"] | slice | None = None,
    *,
    meeting: Meeting | None = None,
    out: Float[Tensor, "target draw rank"] | None = None,
) -> tuple[Float[Tensor, "target draw rank"], Float[Tensor, "target draw"] | None]:
    """Sum of all forces, and its squared length outside the basis.

    Args:
        mechanism: on the basis of the states.
        states: coordinates ``[N, R, r]``.
        outside: squared length of each state outside the basis ``[N, R]``; None when the basis holds everything.
        prior: persistent priors of the targets, times their gain, in coordinates.
        around: who acts on whom; only on ``rows`` if they are given.
        rows: targets; everybody if None.
        meeting: of the groups, if they have met already.
        out: memory for the sum.
    """
    here = states if rows is None else states[rows]
    force = torch.add(prior.unsqueeze(1), here, alpha=mechanism.keep, out=out)
    own = outside if outside is None or rows is None else outside[rows]
    beyond = None if own is None else mechanism.keep**2 * own
    if around.influence is not None and around.influence2 is not None:
        rank = states.shape[-1]
        force.view(-1, rank).addmm_(spmm(around.influence, states).view(-1, rank), mechanism.mapping.mT)
        if beyond is not None and outside is not None:
            beyond.add_(spmm(around.influence2, outside), alpha=mechanism.stretch)
    meeting = meet(mechanism, states, outside, around) if meeting is None else meeting
    if meeting is not None and around.spread is not None:
        _pull(mechanism, meeting, around, own, force, beyond)
    return force, beyond


def _pull(
    mechanism: Mechanism, meeting: Meeting, around: Company, own: Tensor | None, force: Tensor, beyond: Tensor | None
) -> None:
    """Add the pull of groups to the force, and to its squared length outside the basis."""
    assert around.spread is not None
    assert around.spread2 is not None
    assert around.own is not None
    spmm(around.spread, meeting.told, force)
    if beyond is not None and meeting.hidden is not None and own is not None:
        spmm(around.spread2, meeting.hidden * meeting.gain.square(), beyond)
        # An agent hears itself in its groups: there it does not add like a stranger.
        beyond += 2.0 * mechanism.keep * own * spmm(around.own, meeting.gain)
