"""What a simulation begins with, how much of it there is, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass

from sphunc._typing import Float, Links, Tensor

FEWEST_SHARING = 20
"""Structures that share draws of the noise, at least: fewer would compare structures less well, and draw more noise."""


@dataclass(frozen=True, eq=False)
class Start:
    r"""What is believed at the origin.

    Attributes:
        eta: natural parameter of the belief about every state ``[N, D]``.
        prior: persistent priors u ``[N, D]``.
        memberships: agent and group of every membership (groups counted from 0), or None if no group meets.
    """

    eta: Tensor
    prior: Tensor
    memberships: tuple[Tensor, Tensor] | None


@dataclass(frozen=True)
class Layout:
    """How samples are made of structures and draws: in blocks, each with structures and draws of its own.

    Within a block every structure meets every draw, so that structures are compared under the same noise. Blocks share
    nothing: with more of them the error of a mean falls with the root of their number.

    Attributes:
        blocks: B.
        structures: Q, of one block.
        draws: R, of one block.
    """

    blocks: int
    structures: int
    draws: int

    @classmethod
    def of(cls, structures: int, draws: int) -> Layout:
        """Lay out ``structures`` (of all blocks) that meet ``draws`` each, in as many blocks as there may be."""
        most = max(1, structures // FEWEST_SHARING)
        blocks = next(count for count in range(most, 0, -1) if structures % count == 0)
        return cls(blocks, structures // blocks, draws)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Samples are ordered by block, then structure, then draw ``(B, Q, R)``."""
        return self.blocks, self.structures, self.draws

    @property
    def samples(self) -> int:
        """S."""
        return self.blocks * self.structures * self.draws

    def draws_of(self, structure: int) -> range:
        """Which draws of the noise a structure meets, counted over all blocks."""
        first = structure // self.structures * self.draws
        return range(first, first + self.draws)

    def is_last(self, structure: int) -> bool:
        """True for the last structure of a block."""
        return (structure + 1) % self.structures == 0


@dataclass(frozen=True, eq=False)
class Design:
    """How much is simulated.

    Attributes:
        links: ``[2, K]`` candidate links.
        strengths: of each structure ``[Q, K]``; 0 where a link is not there.
        draws: R, of the noise that every structure meets; samples are Q x R.
        horizon: steps.
        seed: of the noise.
        sampled: draw states; else carry their means (noise is integrated out step by step, draws are equal).
    """

    links: Links
    strengths: Float[Tensor, "structure link"]
    draws: int
    horizon: int
    seed: int
    sampled: bool = True

    @property
    def samples(self) -> int:
        """S."""
        return len(self.strengths) * self.draws

    @property
    def layout(self) -> Layout:
        """Which structures meet which draws."""
        return Layout.of(len(self.strengths), self.draws)


@dataclass(frozen=True, eq=False)
class Moment:
    """Both arms after one step; samples are ordered by structure, then draw.

    Attributes:
        factual: logits (or standardised numbers) without the intervention ``[N, S, C]``, class by class in memory.
        reached: the same with it, of the n agents whom it may have reached ``[n, S, C]``.
        resultant: squared length of the mean state in the changed arm, without the bias of a finite S ``[N]``.
        rows: who they are ``[n]``; the others are the same in both arms. None for everybody.
        decided: indices of agents whom policies have set by then, in any structure.
    """

    factual: Tensor
    reached: Tensor
    resultant: Tensor
    rows: Tensor | None = None
    decided: tuple[int, ...] = ()
