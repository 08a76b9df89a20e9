"""Von Mises-Fisher noise on numpy arrays, by inverting the distribution function of the angle.

A draw uses one uniform and D normal numbers whatever its concentration and mean, so that two arms of a comparison can
share their noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GRID = 4001
NEGLIGIBLE = 1e-12  # density, relative to its peak, beyond which the table of angles ends


def angle_table(concentration: float, dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Distribution function of the angle to the mean direction, as (probabilities, angles).

    The density is :math:`\propto e^{\kappa\cos\theta}\sin^{D-2}\theta`. Interpolated, its quantiles are right to 1e-5.

    Args:
        concentration: :math:`\kappa`.
        dim: D.
    """
    whole = np.linspace(0.0, np.pi, GRID)
    end = whole[np.flatnonzero(_density(whole, concentration, dim) > NEGLIGIBLE)[-1]]
    angles = np.linspace(0.0, min(np.pi, end + np.pi / GRID), GRID)
    density = _density(angles, concentration, dim)
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return mass / mass[-1], angles


def _density(angles: NDArray[np.float64], concentration: float, dim: int) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        log_density = concentration * (np.cos(angles) - 1.0) + (dim - 2) * np.log(np.abs(np.sin(angles)))
    return np.exp(log_density - log_density.max())


def perturb(
    means: NDArray[np.float64],
    uniforms: NDArray[np.float64],
    normals: NDArray[np.float64],
    level: NDArray[np.int64],
    tables: tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...],
) -> NDArray[np.float64]:
    """Turn unit means ``[N, S, D]`` by the angle at the quantile ``[N, S]`` towards the normal vector ``[N, S, D]``.

    Args:
        means: unit vectors, ``[N, S, D]``.
        uniforms: quantiles of the angle, ``[N, S]``.
        normals: standard normal numbers that give the tangent, ``[N, S, D]``.
        level: index of each agent's table, ``[N]``.
        tables: as :func:`angle_table` makes them.
    """
    angles = np.empty_like(uniforms)
    for index, (probabilities, quantiles) in enumerate(tables):
        here = level == index
        angles[here] = np.interp(uniforms[here], probabilities, quantiles)
    tangent = normals - (normals * means).sum(-1, keepdims=True) * means
    tangent /= np.sqrt(np.square(tangent).sum(-1, keepdims=True))
    return np.cos(angles)[..., None] * means + np.sin(angles)[..., None] * tangent
