r"""What is plainly seen and read beside states, in both arms: an intervention acts through it too.

.. math:: z^a_{i,h} \leftarrow z^a_{i,h} + B^\top \phi^a_{i,h-m}, \qquad
          \phi^a = \big[o^a, x, \bar o^a_e, \bar x_e, c\big]

with arms a, m steps from what is seen to the outcome that it tells, outcomes o, features x, their means over the groups
e that meet in this arm, and c what everybody shares. Outcomes of the origin were seen and are the same in both arms;
those of a later step are the mean law of their arm over all samples, as a forecast has them: what differs from sample
to sample is not followed here, and errors take these means as known. Features and c are those of the factual arm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.arms import Comparison
from sphunc.causal.design import Moment
from sphunc.causal.mechanism import averages, spmm
from sphunc.causal.reading import columns, put_columns


class Offsets(NamedTuple):
    """What is added to logits, or to standardised numbers, of the factual and of the changed arm ``[N, C]``."""

    factual: Tensor
    changed: Tensor


@dataclass(frozen=True, eq=False)
class View:
    """What one step is told by, in the factual arm.

    Attributes:
        told: outcomes that were seen ``[N, C]`` (1 in the column of a class, or standardised numbers), 0 where they
            were not; None where nobody's were, and the law of that step stands for them.
        x: standardised features ``[N, F]``.
        common: what everybody shares ``[I - 2 (C + F)]``.
        members: agent and group of every membership (groups counted from 0), or None if no group meets.
    """

    told: Tensor | None
    x: Tensor
    common: Tensor
    members: tuple[Tensor, Tensor] | None


@dataclass(frozen=True, eq=False)
class Beside:
    """What is read beside states, step by step.

    Attributes:
        weight: B ``[I, C]``, 0 in the rows of what does not count.
        centre: of numbers ``[C]``; 0 for classes.
        scale: of numbers ``[C]``; 1 for classes.
        lag: m.
        views: one per step; None where nothing is read beside the state.
    """

    weight: Tensor
    centre: Tensor
    scale: Tensor
    lag: int
    views: tuple[View | None, ...]

    def offsets(self, before: Sequence[Comparison], cut: Callable[[int], tuple[int, ...]]) -> Offsets | None:
        """Return what is added at the step after those of ``before``; None for nothing.

        Args:
            before: both arms after every earlier step.
            cut: gives the groups of a step that do not meet in the changed arm.
        """
        view, source = self.views[len(before)], len(before) + 1 - self.lag
        if view is None:
            return None
        told, changed = self._told(view, before[source - 1] if source else None)
        return Offsets(self._read(view, told), self._read(view, changed, cut(source)))

    def _told(self, view: View, law: Comparison | None) -> tuple[Tensor, Tensor]:
        """Outcomes of both arms at the step that is seen; what was seen moves by as much as its law does."""
        if law is None:
            assert view.told is not None
            return view.told, view.told
        told = (law.factual - self.centre) / self.scale if view.told is None else view.told
        return told, told + (law.outcome - law.factual) / self.scale

    def _read(self, view: View, told: Tensor, cut: tuple[int, ...] = ()) -> Float[Tensor, "agent output"]:
        own = torch.cat([told, view.x], -1)
        common = view.common.expand(len(own), -1)
        return torch.cat([own, company_means(own, view.members, cut), common], -1) @ self.weight


def company_means(
    own: Float[Tensor, "agent input"], members: tuple[Tensor, Tensor] | None, cut: tuple[int, ...] = ()
) -> Float[Tensor, "agent input"]:
    """Means over the groups that an agent is in, without those that are cut; 0 for who is left alone."""
    if members is None:
        return torch.zeros_like(own)
    gather, spread = averages(*members, len(own), cut)
    return spmm(spread, spmm(gather, own))


def with_offsets(moment: Moment, offsets: Offsets) -> Moment:
    """Add to both arms; whoever's offset differs counts as reached, also where its state does not."""
    logits = moment.factual.permute(2, 1, 0)
    rows = torch.arange(len(moment.factual)) if moment.rows is None else moment.rows
    differs = (offsets.factual != offsets.changed).any(-1)
    whom = torch.unique(torch.cat([rows, differs.nonzero().flatten()]))
    other = columns(logits, whom)
    put_columns(other, torch.searchsorted(whom, rows), moment.reached.permute(2, 1, 0))
    factual = logits + offsets.factual.mT.unsqueeze(1)
    reached = other + offsets.changed[whom].mT.unsqueeze(1)
    return replace(moment, factual=factual.permute(2, 1, 0), reached=reached.permute(2, 1, 0), rows=whom)
