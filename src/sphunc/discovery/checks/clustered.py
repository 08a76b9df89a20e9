"""Least squares with a few coefficients that all agents share, and errors clustered by agent."""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Float


def clustered_least_squares(
    gram: Float[Tensor, "agent column column"], moment: Float[Tensor, "agent column"]
) -> tuple[Float[Tensor, " column"], Float[Tensor, "column column"]]:
    r"""Coefficients and their covariance (Liang and Zeger 1986).

    .. math:: \hat\theta = G^{-1} \sum_i m_i, \qquad
              \widehat{\mathrm{Cov}} = \tfrac{N}{N-1} G^{-1} \sum_i u_i u_i' G^{-1}, \quad u_i = m_i - G_i \hat\theta

    Args:
        gram: cross products :math:`G_i` of the columns, per agent.
        moment: their cross products :math:`m_i` with the outcome.
    """
    agents = len(gram)
    inverse = torch.linalg.pinv(gram.sum(0), hermitian=True)
    theta = inverse @ moment.sum(0)
    score = moment - gram @ theta
    return theta, inverse @ (score.T @ score) @ inverse * agents / max(agents - 1, 1)
