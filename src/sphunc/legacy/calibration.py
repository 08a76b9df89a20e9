r"""Calibration after training: how sure a forecast may be, learned on outcomes that training did not see.

.. math:: \tau_i = \tau_0 + (1 - \tau_0)\,\mathrm{softplus}(\beta_0 + a + b\,U_i), \qquad b \ge 0

with :math:`\mathrm{softplus}(\beta_0) = 1`, so that a = b = 0 changes nothing. Classes: :math:`p \propto p^{1/\tau}`.
Numbers: the variance is multiplied by :math:`\tau^2`. A larger total uncertainty never makes a forecast surer, and the
class named stays the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from scipy.optimize import brentq
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.legacy.likeliest import minimise
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.targets import Targets

NEUTRAL = math.log(math.e - 1.0)
PRIOR_DEVIATIONS = (0.15, 0.5)
"""Of a and b around 0. A network that stopped in time is about right on average: hundreds of outcomes move the offset,
forty hardly."""
FEWEST_TO_CALIBRATE = 100
"""Outcomes of held-out agents: those of the last origins, and of as many before them as it takes."""
LOWEST_TEMPERATURE = 0.05
LARGEST_MOVES = {"classes": 2.0, "numbers": 1000.0}
"""Of the offset, when a law is carried over; a number may be a hundred times surer once its own past was learned."""


@dataclass(frozen=True)
class TemperatureLaw:
    """Temperature as a function of the total uncertainty.

    Attributes:
        offset: a.
        slope: b, 0 or more.
        count: outcomes it was learned from; 0 means that nothing was held out and nothing is changed.
    """

    offset: float = 0.0
    slope: float = 0.0
    count: int = 0

    def __call__(self, total: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return the temperature of forecasts with these total uncertainties."""
        return _temperature(total, self.offset, self.slope)

    def apply(self, outlook: Outlook) -> Outlook:
        """Return the calibrated forecasts."""
        return outlook.tempered(self(outlook.total))


def fit_temperature(outlook: Outlook, targets: Targets) -> TemperatureLaw:
    """Learn offset and slope by maximum a posteriori on the outcomes that count; neutral when there are none.

    Minimises the summed negative log-likelihood plus ``a^2 / (2 s_a^2) + b^2 / (2 s_b^2)`` with s_a = 0.15 and
    s_b = 0.5, so that few outcomes move little.
    """
    if targets.count == 0:
        return TemperatureLaw()
    # Standardised: the search ends by how little the loss falls relative to what it is, in whatever unit.
    held, truth = outlook.rows(targets.mask).double().standardised(targets.outcome[targets.mask])
    prior = torch.tensor(PRIOR_DEVIATIONS, dtype=torch.float64, device=held.total.device)

    def loss(free: Tensor) -> Tensor:
        tau = _temperature(held.total, free[0], free[1])
        return held.tempered(tau).surprise(truth).sum() + (free / prior).square().sum() / 2.0

    offset, slope = minimise(loss, torch.zeros_like(prior), least=(None, 0.0)).tolist()
    return TemperatureLaw(offset, slope, targets.count)


def carry_over(law: TemperatureLaw, judged: Outlook, final: Outlook) -> TemperatureLaw:
    """Return the law for a network that has learned on since: forecasts are to be as sure as those it was fitted to.

    What a network learns from the last outcomes makes it surer by itself; the law of its predecessor on top would be
    too much. The offset is moved, the slope stays.

    Args:
        law: fitted to the forecasts ``judged``.
        judged: forecasts, by a network that had not seen the outcomes, of what was held out.
        final: forecasts of the same by the network that has.
    """
    if law.count == 0:
        return law
    wanted = law.apply(judged).sureness()

    def excess(offset: float) -> float:
        return replace(law, offset=offset).apply(final).sureness() - wanted

    move = LARGEST_MOVES["numbers" if final.log_probabilities is None else "classes"]
    low, high = law.offset - move, law.offset + move
    if not excess(low) * excess(high) < 0:  # no temperature brings them there: all classes alike, or one for sure
        return law
    found: Any = brentq(excess, low, high, xtol=1e-6)
    return replace(law, offset=float(found))


def _temperature(total: Tensor, offset: float | Tensor, slope: float | Tensor) -> Tensor:
    return LOWEST_TEMPERATURE + (1.0 - LOWEST_TEMPERATURE) * torch.nn.functional.softplus(
        NEUTRAL + offset + slope * total
    )


def largest_score(scores: Float[Tensor, " row"], coverage: float, *, mask: Bool[Tensor, " row"] | None = None) -> float:
    r"""Conformal quantile: the :math:`\lceil (n+1)(1-\alpha) \rceil`-th smallest score; infinite if n is too small."""
    kept = scores if mask is None else scores[mask]
    rank = math.ceil((len(kept) + 1) * coverage - 1e-9)
    return float(kept.sort().values[rank - 1]) if rank <= len(kept) else math.inf
