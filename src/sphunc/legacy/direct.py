r"""What is plainly seen at an origin, read beside the state.

.. math:: z \leftarrow z + B^\top \phi, \qquad
          \phi_{i,t} = \big[o_{i,t}, \tilde x_{i,t}, \bar o_{e,t}, \bar x_{e,t}, \ell_t, \ell_t - \ell_{t-1}, 1\big]

with the outcome o at the origin (1 in the column of a class, or standardised numbers), the standardised features, the
means of both over the groups that the agent is in, and the level :math:`\ell` of outcomes among everybody. A state
carries what lasts and moves slowly; that a turns into b, that nobody goes back, that a feature of today or the company
of today decides tomorrow, or that everybody drifts, is said here. What of it counts is decided by
:mod:`sphunc.legacy.direct_choice`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sphunc._typing import Bool, Float, Int
from sphunc.legacy.direct_choice import Block, Choice
from sphunc.legacy.observed import Observed

REACH = 6.0
"""Deviations from the mean beyond which a feature says no more."""
EVERYBODY = 10.0
"""Outcomes as in all of training that count among those of one time."""
NOW, FEATURES, COMPANY, DRIFT = "now", "features", "company", "drift"
LEAST_SQUARES = 1e-6


@dataclass(frozen=True, eq=False)
class Plain:
    """What is seen at T origins.

    Attributes:
        told: outcomes ``[T, N, C]``, 0 where they are not known.
        x: standardised features ``[T, N, F]``.
        level: outcomes among everybody ``[T, C]``, 0 where they are as in all of training.
        change: of the level since the time before ``[T, C]``.
        pull: memberships at each time, or None where nobody meets.
    """

    told: Float[Tensor, "time agent output"]
    x: Float[Tensor, "time agent feature"]
    level: Float[Tensor, "time output"]
    change: Float[Tensor, "time output"]
    pull: tuple[tuple[Tensor, Tensor] | None, ...]

    def inputs(self) -> Float[Tensor, "time agent input"]:
        r"""Return :math:`\phi`."""
        own = torch.cat([self.told, self.x], -1)
        company = torch.stack([_company(now, pull) for now, pull in zip(own, self.pull, strict=True)])
        return torch.cat([own, company, self.common().unsqueeze(1).expand(-1, own.shape[1], -1)], -1)

    def common(self) -> Float[Tensor, "time common"]:
        """What everybody shares: level, change, and 1."""
        return torch.cat([self.level, self.change, torch.ones_like(self.level[:, :1])], -1)

    def at(self, time: int) -> Plain:
        """Return one origin."""
        now = slice(time, time + 1)
        return Plain(self.told[now], self.x[now], self.level[now], self.change[now], self.pull[now])


class Direct(nn.Module):
    """Owns B, which of its rows count, and how much of each feature is left at the next time.

    Args:
        num_features: F.
        outputs: C classes, or K numbers.
    """

    counts: Tensor
    keeps: Tensor

    def __init__(self, num_features: int, outputs: int) -> None:
        super().__init__()
        self.outputs, self.own = outputs, outputs + num_features
        self.weight = nn.Parameter(torch.zeros(2 * self.own + 2 * outputs + 1, outputs))
        self.register_buffer("counts", torch.zeros(len(self.weight), dtype=torch.bool))
        self.register_buffer("keeps", torch.zeros(num_features))

    @property
    def is_used(self) -> bool:
        """Whether anything counts."""
        return bool(self.counts.any())

    def blocks(self) -> list[Block]:
        """Rows of B by what they read; few numbers come first, since company knows of drift too."""
        C, own = self.outputs, self.own
        level, change, constant = (2 * own + k * C for k in range(3))
        return [
            Block(NOW, 0, C),
            Block(DRIFT, level, change, is_shared=True, by_time=True),
            Block(DRIFT, change, constant, is_shared=True, by_time=True),
            Block(DRIFT, constant, constant + 1, by_time=True),
            Block(FEATURES, C, own),
            Block(COMPANY, own, level),
        ]

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of what counts: "now", "features", "company", "drift"."""
        return tuple(dict.fromkeys(block.name for block in self.blocks() if bool(self.counts[block.start])))

    @torch.no_grad()
    def take(self, choice: Choice, B: Float[Tensor, "input output"]) -> None:
        """Begin with B; the rows of what was chosen count."""
        self.counts.fill_(False)
        for block in choice.blocks:
            self.counts[block.start : block.stop] = True
        self.weight.copy_(B)

    @torch.no_grad()
    def learn_keeping(self, x: Float[Tensor, "time agent feature"], present: Bool[Tensor, "time agent"]) -> None:
        """Learn which share of each standardised feature is still there at the next time."""
        pairs = present[:-1] & present[1:]
        before, after = x[:-1][pairs], x[1:][pairs]
        self.keeps.copy_(((before * after).sum(0) / before.square().sum(0).clamp(min=LEAST_SQUARES)).clamp(0.0, 1.0))

    def forward(self, plain: Plain) -> Float[Tensor, "time agent output"]:
        """Return what is added to logits, or to standardised means."""
        return plain.inputs() @ self.counted()

    def counted(self) -> Float[Tensor, "input output"]:
        """Return B, 0 in the rows of what does not count."""
        return self.weight * self.counts.unsqueeze(1)

    def faded(self, x: Float[Tensor, "*batch feature"], steps: int) -> Float[Tensor, "*batch feature"]:
        """Features as they are expected ``steps`` steps on."""
        return self.keeps**steps * x

    def later(
        self, plain: Plain, probable: Float[Tensor, "time agent output"], steps: int
    ) -> Float[Tensor, "time agent output"]:
        """Return the same from ``steps`` steps on, where outcomes are only probable and features fade to their mean."""
        faded = Plain(probable, self.faded(plain.x, steps), plain.level, plain.change, plain.pull)
        return self(faded)


def plain_of(
    observed: Observed, x: Float[Tensor, "time agent feature"], told: Tensor, level: Float[Tensor, "time output"]
) -> Plain:
    """Collect what is seen at each time; features beyond six deviations say no more than those do."""
    change = torch.cat([torch.zeros_like(level[:1]), level[1:] - level[:-1]])
    return Plain(told, x.clamp(-REACH, REACH), level, change, observed.pull)


def told_classes(
    y: Int[Tensor, "time agent"], known: Bool[Tensor, "time agent"], frequency: Float[Tensor, " class"]
) -> tuple[Float[Tensor, "time agent class"], Float[Tensor, "time class"]]:
    """Classes as columns, and the log of how frequent they are among everybody at a time over all of training."""
    told = nn.functional.one_hot(y, len(frequency)).to(frequency) * known.unsqueeze(-1)
    among = (told.sum(1) + EVERYBODY * frequency) / (known.sum(1, keepdim=True) + EVERYBODY)
    return told, among.log() - frequency.log()


def told_numbers(
    z: Float[Tensor, "time agent output"], known: Bool[Tensor, "time agent"]
) -> tuple[Float[Tensor, "time agent output"], Float[Tensor, "time output"]]:
    """Standardised numbers where they are known, and their mean among everybody at a time."""
    told = z * known.unsqueeze(-1)
    return told, told.sum(1) / (known.sum(1, keepdim=True) + EVERYBODY)


def _company(own: Float[Tensor, "agent input"], pull: tuple[Tensor, Tensor] | None) -> Float[Tensor, "agent input"]:
    if pull is None:
        return torch.zeros_like(own)
    gather, spread = pull
    return torch.sparse.mm(spread, torch.sparse.mm(gather, own))
