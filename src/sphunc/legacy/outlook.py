"""Predictive laws of many outcomes at once, for classes and for numbers alike: surprise, error, temperature, scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.nn.aleatoric import gaussian_log_density


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is forecast, and how unsure it is.

    Attributes:
        log_probabilities: ``[..., C]`` of classes, or None.
        mean: ``[..., K]`` of numbers, or None.
        variance: ``[..., K]`` of numbers, in squares of ``unit``; or None.
        total: total uncertainty ``[...]``.
        unit: ``[..., K]`` spread of each number in training, so that nothing hangs on what it was measured in; None
            is 1.
        left_open: part of ``variance`` that was counted, and that no temperature changes; None is 0.
    """

    log_probabilities: Tensor | None
    mean: Tensor | None
    variance: Tensor | None
    total: Tensor
    unit: Tensor | None = None
    left_open: Tensor | None = None

    @property
    def raw_variance(self) -> Float[Tensor, "*batch output"]:
        """Variance of numbers in squares of their own units: in double precision, as single ones have small squares."""
        assert self.variance is not None
        variance = self.variance.double()
        return variance if self.unit is None else variance * self.unit.double().square()

    def rows(self, mask: Bool[Tensor, "*batch"]) -> Outlook:
        """Return the forecasts where ``mask`` is True, as rows."""
        return self._map(lambda value: value[mask])

    def at(self, time: int) -> Outlook:
        """Return the forecasts from one origin, on the CPU."""
        return self._map(lambda value: value[time].detach().cpu())

    def double(self) -> Outlook:
        """Return the same in double precision, without gradients."""
        return self._map(lambda value: value.detach().double())

    def standardised(self, outcome: Tensor) -> tuple[Outlook, Tensor]:
        """Return forecasts and outcomes of numbers around the forecast means, in units of ``unit``; classes unchanged.

        Their surprise is the same up to a constant, which hangs on what numbers were measured in.
        """
        if self.mean is None or self.unit is None:
            return self, outcome
        gap = (outcome.to(self.mean.dtype) - self.mean) / self.unit
        return replace(self, mean=torch.zeros_like(gap), unit=None), gap

    def tempered(self, tau: Float[Tensor, "*batch"]) -> Outlook:
        r"""Return forecasts that are less sure where ``tau`` is above 1, and surer where it is below.

        Classes: :math:`p \propto p^{1/\tau}`. Numbers: :math:`v = o + \tau^2 (v - o)`, with o left open.
        """
        if self.log_probabilities is not None:
            log_p = torch.log_softmax(self.log_probabilities / tau.unsqueeze(-1), -1)
            return Outlook(log_p, None, None, self.total)
        assert self.variance is not None
        factor = tau.unsqueeze(-1).square()
        if self.left_open is None:
            return replace(self, variance=self.variance * factor)
        return replace(self, variance=self.left_open + factor * (self.variance - self.left_open))

    def sureness(self) -> float:
        """How sure the forecasts are on average: the mean largest probability, or minus the mean log deviation."""
        if self.log_probabilities is not None:
            return float(self.log_probabilities.amax(-1).exp().mean())
        assert self.variance is not None
        return -0.5 * float(self.variance.log().mean())

    def surprise(self, outcome: Tensor) -> Float[Tensor, "*batch"]:
        """Negative log-likelihood of each outcome, in nats, summed over the numbers of an agent."""
        if self.log_probabilities is not None:
            return -self.log_probabilities.gather(-1, outcome.unsqueeze(-1)).squeeze(-1)
        assert self.mean is not None
        assert self.variance is not None
        return -gaussian_log_density(outcome.to(self.mean.dtype), self.mean, self.variance, self.unit).sum(-1)

    def squared_error(self, outcome: Tensor, mask: Bool[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        r"""How wrong each forecast was, in [0, 1]: :math:`(1 - p_y)^2`, or :math:`z^2 / (1 + z^2)` of residuals z.

        For numbers z is in units of the spread of the outcomes that count, not of the forecast's own: a forecast may
        not excuse itself by being vague. 0 where no outcome counts.
        """
        if self.log_probabilities is not None:
            return (1.0 - (-self.surprise(outcome)).exp()).square() * mask
        assert self.mean is not None
        known = outcome[mask].to(self.mean.dtype)
        gap, around = outcome - self.mean, known - known.mean(0)
        if self.unit is not None:
            gap, around = gap / self.unit, around / self.unit[mask]
        spread = around.var(0, correction=0).clamp(min=torch.finfo(self.mean.dtype).eps)
        z = (gap.square() / spread).mean(-1)
        return z / (1.0 + z) * mask

    def scores(self, outcome: Tensor) -> Float[Tensor, "*batch"]:
        r"""Non-conformity of each outcome: :math:`1 - p_y`, or the largest :math:`|y - \mu| / \sigma`."""
        if self.log_probabilities is not None:
            return 1.0 - (-self.surprise(outcome)).exp()
        assert self.mean is not None
        assert self.variance is not None
        gap = (outcome - self.mean).abs()
        return ((gap if self.unit is None else gap / self.unit) / self.variance.sqrt()).amax(-1)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Outlook:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        changed = {name: None if value is None else change(value) for name, value in values.items()}
        return Outlook(**changed)  # pyright: ignore[reportArgumentType]


def stacked(parts: list[Outlook]) -> Outlook:
    """Return forecasts of several times or steps as one, ``[T, ...]``."""
    values = {f.name: [getattr(one, f.name) for one in parts] for f in fields(Outlook)}
    joined = {name: None if some[0] is None else torch.stack(some) for name, some in values.items()}
    return Outlook(**joined)  # pyright: ignore[reportArgumentType]


def merge(parts: list[Outlook], part: Tensor) -> Outlook:
    """Take each agent's forecast from the member that did not learn from it.

    Args:
        parts: K forecasts ``[T, N, ...]``.
        part: member to read for each agent ``[N]``.
    """
    chosen: dict[str, Tensor | None] = {}
    for f in fields(parts[0]):
        values = [getattr(one, f.name) for one in parts]
        agents = torch.arange(len(part), device=part.device)
        # Contiguous, as it is when read back: kernels round by memory layout, and a resumed run is to be the same.
        whole = None if values[0] is None else torch.stack(values)[part, :, agents].transpose(0, 1).contiguous()
        chosen[f.name] = whole
    return Outlook(**chosen)  # pyright: ignore[reportArgumentType]
