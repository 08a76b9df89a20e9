"""What a world shows: features through an unknown map, outcomes with noise that an observable driver sets, masks."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sphunc.worlds.population import Population
from sphunc.worlds.settings import WorldSettings

DRIVER_SHARE = 16  # one feature in so many shows the driver
DRIVER_NOISE = 0.3
SATURATION = 2.0
DECIMALS = 5

Array = NDArray[np.float64]


def outcome_law(settings: WorldSettings, directions: Array, states: Array, driver: Array) -> Array:
    r"""Class probabilities given the state and the driver, ``[..., C]``.

    .. math:: p_c = (1 - \epsilon) \frac{e^{\beta w_c^\top h}}{\sum_k e^{\beta w_k^\top h}} + \frac{\epsilon}{C}, \qquad
              \epsilon = \min(1, \lambda e^{v - 1/2})

    with sharpness :math:`\beta`, label noise :math:`\lambda` (about the mean of :math:`\epsilon`) and driver v.

    Args:
        settings: of the world.
        directions: of the classes, ``[C, D]``.
        states: h, ``[..., D]``.
        driver: v, ``[...]``.
    """
    logits = settings.sharpness * np.einsum("...d,cd->...c", states, directions)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    random = np.minimum(1.0, settings.label_noise * np.exp(driver - 0.5))[..., None]
    return (1.0 - random) * weights / weights.sum(-1, keepdims=True) + random / settings.classes


def entropy(probabilities: Array) -> Array:
    """Shannon entropy of the last axis, in nats."""
    positive = np.where(probabilities > 0, probabilities, 1.0)
    return -(probabilities * np.log(positive)).sum(-1)


def draw_outcomes(probabilities: Array, rng: Generator) -> NDArray[np.int64]:
    """Draw one class per row by inversion.

    Args:
        probabilities: of the classes, ``[..., C]``.
        rng: source of randomness.
    """
    cumulative = np.cumsum(probabilities, axis=-1)
    uniforms = rng.random(probabilities.shape[:-1])[..., None]
    return np.minimum((uniforms >= cumulative).sum(-1), probabilities.shape[-1] - 1)


def feature_names(settings: WorldSettings) -> tuple[str, ...]:
    """Name features by modality; the last ones, which show the driver, belong to the last modality."""
    blocks = _blocks(settings)
    return tuple(f"m{block}_f{index:03d}" for index, block in enumerate(blocks.tolist()))


def driver_columns(settings: WorldSettings) -> NDArray[np.int64]:
    """Return the indices of the features that show the driver."""
    return np.arange(settings.features - max(1, settings.features // DRIVER_SHARE), settings.features)


def show(settings: WorldSettings, people: Population, states: Array, driver: Array, rng: Generator) -> Array:
    """Draw the features ``[T, N, F]`` of the states ``[T, N, D]`` and the driver ``[T, N]``.

    Args:
        settings: of the world.
        people: who lives there.
        states: h, ``[T, N, D]``.
        driver: v, ``[T, N]``.
        rng: source of randomness.
    """
    blocks = _blocks(settings)
    shown = driver_columns(settings)
    maps = rng.standard_normal((settings.features, settings.dim)) * people.axis_scales
    noise = np.exp(settings.view_noise_spread * rng.standard_normal((settings.agents, settings.modalities + 1)))
    common = states + settings.outcome_blur * noise[:, -1:] * _deciding(people.class_directions, _normals(states, rng))
    x = np.empty((*driver.shape, settings.features))
    for block in range(settings.modalities):
        view = common + settings.view_noise * noise[:, block, None] * _normals(states, rng)
        columns = blocks == block
        x[..., columns] = _saturate(np.einsum("tnd,fd->tnf", view, maps[columns]), settings.nonlinearity)
    length = np.exp(settings.radial * rng.standard_normal((*driver.shape, 1)))
    x = length * (x + settings.entry_noise * rng.standard_normal(x.shape))
    x[..., shown] = driver[..., None] + DRIVER_NOISE * rng.standard_normal((*driver.shape, len(shown)))
    return np.round(x, DECIMALS)


def _normals(states: Array, rng: Generator) -> Array:
    return rng.standard_normal(states.shape) / np.sqrt(states.shape[-1])


def _deciding(directions: Array, vectors: Array) -> Array:
    return np.einsum("tnc,cd->tnd", np.einsum("tnd,cd->tnc", vectors, directions), directions)


def feature_mask(settings: WorldSettings, present: NDArray[np.bool_], rng: Generator) -> NDArray[np.bool_]:
    """Draw which entries are observed, ``[T, N, F]``.

    Args:
        settings: of the world.
        present: who is there when, ``[T, N]``.
        rng: source of randomness.
    """
    shape = (*present.shape, settings.features)
    kept = (rng.random(shape) >= settings.missing) & present[..., None]
    lost = rng.random(shape) < settings.lost_at_test
    lost[: settings.entry_time] = False
    return kept & ~lost


def _blocks(settings: WorldSettings) -> NDArray[np.int64]:
    return np.arange(settings.features) * settings.modalities // settings.features


def _saturate(signal: Array, share: float) -> Array:
    return (1.0 - share) * signal + share * np.tanh(SATURATION * signal)
