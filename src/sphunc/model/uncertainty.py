r"""Aleatoric part, monotone fusion, temperature and tails; all learned on held-out outcomes.

The aleatoric part of eq. (uncertainty_components) of the paper and the epistemic one are fused as
in eq. (uncertainty_fusion) of the paper,

.. math:: U_{total} = g_\omega(U_{epi}, U_{alea}) = \omega_0 + \omega_1 U_{epi} + \omega_2 U_{alea}, \qquad
          \omega_1, \omega_2 \ge 0

fitted to held-out squared residuals, eq. (entropy_calibration) of the paper, so that it ranks
errors. :math:`U_{epi}` is the entropy of the belief scaled to [0, 1]. The
temperature :math:`\tau = \exp(a + b (U_{total} - \bar U))` acts only where it clearly helps on
held-out outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from scipy.optimize import nnls

from sphunc._typing import Float, Int, Tensor
from sphunc.forecasting import NORMAL, Categorical, Gaussian, PredictiveDistribution, Tails

TEMPERATURES = tuple(math.exp(0.1 * k) for k in range(-5, 9))
SLOPES = (0.0, 0.5, 1.0, 2.0)
STEEPNESS = 0.2
"""Change of log temperature with one deviation of the total, at slope 1."""
OUTLIER_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
OUTLIER_RATIOS = (2.0, 3.0, 5.0, 10.0, 20.0)
LEAST_EPISTEMIC_WEIGHT = 1e-3
"""Weight of the epistemic part that is always there, relative to the spread of the aleatoric one."""
LEAST_ALEATORIC_WEIGHT = 1e-2
LEAST_SPREAD = 1e-9
"""Deviation of uncertainties below which they are alike up to rounding."""
FUSION_GATE = 2.0
"""Standard errors by which the epistemic part must explain held-out residuals better."""


def aleatoric_variance(sharp: PredictiveDistribution) -> Float[Tensor, " agent"]:
    r"""Uncertainty of the outcome that would be left if the parameters were known.

    Classes: :math:`1 - \max_c p_c`, the error rate of the best guess (Bayes error), which ranks
    errors as the top probability does. Numbers: their mean variance.

    Args:
        sharp: predictive distribution without what is not known of parameters and states.
    """
    if isinstance(sharp, Categorical):
        return 1.0 - sharp.confidence
    return sharp.variance.mean(-1)


@dataclass(frozen=True)
class Fusion:
    """Monotone fusion of both parts.

    Attributes:
        intercept: omega_0.
        epistemic: omega_1, at least 0.
        aleatoric: omega_2, at least 0.
    """

    intercept: float = 0.0
    epistemic: float = LEAST_EPISTEMIC_WEIGHT
    aleatoric: float = 1.0

    def __call__(
        self, epistemic: Float[Tensor, " agent"], aleatoric: Float[Tensor, " agent"]
    ) -> Float[Tensor, " agent"]:
        """Total uncertainty.

        Args:
            epistemic: scaled to [0, 1].
            aleatoric: of the outcome.
        """
        return self.intercept + self.epistemic * epistemic + self.aleatoric * aleatoric


def fit_fusion(
    epistemic: Float[Tensor, " row"],
    aleatoric: Float[Tensor, " row"],
    squared_error: Float[Tensor, " row"],
    agent: Int[Tensor, " row"],
) -> Fusion:
    """Non-negative least squares of held-out squared residuals on both parts (Lawson and Hanson
    1974).

    The epistemic part has the weight of the fit if it explains residuals better by two standard
    errors; else a weight so small that it orders only agents whose aleatoric parts are alike.

    Args:
        epistemic: of each held-out row, scaled to [0, 1].
        aleatoric: of each row.
        squared_error: of its forecast.
        agent: of each row.
    """
    if len(squared_error) < 10:
        return Fusion()
    level, least = _non_negative_fit([aleatoric], squared_error)
    joint, weights = _non_negative_fit([aleatoric, epistemic], squared_error)
    # What is always there: the total never ignores the epistemic part, and never drowns in it.
    spread = max(float(aleatoric.std()), LEAST_SPREAD) / max(float(epistemic.std()), LEAST_SPREAD)
    least_weight = LEAST_EPISTEMIC_WEIGHT * min(spread, 1.0)
    aleatoric_weight = max(least[1], LEAST_ALEATORIC_WEIGHT)
    alone = Fusion(least[0], least_weight * aleatoric_weight, aleatoric_weight)
    gain = (squared_error - level).square() - (squared_error - joint).square()
    if min(weights[1:]) <= 0 or float(gain.mean()) <= FUSION_GATE * clustered_error(gain, agent):
        return alone
    return Fusion(weights[0], min(weights[2], weights[1]), weights[1])


def _non_negative_fit(
    parts: Sequence[Float[Tensor, " row"]], squared_error: Float[Tensor, " row"]
) -> tuple[Float[Tensor, " row"], list[float]]:
    """Fitted values, and the weights of a constant and of each part."""
    design = torch.stack([torch.ones_like(squared_error), *parts], 1)
    weights, _ = nnls(design.cpu().numpy(), squared_error.cpu().numpy())
    return design @ torch.as_tensor(weights).to(design), weights.tolist()


@dataclass(frozen=True)
class Temperature:
    """How much sharper or wider forecasts become with their total uncertainty.

    Attributes:
        level: a.
        slope: b, at least 0.
        centre: mean total uncertainty.
    """

    level: float = 0.0
    slope: float = 0.0
    centre: float = 0.0

    def of(self, total: Float[Tensor, " agent"]) -> Float[Tensor, " agent"]:
        """Temperature of each forecast.

        Args:
            total: total uncertainty.
        """
        return torch.exp(self.level + self.slope * (total - self.centre))

    @property
    def is_neutral(self) -> bool:
        """True where forecasts stay as they are."""
        return self.level == 0.0 and self.slope == 0.0


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows: which agent, which block of the hold-out, and the outcome.

    Attributes:
        agent: ``[n]``.
        block: held-out origin or half of them; a gain must show in every block ``[n]``.
        outcome: ``[n, C]``.
    """

    agent: Int[Tensor, " row"]
    block: Int[Tensor, " row"]
    outcome: Float[Tensor, "row output"]

    def __len__(self) -> int:
        """Return n."""
        return len(self.agent)


