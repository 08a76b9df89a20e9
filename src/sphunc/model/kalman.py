r"""Kalman filter and smoother of one state axis and the persistent effect that drives it, for all
agents at once.

.. math:: s_{t+1} = \lambda s_t + c + u_t + e_t, \quad e_t \sim N(0, q_t), \qquad
          z_t = s_t + n_t, \quad n_t \sim N(0, 1 / w_t)

The pair (s, c) has a 2 x 2 covariance, written out. An observation of precision 0 says nothing. The
smoother is that of Bierman (1973), the modified Bryson-Frazier form, which inverts no covariance.
Cost is linear in times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch

from sphunc._typing import Float, Tensor


@dataclass(frozen=True, eq=False)
class ChainParameters:
    """Parameters of the chains of N agents along K axes.

    Attributes:
        inertia: lambda ``[N, 1]``.
        transition_variance: q ``[K]``, or ``[T, N, K]`` where it differs.
        effect_variance: variance of the persistent effect c ``[N, K]`` or ``[K]``.
        initial_variance: variance of the first state ``[K]``.
    """

    inertia: Float[Tensor, "agent one"]
    transition_variance: Tensor
    effect_variance: Tensor
    initial_variance: Float[Tensor, " axis"]


@dataclass(frozen=True, eq=False)
class Filtered:
    """Moments of (s, c) at each time given observations up to it; all ``[T, N, K]``.

    Attributes:
        mean: of s.
        effect_mean: of c.
        variance: of s.
        covariance: of s and c.
        effect_variance: of c.
        innovation: observation less its prediction.
        gain: of s.
        effect_gain: of c.
        precision: of the innovation, 0 where nothing was observed.
        log_likelihood: of all observations ``[N, K]``.
    """

    mean: Tensor
    effect_mean: Tensor
    variance: Tensor
    covariance: Tensor
    effect_variance: Tensor
    innovation: Tensor
    gain: Tensor
    effect_gain: Tensor
    precision: Tensor
    log_likelihood: Tensor


def kalman_filter(
    parameters: ChainParameters,
    observation: Float[Tensor, "time agent axis"],
    precision: Float[Tensor, "time agent axis"],
    control: Float[Tensor, "time agent axis"],
) -> Filtered:
    """Filter all chains.

    Args:
        parameters: of the chains.
        observation: z ``[T, N, K]``.
        precision: w ``[T, N, K]``, 0 where nothing was observed.
        control: u ``[T, N, K]``; the one at t moves the state from t to t + 1, the last one is not
            used.
    """
    inertia = parameters.inertia
    noise = parameters.transition_variance.expand_as(observation)
    shape = observation.shape[1:]
    mean = observation.new_zeros(shape)
    effect_mean = observation.new_zeros(shape)
    variance = parameters.initial_variance.expand(shape)
    covariance = observation.new_zeros(shape)
    effect_variance = parameters.effect_variance.expand(shape)
    log_likelihood = observation.new_zeros(shape)
    steps = []
    for t in range(len(observation)):
        if t:
            mean = inertia * mean + effect_mean + control[t - 1]
            variance = inertia.square() * variance + 2 * inertia * covariance + effect_variance + noise[t - 1]
            covariance = inertia * covariance + effect_variance
        # Precision of the innovation without ever dividing by the precision of an observation that is not there.
        known = 1.0 / (1.0 + variance * precision[t])
        sharpness = precision[t] * known
        innovation = observation[t] - mean
        gain = variance * sharpness
        effect_gain = covariance * sharpness
        seen = torch.where(precision[t] > 0, sharpness, 1.0)
        term = seen.log() - math.log(2 * math.pi) - sharpness * innovation.square()
        log_likelihood = log_likelihood + 0.5 * torch.where(precision[t] > 0, term, 0.0)
        mean = mean + gain * innovation
        effect_mean = effect_mean + effect_gain * innovation
        effect_variance = effect_variance - covariance * effect_gain
        covariance = covariance * known
        variance = variance * known
        steps.append(
            (mean, effect_mean, variance, covariance, effect_variance, innovation, gain, effect_gain, sharpness)
        )
    names = [field.name for field in fields(Filtered)][:-1]
    stacked = {name: torch.stack(parts) for name, parts in zip(names, zip(*steps, strict=True), strict=True)}
    return Filtered(**stacked, log_likelihood=log_likelihood)


def kalman_smoother(
    inertia: Float[Tensor, "agent one"], filtered: Filtered
) -> tuple[Float[Tensor, "time agent axis"], Float[Tensor, "time agent axis"]]:
    """Mean and variance of every state given all observations of its chain.

    Args:
        inertia: lambda.
        filtered: result of :func:`kalman_filter`.
    """
    zero = torch.zeros_like(filtered.mean[0])
    first = zero
    second = zero
    first_first = zero
    first_second = zero
    second_second = zero
    means = []
    variances = []
    for t in reversed(range(len(filtered.mean))):
        variance = filtered.variance[t]
        covariance = filtered.covariance[t]
        means.append(filtered.mean[t] - variance * first - covariance * second)
        reduction = variance.square() * first_first + 2 * variance * covariance * first_second
        reduction = reduction + covariance.square() * second_second
        variances.append(variance - reduction)
        # Adjoint through the update at t, then through the transition from t - 1.
        keep = 1.0 - filtered.gain[t]
        effect_gain = filtered.effect_gain[t]
        sharpness = filtered.precision[t]
        updated = keep * first - effect_gain * second - sharpness * filtered.innovation[t]
        updated_ff = keep.square() * first_first - 2 * keep * effect_gain * first_second
        updated_ff = updated_ff + effect_gain.square() * second_second + sharpness
        updated_fs = keep * first_second - effect_gain * second_second
        second = updated + second
        first = inertia * updated
        second_second = updated_ff + 2 * updated_fs + second_second
        first_second = inertia * (updated_ff + updated_fs)
        first_first = inertia.square() * updated_ff
    means.reverse()
    variances.reverse()
    return torch.stack(means), torch.stack(variances)


def whitened_responses(
    inertia: Float[Tensor, "agent one"],
    filtered: Filtered,
    control: Float[Tensor, "time agent axis regressor"],
) -> Float[Tensor, "time agent axis regressor"]:
    r"""Response of the standardised innovations to control inputs.

    These are the regressors of a link, with the target's own path and effect integrated out.

    With control inputs :math:`\sum_j \beta_j u_j` the standardised innovations are those without them less
    :math:`\sum_j \beta_j \phi_j`; this returns :math:`\phi`.

    Args:
        inertia: lambda.
        filtered: of the chains without these control inputs; gives gains and precisions.
        control: u_j ``[T, N, K, J]``.
    """
    rate = inertia.unsqueeze(-1)
    state = torch.zeros_like(control[0])
    effect = torch.zeros_like(control[0])
    responses = []
    for t in range(len(control)):
        if t:
            state = rate * state + effect + control[t - 1]
        responses.append(state * filtered.precision[t].sqrt().unsqueeze(-1))
        effect = effect - filtered.effect_gain[t].unsqueeze(-1) * state
        state = state - filtered.gain[t].unsqueeze(-1) * state
    return torch.stack(responses)
