r"""How sure forecasts of numbers are: noise, and what the past leaves open.

.. math:: v_i = \tau(U_i)^2 \sigma_i^2 + o_i, \qquad
          o_i = \begin{cases} (V_0 - \tau^2 \sigma_i^2)_+ & \text{nothing is known of } i \\
          e_1(U_i)\, (V_1 - \tau^2 \sigma_i^2)_+ & \text{it was seen, but none of its outcomes} \\
          e_2(U_i)\, X_a & \text{its last outcome is } a \text{ times old, } X_0 = 0 \end{cases}

in standardised units, one by one for each number. The variances V among agents of whom as little was known, and what an
outcome says less when it is a times older, are counted in training before the first pass. The shares e in (0, 1) are
learned: features may tell what no outcome did. Neither they nor :math:`\tau` fall when the total uncertainty U rises,
and v does not when the noise does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import isotonic_regression
from torch import Tensor, nn

from sphunc._typing import Bool, Float, Int
from sphunc.legacy.observed import Observed
from sphunc.legacy.targets import last_seen
from sphunc.nn.outcome import MIDDLE, Temperature

LEAST_NOISE = 1e-4
LEAST_SQUARES = 1e-6
# Outcomes of everybody that count among those of agents of whom as little is known: few tell no spread of their own.
EVERYBODY = 10.0
# Beyond, an outcome says as little as at this age.
OLDEST = 32
# Shares begin at sigmoid(3): nearly all is open that counting leaves so. They are single numbers with far to go.
INITIAL_SHARE, SHARE_PACE = 3.0, 5.0
NEVER = -1


@dataclass(frozen=True, eq=False)
class Past:
    """What is known of agents at some origins, as far as forecasts of numbers depend on it; shapes ``[T, N, ...]``.

    Attributes:
        expected: what persists of the last standardised outcome ``[T, N, K]``; 0 where there is none.
        age: times since that outcome, or -1.
        seen: whether anything is known.
    """

    expected: Tensor
    age: Int[Tensor, "time agent"]
    seen: Bool[Tensor, "time agent"]

    def until(self, stop: int) -> Past:
        """Return the origins ``0 ... stop - 1``."""
        return Past(self.expected[:stop], self.age[:stop], self.seen[:stop])

    def at(self, time: int) -> Past:
        """Return one origin."""
        now = slice(time, time + 1)
        return Past(self.expected[now], self.age[now], self.seen[now])


class Law(NamedTuple):
    """Standardised mean and variance of numbers ``[T, N, K]``, and the parts of the variance before any temperature."""

    mean: Tensor
    variance: Tensor
    noise: Tensor
    left_open: Tensor


class Numbers(nn.Module):
    """Owns what is counted and learned about numbers apart from states.

    Args:
        outputs: K.
    """

    level: Tensor
    spread: Tensor
    excess: Tensor
    is_split: Tensor

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.persistence = nn.Parameter(torch.zeros(outputs))
        # Log deviation of each standardised number relative to that of the noise head, which all of them share.
        self.log_spread = nn.Parameter(torch.zeros(outputs))
        # Of those who were seen without an outcome, and of those whose last outcome is old.
        self.shares = nn.Parameter(torch.full((2,), INITIAL_SHARE / SHARE_PACE))
        # Mean and variance where nothing is known, and where no outcome is.
        self.register_buffer("level", torch.zeros(2, outputs))
        self.register_buffer("spread", torch.ones(2, outputs))
        self.register_buffer("excess", torch.zeros(1, outputs))
        # Whether there are outcomes that others follow on: else the noise is all that is left once features are known.
        self.register_buffer("is_split", torch.zeros((), dtype=torch.bool))

    @torch.no_grad()
    def learn(self, z: Float[Tensor, "time agent output"], past: Past, known: Tensor, horizon: int) -> float | None:
        """Count, and begin as the regression on the last outcome; return the noise that it leaves, or None.

        Args:
            z: standardised outcomes.
            past: what was known at each time, before anything persists.
            known: whose outcomes are known at each time ``[T, N]``.
            horizon: steps from origin to target.
        """
        before = past.until(max(len(z) - horizon, 0))
        later, mask = z[horizon:], known[horizon:] & (before.age == NEVER)
        for kind, seen in enumerate((~before.seen, before.seen)):
            self.level[kind], self.spread[kind] = among_everybody(later[mask & seen])
        if bool((past.age == NEVER).all()) or not bool((known[:-horizon] & known[horizon:]).any()):
            return None
        self.is_split.fill_(True)
        self.persistence.copy_(regression(z, known, horizon))
        left, pairs = residual_variances(z, known, self.persistence, horizon)
        # Of outcomes as a whole the variance is 1: an old one leaves no more open than none.
        risen = never_falling(torch.minimum(left, left[:1].clamp(min=1.0)), pairs)
        self.excess = risen - risen[:1]
        return self.share_noise(left[0])

    @torch.no_grad()
    def share_noise(self, variance: Float[Tensor, " output"]) -> float:
        """Begin with these variances of the numbers; return what all of them share."""
        noise = variance.clamp(LEAST_NOISE, 1.0).log()
        self.log_spread.copy_((noise - noise.mean()) / 2)
        return float(noise.mean().exp())

    def expected(self, past: Past) -> Float[Tensor, "time agent output"]:
        """Return what is expected before anything is read off states, of agents of whom something is known."""
        return torch.where((past.age == NEVER).unsqueeze(-1), self.level[1], past.expected)

    def forward(
        self,
        read: Tensor,
        variance: Float[Tensor, "time agent"],
        past: Past,
        total: Tensor,
        temperature: Temperature,
        *,
        is_open: bool = True,
    ) -> Law:
        """Return the law of the numbers.

        Args:
            read: what is read off states ``[T, N, K]``.
            variance: what the noise head says.
            past: what is known.
            total: uncertainty U ``[T, N]``.
            temperature: the factor of deviations, and how fast it rises with U.
            is_open: whether what the past leaves open counts.
        """
        noise = variance.unsqueeze(-1) * self.log_spread.exp().square()
        tempered = noise * temperature(total).unsqueeze(-1).square()
        mean = read + self.expected(past)
        mean = torch.where(past.seen.unsqueeze(-1), mean, self.level[0].expand_as(mean))
        left_open = self._left_open(tempered, past, total, temperature.slope) * is_open
        return Law(mean, tempered + left_open, noise, left_open)

    def _left_open(self, noise: Tensor, past: Past, total: Tensor, slope: Tensor) -> Tensor:
        risen = slope * (total - MIDDLE)
        shares = torch.sigmoid(SHARE_PACE * self.shares + risen.unsqueeze(-1)) * self.is_split
        seen, old = (share.unsqueeze(-1) for share in shares.unbind(-1))
        unsaid, unknown = ((spread - noise).clamp(min=0.0) for spread in (self.spread[1], self.spread[0]))
        aged = self.excess[past.age.clamp(0, len(self.excess) - 1)]
        left = torch.where((past.age == NEVER).unsqueeze(-1), seen * unsaid, old * aged)
        return torch.where(past.seen.unsqueeze(-1), left, unknown)

    def remembered(self, past: Past) -> Past:
        """Return the past with what persists of its outcomes after the horizon of training."""
        return replace(past, expected=self.persistence * past.expected)

    def later(self, past: Past, steps: int, horizon: int) -> list[Past]:
        """Return what the past says 1 ... ``steps`` steps on; the learned share persists after ``horizon`` of them."""
        ahead = range(1, steps + 1)
        shares = [self.persistence.sign() * self.persistence.abs() ** (h / horizon) for h in ahead]
        ages = [torch.where(past.age == NEVER, NEVER, past.age + max(h - horizon, 0)) for h in ahead]
        return [Past(share * past.expected, age, past.seen) for share, age in zip(shares, ages, strict=True)]


def units(known: Float[Tensor, "row output"]) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each number, in double precision, so that a constant has its own mean.

    A spread below rounding says nothing: it counts as that.
    """
    rounding, centre = torch.finfo(known.dtype).eps, known.double().mean(0)
    least = rounding * torch.where(centre == 0, 1.0, centre.abs())
    return centre, torch.maximum(known.double().std(0, correction=0), least)