def clustered_error(gap: Float[Tensor, " row"], agent: Int[Tensor, " row"]) -> float:
    """Standard error of a mean over rows, clustered by agent.

    Args:
        gap: value of each row.
        agent: of each row.
    """
    if len(gap) < 2:
        return math.inf
    centred = gap - gap.mean()
    _, place = agent.unique(return_inverse=True)
    groups = int(place.max()) + 1
    if groups < 2:
        return math.inf
    sums = gap.new_zeros(groups).index_add_(0, place, centred)
    return float(sums.square().sum().sqrt()) / len(gap) * math.sqrt(groups / (groups - 1))


def passes_gate(gain: Float[Tensor, " row"], held: HeldOut, errors: float = 2.0) -> bool:
    """Say whether a gain in NLL exceeds so many standard errors and shows in every block of the
    hold-out.

    Args:
        gain: of each held-out row, in nats.
        held: the rows.
        errors: standard errors.
    """
    if len(gain) < 10 or float(gain.mean()) <= errors * clustered_error(gain, held.agent):
        return False
    return all(float(gain[held.block == block].mean()) > 0 for block in held.block.unique().tolist())


def fit_temperature(distribution: PredictiveDistribution, total: Float[Tensor, " row"], held: HeldOut) -> Temperature:
    """Temperature that fits held-out outcomes best, if it passes the gate; else none.

    Args:
        distribution: held-out forecasts.
        total: their total uncertainty.
        held: the rows.
    """
    before = distribution.nll(held.outcome)
    centre = float(total.mean()) if len(total) else 0.0
    spread = float(total.std()) if len(total) > 1 else 0.0
    best = Temperature(centre=centre)
    best_loss = float(before.mean()) if len(before) else 0.0
    slopes = (0.0,)
    if spread > LEAST_SPREAD:
        slopes = tuple(STEEPNESS * slope / spread for slope in SLOPES)
    for level in TEMPERATURES:
        for slope in slopes:
            candidate = Temperature(math.log(level), slope, centre)
            loss = float(distribution.tempered(candidate.of(total)).nll(held.outcome).mean())
            if loss < best_loss:
                best = candidate
                best_loss = loss
    gain = before - distribution.tempered(best.of(total)).nll(held.outcome)
    return best if passes_gate(gain, held) else Temperature(centre=centre)


def fit_tails(distribution: PredictiveDistribution, held: HeldOut, errors: float) -> Tails:
    """Tails that fit held-out numbers best, if outliers pass the gate; else normal ones.

    Args:
        distribution: held-out forecasts.
        held: the rows.
        errors: standard errors of the gate.
    """
    if not isinstance(distribution, Gaussian):
        return NORMAL
    before = distribution.nll(held.outcome)
    best = NORMAL
    kept = before
    for share in OUTLIER_SHARES:
        for ratio in OUTLIER_RATIOS:
            candidate = Tails(share, ratio)
            losses = replace(distribution, tails=candidate).nll(held.outcome)
            if len(losses) and float(losses.mean()) < float(kept.mean()):
                best = candidate
                kept = losses
    return best if passes_gate(before - kept, held, errors) else NORMAL
