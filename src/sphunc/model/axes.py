r"""State axes: directions of feature space that persist, and what features say along them.

Noise is drawn anew at every time, a state is not: directions are ranked by their lag-one
autocorrelation,

.. math:: \Gamma_1 v = \rho\, \Gamma_0 v, \qquad \Gamma_0 = E[x_t x_t^\top], \quad
          \Gamma_1 = \tfrac12 E[x_t x_{t+1}^\top + x_{t+1} x_t^\top]

(maximum autocorrelation factors, Switzer and Green 1984; slow feature analysis, Wiskott and
Sejnowski 2002). Features that were not observed are expected by a factor model; what they leave
open adds to the observation noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from scipy.sparse.csgraph import connected_components

from sphunc._typing import Bool, Float, Tensor
from sphunc.model.inputs import ModelInputs
from sphunc.nn import impute, learn_factors

LOWEST_AUTOCORRELATION = 0.05
SMALLEST_AXIS = 0.03
"""Size of a direction, relative to the first one, below which nothing persistent varies along it.
"""
LOWEST_SIGNAL = 0.1
"""Lag-one autocovariance, relative to the mean of all axes, below which an axis is dropped."""
CORRELATED = 0.25
"""Correlation that holds features together in one block."""
FEWEST_FOR_BLOCKS = 7
"""Features from which on only the largest correlated block makes states: the rest tells of
something else."""
NOISE_FACTOR = 1.2
"""Lag-zero less this times lag-one autocovariance is a first guess of the observation noise."""
CHUNK = 2**22
"""Numbers of the factor model held at a time."""


@dataclass(frozen=True, eq=False)
class StateAxes:
    """Linear map from features to K state axes, with mean 0 and a mean signal variance of 1.

    Attributes:
        mean: of each feature ``[F]``.
        scale: deviation of each feature ``[F]``.
        loadings: of the factor model ``[F, r]``.
        uniqueness: noise variances of the factor model ``[F]``.
        axes: A ``[F, K]``, acts on standardised features.
        in_block: True for the features that make states ``[F]``.
        signal: lag-one autocovariance of each axis ``[K]``.
        noise: first guess of the observation noise of each axis ``[K]``.
    """

    mean: Float[Tensor, " feature"]
    scale: Float[Tensor, " feature"]
    loadings: Float[Tensor, "feature factor"]
    uniqueness: Float[Tensor, " feature"]
    axes: Float[Tensor, "feature axis"]
    in_block: Bool[Tensor, " feature"]
    signal: Float[Tensor, " axis"]
    noise: Float[Tensor, " axis"]

    @property
    def num_axes(self) -> int:
        """K."""
        return self.axes.shape[1]

    def standardise(self, inputs: ModelInputs) -> Float[Tensor, "time agent feature"]:
        """Features with mean 0 and deviation 1, 0 where not observed."""
        return torch.where(inputs.x_mask, (inputs.x - self.mean) / self.scale, 0.0)

    def observe(
        self, inputs: ModelInputs
    ) -> tuple[Float[Tensor, "time agent axis"], Float[Tensor, "time agent axis"], Bool[Tensor, "time agent"]]:
        r"""What features say about states: :math:`z = A x`, the variance that missing features add,
        and where.

        Returns:
            z ``[T, N, K]``; added variance ``[T, N, K]``; True where a feature of the block was
            observed ``[T, N]``.
        """
        x = self.standardise(inputs)
        observed = (inputs.x_mask & self.in_block).any(-1)
        z = impute(x, inputs.x_mask, self.loadings, self.uniqueness) @ self.axes
        return z, self._missing_variance(inputs.x_mask, observed), observed

    def remainder(self, inputs: ModelInputs) -> Float[Tensor, "time agent"]:
        """Leading component of the features outside the block, smoothed over the past ``[T, N]``; 0
        without any."""
        if bool(self.in_block.all()):
            return inputs.x.new_zeros(inputs.x.shape[:2])
        x = self.standardise(inputs)[..., ~self.in_block]
        weight = _leading_direction(self.loadings, self.uniqueness, self.in_block)
        value = x @ weight
        smoothed = [value[0]]
        for t in range(1, len(value)):
            smoothed.append(0.5 * smoothed[-1] + 0.5 * value[t])
        return torch.stack(smoothed)

    def _missing_variance(
        self, mask: Bool[Tensor, "time agent feature"], observed: Bool[Tensor, "time agent"]
    ) -> Float[Tensor, "time agent axis"]:
        added = self.axes.new_zeros(*mask.shape[:2], self.num_axes)
        gaps = observed & ~(mask | ~self.in_block).all(-1)
        if not bool(gaps.any()):
            return added
        chunk = max(1, CHUNK // max(1, self.loadings.shape[1]) ** 2)
        added[gaps] = torch.cat([self._conditional_variance(rows) for rows in mask[gaps].split(chunk)])
        return added

    def _conditional_variance(self, mask: Bool[Tensor, "row feature"]) -> Float[Tensor, "row axis"]:
        """Variance of what is said along the axes, given the features that were observed."""
        missing = (~mask).to(self.axes.dtype)
        variance = missing @ (self.axes.square() * self.uniqueness.unsqueeze(1))
        rank = self.loadings.shape[1]
        if not rank:
            return variance
        # Products of loadings once per feature, not once per row and feature: rows are many.
        squares = (self.loadings.unsqueeze(2) * self.loadings.unsqueeze(1)).flatten(1)
        precision = ((1 - missing) / self.uniqueness @ squares).view(-1, rank, rank)
        factor = torch.linalg.cholesky(precision + torch.eye(rank).to(precision))
        reach = (self.loadings.unsqueeze(2) * self.axes.unsqueeze(1)).flatten(1)
        expected = (missing @ reach).view(-1, rank, self.num_axes)
        white = torch.linalg.solve_triangular(factor, expected, upper=False)
        return variance + white.square().sum(1)


def reduce_features(axes: StateAxes, inputs: ModelInputs) -> ModelInputs:
    """Return inputs whose features are what is said along the axes, and the remainder.

    Args:
        axes: learned from training times.
        inputs: with the features that these were learned from.
    """
    value, _, observed = axes.observe(inputs)
    x = torch.cat([value, axes.remainder(inputs).unsqueeze(-1)], -1)
    mask = observed.unsqueeze(-1).expand_as(x)
    return replace(inputs, x=torch.where(mask, x, 0.0), x_mask=mask)


def principal_axes(inputs: ModelInputs, most: int) -> StateAxes | None:
    """Leading principal directions of the features, for features of which nothing persists; None
    without any.

    Args:
        inputs: training times.
        most: at most this many.
    """
    found = _standardised(inputs)
    if found is None:
        return None
    filled, mask, statistics = found
    mean, scale, loadings, uniqueness, varies = statistics
    seen = filled[mask.any(-1)]
    _, size, directions = torch.linalg.svd(seen - seen.mean(0), full_matrices=False)
    kept = min(most, int((size > 1e-6 * size[0]).sum()))
    deviation = size[:kept] / len(seen) ** 0.5
    ones = torch.ones_like(deviation)
    return StateAxes(mean, scale, loadings, uniqueness, directions[:kept].mT / deviation, varies, ones, ones)


def _leading_direction(
    loadings: Float[Tensor, "feature factor"],
    uniqueness: Float[Tensor, " feature"],
    in_block: Bool[Tensor, " feature"],
) -> Float[Tensor, " remainder"]:
    """First principal direction of the features outside the block, by the factor model, with
    positive sum."""
    outside = loadings[~in_block]
    covariance = outside @ outside.mT + torch.diag(uniqueness[~in_block])
    values, vectors = torch.linalg.eigh(covariance)
    direction = vectors[:, -1]
    sign = 1.0 if float(direction.sum()) >= 0 else -1.0
    return sign * direction / values[-1].sqrt()


def learn_axes(inputs: ModelInputs, most: int) -> StateAxes | None:
    """Learn the axes along which features persist; None where nothing persists that could be
    observed twice.

    Args:
        inputs: training times.
        most: at most this many axes.
    """
    found = _standardised(inputs)
    if found is None or inputs.num_times < 2:
        return None
    filled, mask, statistics = found
    mean, scale, loadings, uniqueness, varies = statistics
    in_block = _main_block(filled.flatten(0, 1), varies)
    observed = (mask & in_block).any(-1)
    both = observed[1:] & observed[:-1]
    if int(both.sum()) < 10:
        return None
    plane = _persistent_plane(filled[..., in_block], observed, min(most, int(in_block.sum())))
    if plane is None:
        return None
    embedded = torch.zeros(len(in_block), plane.shape[1]).to(plane)
    embedded[in_block] = plane
    return _rotated(filled, observed, embedded, (mean, scale, loadings, uniqueness, in_block))


Statistics = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def _standardised(inputs: ModelInputs) -> tuple[Tensor, Tensor, Statistics] | None:
    """Standardised and imputed features, their mask, and mean, scale, loadings, uniqueness, which
    of them vary."""
    mask = inputs.x_mask
    count = mask.sum((0, 1))
    if not bool((count > 1).any()):
        return None
    mean = inputs.x.sum((0, 1)) / count.clamp(min=1)
    variance = torch.where(mask, inputs.x - mean, 0.0).square().sum((0, 1)) / count.clamp(min=1)
    size = inputs.x.abs().amax((0, 1))
    varies = variance.sqrt() > 1e-8 * size.clamp(min=1e-30)
    if not bool(varies.any()):
        return None
    scale = torch.where(varies, variance.sqrt(), 1.0)
    x = torch.where(mask & varies, (inputs.x - mean) / scale, 0.0)
    loadings, uniqueness = learn_factors(x.flatten(0, 1), mask.flatten(0, 1))
    return impute(x, mask, loadings, uniqueness), mask, (mean, scale, loadings, uniqueness, varies)


def _main_block(x: Float[Tensor, "row feature"], varies: Bool[Tensor, " feature"]) -> Bool[Tensor, " feature"]:
    """Features of the largest block that correlations above 0.25 hold together."""
    if int(varies.sum()) < FEWEST_FOR_BLOCKS:
        return varies.clone()
    spread = x.std(0, correction=0).clamp(min=1e-12)
    correlation = (x.mT @ x / len(x) - torch.outer(x.mean(0), x.mean(0))) / torch.outer(spread, spread)
    near = (correlation.abs() > CORRELATED).cpu().numpy()
    _, label = connected_components(near, directed=False)
    labels = torch.from_numpy(label).to(varies.device)
    sizes = torch.bincount(labels, weights=varies.double())
    return (labels == sizes.argmax()) & varies


def _persistent_plane(
    x: Float[Tensor, "time agent feature"], observed: Bool[Tensor, "time agent"], most: int
) -> Float[Tensor, "feature rank"] | None:
    """Orthonormal directions in which the persistent part of the features varies, largest first."""
    seen = x[observed]
    both = observed[1:] & observed[:-1]
    rows = len(seen)
    spread = _shrunk(seen.mT @ seen / rows, rows)
    lagged = _symmetric(x[:-1][both].mT @ x[1:][both] / int(both.sum()))
    factor = torch.linalg.cholesky(spread)
    half = torch.linalg.solve_triangular(factor, lagged, upper=False)
    whitened = torch.linalg.solve_triangular(factor, half.mT, upper=False)
    correlation, vectors = torch.linalg.eigh(_symmetric(whitened))
    chance = 2.0 / int(both.sum()) ** 0.5
    kept = correlation > max(LOWEST_AUTOCORRELATION, chance)
    if not bool(kept.any()):
        return None
    directions = torch.linalg.solve_triangular(factor.mT, vectors[:, kept], upper=True)
    # Components have unit variance: the columns span what persists, at its size.
    shown = (seen.mT @ (seen @ directions) / rows) * correlation[kept]
    axes, size, _ = torch.linalg.svd(shown, full_matrices=False)
    large = int((size > SMALLEST_AXIS * size[0]).sum())
    return axes[:, : min(large, most)]


def _rotated(
    x: Float[Tensor, "time agent feature"],
    observed: Bool[Tensor, "time agent"],
    plane: Float[Tensor, "feature rank"],
    statistics: Statistics,
) -> StateAxes | None:
    """Turn the plane to the eigenvectors of the observation noise, scale all axes alike, drop those
    without signal."""
    mean, scale, loadings, uniqueness, in_block = statistics
    z = x @ plane
    both = observed[1:] & observed[:-1]
    seen = z[observed]
    now = _symmetric(seen.mT @ seen / len(seen))
    lagged = _symmetric(z[:-1][both].mT @ z[1:][both] / int(both.sum()))
    turn = torch.linalg.eigh(now - NOISE_FACTOR * lagged)[1]
    signal = (turn.mT @ lagged @ turn).diagonal()
    level = signal.mean()
    if float(level) <= 0:
        return None
    kept = signal > LOWEST_SIGNAL * level
    variance = (turn.mT @ now @ turn).diagonal()
    noise = (variance - NOISE_FACTOR * signal) / level
    return StateAxes(
        mean=mean,
        scale=scale,
        loadings=loadings,
        uniqueness=uniqueness,
        axes=plane @ turn[:, kept] / level.sqrt(),
        in_block=in_block,
        signal=signal[kept] / level,
        noise=noise[kept].clamp(min=0.05),
    )


def _symmetric(matrix: Tensor) -> Tensor:
    return (matrix + matrix.mT) / 2


def _shrunk(covariance: Float[Tensor, "feature feature"], rows: int) -> Float[Tensor, "feature feature"]:
    """Covariance shrunk towards a multiple of the identity, by the ratio of columns to rows."""
    share = min(1.0, max(1e-3, covariance.shape[0] / rows))
    level = covariance.diagonal().mean()
    target = torch.eye(covariance.shape[0]).to(covariance) * torch.where(level > 0, level, 1.0)
    return (1.0 - share) * covariance + share * target
