r"""Temperature of a baseline's forecasts, learned on outcomes that training did not use.

.. math::
    p \propto p^{1/\tau}, \qquad
    \tau_i = \tau_0 + (1 - \tau_0)\,\mathrm{softplus}(\beta_0 + a + b\,H_i), \qquad b \ge 0

with :math:`H_i` the entropy of the forecast over log C and
:math:`\mathrm{softplus}(\beta_0) = 1`, so that a = b = 0 changes nothing. A larger entropy never
makes a forecast sharper, and the most probable class stays the same. With b = 0 this is the
temperature scaling of Guo et al. (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from scipy.optimize import brentq, minimize
from torch import Tensor

from sphunc._typing import Float
from sphunc.baselines.forecaster import predictive_entropy
from sphunc.baselines.holdout import Targets
from sphunc.forecasting import Categorical

NEUTRAL = math.log(math.e - 1.0)
r""":math:`\beta_0`."""
PRIOR_DEVIATIONS = (0.15, 0.5)
"""Of a and b around 0. A network that stopped in time is about right on average: hundreds of
outcomes move the offset, forty hardly."""
FEWEST_TO_CALIBRATE = 100
"""Outcomes of held-out agents: those of the last origins, as many as it takes."""
LOWEST_TEMPERATURE = 0.05
r""":math:`\tau_0`."""
LARGEST_MOVE = 2.0
"""Of the offset, when the confidence of an earlier network is matched."""
MOST_STEPS = 100
Scaling = Literal["entropy", "scalar", "none"]
"""Temperature by entropy, one for all (Guo et al. 2017), or none."""


@dataclass(frozen=True)
class Temperature:
    """Temperature as a function of the predictive entropy.

    Attributes:
        offset: a.
        slope: b, 0 or more.
        count: outcomes it was learned from; 0 means that nothing was held out and nothing is
            changed.
    """

    offset: float = 0.0
    slope: float = 0.0
    count: int = 0

    def __call__(self, entropy: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return the temperature of forecasts with these entropies, each over log C."""
        return _temperature(entropy, self.offset, self.slope)

    def apply(self, forecasts: Categorical) -> Categorical:
        """Return the calibrated forecasts."""
        return forecasts.tempered(self(predictive_entropy(forecasts.probabilities)))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Forecasts of outcomes that a system had not learned from, before any temperature.

    Attributes:
        forecasts: of every origin and agent ``[T, N, C]``.
        targets: outcomes to calibrate on.
        final: forecasts of the same rows after a refit that learned from them; None where there was
            no such refit.
    """

    forecasts: Categorical
    targets: Targets
    final: Categorical | None = None

    def temperature(self, scaling: Scaling = "entropy") -> Temperature:
        """Fit a temperature to the held-out outcomes, moved to keep the mean confidence after a refit."""
        fitted = fit_temperature(self.forecasts, self.targets, scaling)
        if self.final is None or scaling == "none":
            return fitted
        mask = self.targets.mask
        return match_confidence(fitted, self.forecasts.select(mask), self.final.select(mask))


def mixture(parts: Sequence[Categorical]) -> Categorical:
    """Mean of the probabilities of several forecasts."""
    stacked = torch.stack([part.log_probabilities for part in parts])
    return Categorical(stacked.logsumexp(0) - math.log(len(parts)))


def fit_temperature(forecasts: Categorical, targets: Targets, scaling: Scaling = "entropy") -> Temperature:
    """Maximum a posteriori estimate of offset and slope; neutral where no outcome counts.

    Minimises the summed negative log-likelihood plus ``a^2 / (2 s_a^2) + b^2 / (2 s_b^2)`` with
    s_a = 0.15 and s_b = 0.5, so that few outcomes move little.

    Args:
        forecasts: ``[T, N, C]``.
        targets: outcomes of the same origins and agents.
        scaling: "entropy" as above, "scalar" with b = 0, "none" changes nothing.
    """
    if targets.count == 0 or scaling == "none":
        return Temperature()
    held_out = Categorical(forecasts.select(targets.mask).log_probabilities.detach().double())
    entropy = predictive_entropy(held_out.probabilities)
    outcome = targets.outcome[targets.mask].unsqueeze(-1)
    prior = torch.tensor(PRIOR_DEVIATIONS, dtype=torch.float64, device=outcome.device)

    @torch.enable_grad()
    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        free = torch.tensor(point, dtype=torch.float64, device=outcome.device, requires_grad=True)
        tempered = held_out.tempered(_temperature(entropy, free[0], free[1]))
        nll = -tempered.log_probabilities.gather(-1, outcome).sum()
        loss = nll + (free / prior).square().sum() / 2.0
        (gradient,) = torch.autograd.grad(loss, free)
        return float(loss.detach()), gradient.cpu().numpy()

    largest_slope = {"entropy": None, "scalar": 0.0}[scaling]
    bounds = [(None, None), (0.0, largest_slope)]
    found: Any = minimize(
        objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOST_STEPS}
    )
    offset, slope = found.x.tolist()
    return Temperature(offset, slope, targets.count)


def match_confidence(temperature: Temperature, held_out: Categorical, final: Categorical) -> Temperature:
    """Move the offset so that a network trained further keeps its mean confidence.

    What a network learns from the held-out outcomes sharpens its forecasts by itself; the
    temperature from before on top would be too much. The slope stays.

    Args:
        temperature: fitted to the forecasts ``held_out``.
        held_out: forecasts of outcomes that the network had not learned from.
        final: forecasts of the same outcomes by the network that has.
    """
    if temperature.count == 0:
        return temperature
    wanted = float(temperature.apply(held_out).confidence.mean())

    def excess(offset: float) -> float:
        return float(replace(temperature, offset=offset).apply(final).confidence.mean()) - wanted

    low = temperature.offset - LARGEST_MOVE
    high = temperature.offset + LARGEST_MOVE
    # No temperature matches where all classes are equally probable, or one is certain.
    if not excess(low) * excess(high) < 0:
        return temperature
    found: Any = brentq(excess, low, high, xtol=1e-6)
    return replace(temperature, offset=float(found))


def _temperature(entropy: Tensor, offset: float | Tensor, slope: float | Tensor) -> Tensor:
    scale = torch.nn.functional.softplus(NEUTRAL + offset + slope * entropy)
    return LOWEST_TEMPERATURE + (1.0 - LOWEST_TEMPERATURE) * scale
