r"""The objective, :math:`L = L_{pred} + \lambda_1 L_{entropy} + \lambda_2 L_{causal}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.observed import Observed
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.run import Run
from sphunc.legacy.targets import Targets
from sphunc.sphere import log_normalizer


@dataclass(frozen=True, eq=False)
class Losses:
    """The three parts of the objective and their weighted sum, each a scalar."""

    prediction: Tensor
    entropy: Tensor
    causal: Tensor
    total: Tensor


def losses(
    network: Any, run: Run, observed: Observed, targets: Targets, config: SphUncConfig, empirical: Tensor | None
) -> Losses:
    r"""Objective of one run.

    Args:
        network: where the run comes from.
        run: forecasts from every origin.
        observed: what the run saw.
        targets: the outcomes that count.
        config: the weights :math:`\lambda_1, \lambda_2`.
        empirical: cross-fitted errors :math:`\hat U_{emp}` ``[T, N]``, or None before there are any.
    """
    prediction = prediction_loss(run, targets)
    entropy = prediction.new_zeros(()) if empirical is None else entropy_loss(run.total, empirical, targets.mask)
    causal = causal_loss(run, observed, config.dim) if config.lambda_causal > 0 else prediction.new_zeros(())
    total = prediction + config.lambda_entropy * entropy + config.lambda_causal * causal
    return Losses(prediction, entropy, causal, total)


def prediction_loss(run: Run, targets: Targets) -> Tensor:
    """Mean negative log-likelihood of the outcomes that count, in nats."""
    variance = None if run.mean is None else run.variance
    outlook = Outlook(run.log_probabilities, run.mean, variance, run.total, run.unit)
    return outlook.rows(targets.mask).surprise(targets.outcome[targets.mask]).mean()


def entropy_loss(total: Tensor, empirical: Tensor, mask: Tensor) -> Tensor:
    r"""Mean of :math:`(U_{total} - \hat U_{emp})^2` over the outcomes that count."""
    rows = min(len(total), len(empirical))
    return (total[:rows] - empirical[:rows])[mask[:rows]].square().mean()


def causal_loss(run: Run, observed: Observed, dim: int) -> Tensor:
    r"""Mean of :math:`-\log \mathrm{vMF}(\bar h_{t+1}; F_t, \kappa_t) / D` over agents seen at t + 1, in nats.

    No gradient reaches :math:`\bar h_{t+1}`: the step is to meet the encoder, not the reverse.
    """
    seen = observed.seen_again
    if not bool(seen.any()):
        return run.total.new_zeros(())
    kappa = run.ahead_strength[:-1][seen]
    cosine = (run.ahead[:-1] * run.latents[1:].detach()).sum(-1)[seen]
    return -(log_normalizer(kappa, dim, validate=False) + kappa * cosine).mean() / dim
