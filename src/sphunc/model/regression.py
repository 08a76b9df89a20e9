r"""Penalised multinomial and Gaussian regression, exact and convex, with the Laplace approximation
of their posteriors.

.. math:: \min_B \; -\sum_n w_n \log \mathrm{softmax}(B^\top z_n)_{y_n} + \tfrac12 \sum_d \lambda_d \|B_d\|^2
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.optimize import minimize

from sphunc._typing import Float, Int, Tensor

INTERCEPT_PENALTY = 1e-3
MOST_ITERATIONS = 200
LEAST_INFORMATION = 0.1
"""About a class's intercept, in outcomes: n outcomes without a class leave it 1 / n, within a
factor of ten."""
NEWTON_STEPS = 30
"""At most, for a log-linear variance: a convex problem whose steps are bounded converges in fewer."""


def with_intercept(z: Float[Tensor, "row column"]) -> Float[Tensor, "row column_and_one"]:
    """Append the constant 1 as last column."""
    return torch.cat([z, z.new_ones(*z.shape[:-1], 1)], -1)


def _penalties(penalty: Float[Tensor, " column"]) -> Float[Tensor, " column_and_one"]:
    return torch.cat([penalty, penalty.new_tensor([INTERCEPT_PENALTY])])


class MultinomialProblem:
    r"""Rows of a penalised multinomial regression, prepared once for fits with several penalties.

    L-BFGS in coordinates in which the Hessian at equal probabilities is the identity (Böhning
    1992), so that a few tens of products with ``z`` are enough whatever the columns' correlations.

    Args:
        z: covariates, standardised.
        labels: classes.
        num_classes: C.
        weight: :math:`w_n` of each row.
    """

    def __init__(
        self,
        z: Float[Tensor, "row column"],
        labels: Int[Tensor, " row"],
        num_classes: int,
        weight: Float[Tensor, " row"],
    ) -> None:
        # Rows run along the last axis, so that sums over a few classes are sums of long vectors.
        self.design = torch.cat([z.mT, z.new_ones(1, len(z))])
        self.weight = weight
        self.frequency = _smoothed_frequencies(labels, num_classes, weight)
        indicators = torch.nn.functional.one_hot(labels, num_classes).mT
        self.weighted_outcome = (indicators * weight).contiguous()
        curvature = float((self.frequency * (1 - self.frequency)).mean())
        self.gram = (self.design * (weight * curvature)) @ self.design.mT

    def fit(
        self,
        penalty: Float[Tensor, " column"],
        start: Float[Tensor, "column_and_one class"] | None = None,
        tolerance: float = 1e-4,
    ) -> Float[Tensor, "column_and_one class"]:
        r"""Coefficients B; the intercept is the last row.

        Args:
            penalty: ridge penalty :math:`\lambda_d` of each column.
            start: coefficients to start from.
            tolerance: at which the search ends: remaining gradient, in units of posterior
                deviations, over the square root of the total weight. Half its square is lost per
                row and column.
        """
        penalties = _penalties(penalty).unsqueeze(1)
        total = float(self.weight.sum())
        factor = torch.linalg.cholesky(self.gram + torch.diag(penalties.flatten()))
        if start is None:
            start = self.design.new_zeros(len(self.design), len(self.frequency))
            start[-1] = self.frequency.log()
        shape = start.shape

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            whitened = torch.from_numpy(flat).to(self.design).view(shape)
            coefficients = torch.linalg.solve_triangular(factor.mT, whitened, upper=True)
            log_p = torch.log_softmax(coefficients.mT @ self.design, 0)
            loss = -torch.dot(self.weighted_outcome.flatten(), log_p.flatten())
            loss = loss + 0.5 * (penalties * coefficients.square()).sum()
            residual = log_p.exp_().mul_(self.weight).sub_(self.weighted_outcome)
            gradient = self.design @ residual.mT + penalties * coefficients
            gradient = torch.linalg.solve_triangular(factor, gradient, upper=False)
            return float(loss) / total, gradient.flatten().cpu().numpy() / total

        first = (factor.mT @ start).flatten().cpu().numpy()
        scale = math.sqrt(total)
        found = minimize(
            objective,
            first,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MOST_ITERATIONS, "gtol": tolerance / scale, "ftol": 1e-12, "maxcor": 20},
        )
        whitened = torch.from_numpy(found.x).to(self.design).view(shape)
        # Rows first, as a file gives them back: products in another order would differ in the last bit.
        return torch.linalg.solve_triangular(factor.mT, whitened, upper=True).contiguous()


def fit_multinomial(
    z: Float[Tensor, "row column"],
    labels: Int[Tensor, " row"],
    num_classes: int,
    penalty: Float[Tensor, " column"],
    weight: Float[Tensor, " row"],
    start: Float[Tensor, "column_and_one class"] | None = None,
    tolerance: float = 1e-4,
) -> Float[Tensor, "column_and_one class"]:
    r"""Coefficients B of a penalised multinomial regression; the intercept is the last row.

    Args:
        z: covariates, standardised.
        labels: classes.
        num_classes: C.
        penalty: ridge penalty :math:`\lambda_d` of each column.
        weight: :math:`w_n` of each row.
        start: coefficients to start from.
        tolerance: of :meth:`MultinomialProblem.fit`.
    """
    return MultinomialProblem(z, labels, num_classes, weight).fit(penalty, start, tolerance)


def _smoothed_frequencies(
    labels: Int[Tensor, " row"], num_classes: int, weight: Float[Tensor, " row"]
) -> Float[Tensor, " class"]:
    count = weight.new_ones(num_classes).index_add_(0, labels, weight)
    return count / count.sum()


def multinomial_covariance(
    z: Float[Tensor, "row column"],
    coefficients: Float[Tensor, "column_and_one class"],
    penalty: Float[Tensor, " column"],
    weight: Float[Tensor, " row"],
) -> Float[Tensor, "class column_and_one column_and_one"]:
    r"""Laplace covariance of each class's coefficients, blocks between classes left out.

    .. math:: (Z^\top \mathrm{diag}(w p_c (1 - p_c)) Z + \Lambda)^{-1}

    Of a class that never came, or of the only one, the rows say nothing about the intercept; it
    then has a least information, so that certainty is not taken for ignorance.

    Args:
        z: covariates of the training rows.
        coefficients: the maximum B.
        penalty: of each column.
        weight: of each row.
    """
    design = with_intercept(z)
    p = torch.softmax(design @ coefficients, 1)
    diagonal = torch.diag(_penalties(penalty))
    blocks = []
    for c in range(p.shape[1]):
        curvature = (weight * p[:, c] * (1 - p[:, c])).unsqueeze(1)
        precision = design.mT @ (design * curvature) + diagonal
        precision[-1, -1] += (LEAST_INFORMATION - curvature.sum()).clamp(min=0)
        blocks.append(torch.cholesky_inverse(torch.linalg.cholesky(precision)))
    return torch.stack(blocks)


def fit_gaussian(
    z: Float[Tensor, "row column"],
    target: Float[Tensor, "row output"],
    penalty: Float[Tensor, " column"],
    weight: Float[Tensor, " row"],
) -> tuple[Float[Tensor, "column_and_one output"], Float[Tensor, "column_and_one column_and_one"]]:
    r"""Coefficients of a ridge regression and :math:`(Z^\top W Z + \Lambda)^{-1}`, in closed form.

    Args:
        z: covariates, standardised.
        target: numbers.
        penalty: ridge penalty of each column, in units of the noise variance.
        weight: of each row.
    """
    design = with_intercept(z)
    weighted = design * weight.unsqueeze(1)
    gram = design.mT @ weighted + torch.diag(_penalties(penalty))
    # Rows first, as a file gives it back: products in another order would differ in the last bit.
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram)).contiguous()
    return inverse @ (weighted.mT @ target), inverse


def fit_log_variance(
    z: Float[Tensor, "row column"],
    squared: Float[Tensor, "row output"],
    penalty: float,
) -> Float[Tensor, "column_and_one output"]:
    r"""Coefficients of a log-linear model of Gaussian variances, by Newton steps on the penalised
    likelihood.

    .. math:: \min_\gamma \tfrac12 \sum_n \big(r_n^2 e^{-\gamma^\top z_n} + \gamma^\top z_n\big)
              + \tfrac{\lambda}{2} \|\gamma\|^2

    Convex in :math:`\gamma`; the intercept, last row, is not penalised. Harvey (1976).

    Args:
        z: covariates, standardised.
        squared: squared residuals :math:`r^2`.
        penalty: :math:`\lambda`.
    """
    design = with_intercept(z)
    ridge = torch.full_like(design[0], penalty)
    ridge[-1] = 0.0
    columns = []
    for k in range(squared.shape[1]):
        level = squared[:, k].mean().clamp(min=1e-12)
        ratio = squared[:, k] / level
        gamma = torch.zeros_like(design[0])
        for _ in range(NEWTON_STEPS):
            # Ratios of residual to variance are capped, so that one wild row cannot make a step explode.
            scaled = (ratio * torch.exp(-design @ gamma)).clamp(max=1e3)
            gradient = 0.5 * design.mT @ (1.0 - scaled) + ridge * gamma
            curvature = 0.5 * design.mT @ (design * scaled.clamp(min=0.1).unsqueeze(1)) + torch.diag(ridge)
            step = torch.linalg.solve(curvature + 1e-9 * torch.eye(len(ridge)).to(curvature), gradient)
            gamma = gamma - step.clamp(-1.0, 1.0)
            if float(step.abs().max()) < 1e-6:
                break
        gamma[-1] = gamma[-1] + level.log()
        columns.append(gamma)
    return torch.stack(columns, 1)


def widened_softmax(
    logits: Float[Tensor, "*batch class"], variance: Float[Tensor, "*batch class"]
) -> Float[Tensor, "*batch class"]:
    r"""Log of the expected softmax of Gaussian logits, in the mean-field approximation.

    .. math:: E\,\mathrm{softmax}_c \approx \mathrm{softmax}_c\big(\mu_c / \sqrt{1 + \pi v_c / 8}\big)

    with logits centred first (Lu, Ie and Sha 2021, after MacKay 1992). More variance of all logits
    alike never makes it sharper.

    Args:
        logits: means :math:`\mu`.
        variance: :math:`v`, of each logit.
    """
    centred = logits - logits.mean(-1, keepdim=True)
    shrunk = centred / (1.0 + math.pi / 8.0 * variance).sqrt()
    return torch.log_softmax(shrunk, -1)