def past_of(observed: Observed, z: Float[Tensor, "time agent output"], *, outcomes: bool) -> Past:
    """Return what is known at each time, nothing of it from later.

    Args:
        observed: who was seen, and in which company.
        z: standardised outcomes.
        outcomes: whether outcomes count as known.
    """
    mask = observed.y_mask & outcomes
    seen = observed.x_mask.any(-1) | mask | in_groups(observed)
    times = torch.arange(len(z), device=z.device).unsqueeze(1)
    last = torch.where(mask, times, NEVER).cummax(0).values
    age = torch.where(last == NEVER, NEVER, times - last)
    return Past(last_seen(z, mask), age, seen.cumsum(0) > 0)


def in_groups(observed: Observed) -> Bool[Tensor, "time agent"]:
    """Tell who is in a group at each time."""
    company = torch.zeros_like(observed.present)
    for time, matrices in enumerate(observed.pull):
        if matrices is not None:
            company[time, matrices[1].coalesce().indices()[0]] = True
    return company


def among_everybody(z: Float[Tensor, "row output"]) -> tuple[Tensor, Tensor]:
    """Mean and variance of standardised outcomes, with ten of everybody (mean 0, variance 1) among them."""
    count = len(z) + EVERYBODY
    mean = z.sum(0) / count
    return mean, (z.square().sum(0) + EVERYBODY) / count - mean.square()


def regression(z: Tensor, known: Bool[Tensor, "time agent"], lag: int) -> Float[Tensor, " output"]:
    """Regression of each number on itself ``lag`` times before."""
    pairs = known[:-lag] & known[lag:]
    before, after = z[:-lag][pairs], z[lag:][pairs]
    return (before * after).sum(0) / before.square().sum(0).clamp(min=LEAST_SQUARES)


def residual_variances(
    z: Tensor, known: Bool[Tensor, "time agent"], slope: Float[Tensor, " output"], horizon: int
) -> tuple[Float[Tensor, "age output"], Float[Tensor, " age"]]:
    """Mean squares that an outcome leaves of another one, ``horizon`` + 0, 1, 2, ... times later; and of how many.

    Ages with few pairs are taken to be like the age before, by as much as ten pairs.
    """
    left: list[Tensor] = []
    counts: list[float] = []
    for lag in range(horizon, min(len(z), horizon + OLDEST)):
        pairs = known[:-lag] & known[lag:]
        squares = (z[lag:][pairs] - slope * z[:-lag][pairs]).square()
        like = EVERYBODY if left else 0.0
        counts.append(len(squares) + like)
        left.append((squares.sum(0) + (like * left[-1] if left else 0.0)) / counts[-1])
    return torch.stack(left), torch.tensor(counts)


def never_falling(values: Float[Tensor, "age output"], weights: Float[Tensor, " age"]) -> Float[Tensor, "age output"]:
    """Nearest values, by weighted squares, that do not fall with age: what differs by chance comes out equal."""
    columns = values.double().cpu().numpy().T
    fitted = [isotonic_regression(column, weights=weights.double().numpy()).x for column in columns]
    return torch.as_tensor(np.stack(fitted, -1)).to(values)
