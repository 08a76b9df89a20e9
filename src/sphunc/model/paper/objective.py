r"""The composite objective, eq. (joint_loss) of the paper.

.. math:: L = L_{pred} + \lambda_1 L_{entropy} + \lambda_2 L_{causal}
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Links, Tensor
from sphunc.model.paper.config import PaperConfig
from sphunc.model.paper.equations import Geometry, belief_log_density
from sphunc.model.paper.network import PaperOutput
from sphunc.nn import gaussian_log_density, squashed_variance

SPARSITY = 0.1
"""Weight of the sparsity prior against the fidelity of the structural assignment inside L_causal."""


@dataclass(frozen=True, eq=False)
class PaperTargets:
    """Outcomes at ``t + horizon`` in the row of their origin t, and which of them count where.

    Attributes:
        outcome: classes ``[T, N]``, or numbers ``[T, N, K]``.
        train: cells of L_pred ``[T, N]``.
        calibration: held-out cells whose residuals L_entropy is measured on ``[T, N]``.
        validation: held-out cells that stop training and set the final temperature ``[T, N]``.
    """

    outcome: Tensor
    train: Bool[Tensor, "time agent"]
    calibration: Bool[Tensor, "time agent"]
    validation: Bool[Tensor, "time agent"]


def negative_log_likelihood(
    output: PaperOutput, outcome: Tensor, mask: Bool[Tensor, "time agent"], deviation: Tensor
) -> Float[Tensor, " cell"]:
    """Negative log-likelihood of every outcome that counts, in nats; summed over several numbers.

    Args:
        output: forecasts.
        outcome: classes ``[T, N]`` or numbers ``[T, N, K]``.
        mask: cells that count.
        deviation: spread of numbers in training ``[K]``.
    """
    if output.log_probabilities is not None:
        chosen = outcome[mask].unsqueeze(-1)
        return -output.log_probabilities[mask].gather(-1, chosen).squeeze(-1)
    assert output.mean is not None
    assert output.variance is not None
    unit = deviation.expand_as(output.mean[mask])
    scaled = output.variance[mask] / unit.square()
    return -gaussian_log_density(outcome[mask], output.mean[mask], scaled, unit).sum(-1)


def prediction_loss(
    output: PaperOutput, outcome: Tensor, mask: Bool[Tensor, "time agent"], deviation: Tensor
) -> Float[Tensor, ""]:
    r""":math:`L_{pred}`: mean negative log-likelihood of the targets; 0 if there are none.

    Args:
        output: forecasts.
        outcome: classes ``[T, N]`` or numbers ``[T, N, K]``.
        mask: cells that count.
        deviation: spread of numbers in training ``[K]``.
    """
    values = negative_log_likelihood(output, outcome, mask, deviation)
    if len(values) == 0:
        return output.total.new_zeros(())
    return values.mean()


def squared_residuals(output: PaperOutput, outcome: Tensor, deviation: Tensor) -> Float[Tensor, "time agent"]:
    r"""Empirical uncertainty :math:`\hat U_{emp}`, on the scale of :math:`U_{total}`: in [0, 1].

    .. math:: \hat U_{emp} = \tfrac12 \sum_c (p_c - [y = c])^2, \qquad
              \hat U_{emp} = r^2 / (1 + r^2)

    for classes and for numbers with standardised residual r (mean square over several). The paper
    says "squared residuals measured on held-out windows". No gradient passes.

    Args:
        output: forecasts.
        outcome: classes ``[T, N]`` or numbers ``[T, N, K]``.
        deviation: spread of numbers in training ``[K]``.
    """
    if output.log_probabilities is not None:
        probability = output.log_probabilities.detach().exp()
        truth = torch.nn.functional.one_hot(outcome, probability.shape[-1])
        return 0.5 * (probability - truth).square().sum(-1)
    assert output.mean is not None
    residual = (outcome - output.mean.detach()) / deviation
    return squashed_variance(residual.square().mean(-1))


def entropy_loss(
    total: Float[Tensor, "time agent"],
    empirical: Float[Tensor, "time agent"],
    mask: Bool[Tensor, "time agent"],
) -> Float[Tensor, ""]:
    r""":math:`L_{entropy}`, ``eq:entropy_calibration``: mean of :math:`(U_{total} - \hat U_{emp})^2`.

    Args:
        total: :math:`U_{total}`.
        empirical: :math:`\hat U_{emp}`.
        mask: held-out cells.
    """
    if not bool(mask.any()):
        return total.new_zeros(())
    return (total - empirical)[mask].square().mean()


def causal_loss(
    output: PaperOutput,
    observed: Bool[Tensor, "time agent"],
    gating_factors: Float[Tensor, "link lag"],
    links: Links,
    agents: Bool[Tensor, " agent"],
    geometry: Geometry,
) -> Float[Tensor, ""]:
    r""":math:`L_{causal}`: fidelity of the structural assignment, and sparsity of the links.

    .. math:: -\frac{1}{D\,|O|} \sum_{(i,t) \in O} \log p\big(h_{t+1}^i \mid \mu_{t+1}^i, \kappa_t^i\big)
              + \frac{0.1}{N} \sum_{i,j,l} |\gamma_{ij}^{(l)}|

    The paper says that it "regularizes the learned causal structure and functions against available
    interventional or domain constraints" and gives no formula. The constraints that it states are
    the structural equation itself, temporal order (links act on the next time only) and the
    sparsity prior. The first term is the only likelihood that the concentration head feels. No
    gradient reaches
    :math:`h_{t+1}`: the assignment is to meet the encoder, not the reverse.

    Args:
        output: states, assignments and concentrations at T times.
        observed: who was observed when.
        gating_factors: :math:`\gamma`.
        links: row 1 the target.
        agents: agents that count.
        geometry: of the states.
    """
    dim = output.directions.shape[-1]
    mask = observed[1:] & observed[:-1] & agents
    loss = output.total.new_zeros(())
    if bool(mask.any()):
        density = belief_log_density(
            output.directions[1:].detach()[mask],
            output.next_mean[:-1][mask],
            output.kappa[:-1][mask],
            geometry,
        )
        loss = loss - density.mean() / dim
    if links.shape[1] > 0:
        penalty = gating_factors[agents[links[1]]].abs().sum() / agents.sum()
        loss = loss + SPARSITY * penalty
    return loss


def composite_loss(
    prediction: Float[Tensor, ""],
    entropy: Float[Tensor, ""],
    causal: Float[Tensor, ""],
    config: PaperConfig,
) -> Float[Tensor, ""]:
    r""":math:`L = L_{pred} + \lambda_1 L_{entropy} + \lambda_2 L_{causal}`, ``eq:joint_loss``.

    Args:
        prediction: :math:`L_{pred}`.
        entropy: :math:`L_{entropy}`.
        causal: :math:`L_{causal}`.
        config: gives the weights.
    """
    return prediction + config.lambda_entropy * entropy + config.lambda_causal * causal
