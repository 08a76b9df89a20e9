"""After calibration the mean of the samples is the forecast."""

import torch

from sphunc.forecasting.distribution import Categorical, Gaussian
from sphunc.interventions.simulation.calibration import calibrate


def blocked(samples):
    """Samples ``[S, N, C]`` of two structures, with axes of structures, outputs, agents and draws."""
    return samples.unflatten(0, (2, -1)).permute(0, 3, 2, 1)


def test_the_mean_of_corrected_classes_is_the_forecast():
    generator = torch.Generator().manual_seed(0)
    samples = torch.softmax(2 * torch.randn(50, 7, 3, generator=generator, dtype=torch.float64), -1)
    wanted = torch.softmax(torch.randn(7, 3, generator=generator, dtype=torch.float64), -1)
    correction = calibrate(blocked(samples), None, Categorical(wanted.log()))
    corrected = torch.softmax(samples.log() + correction.shift, -1)
    torch.testing.assert_close(corrected.mean(0), wanted, atol=1e-3, rtol=0)


def test_a_forecast_that_agrees_needs_no_correction():
    p = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64)
    correction = calibrate(blocked(p.expand(4, 1, 3)), None, Categorical(p.log()))
    torch.testing.assert_close(torch.softmax(p.log() + correction.shift, -1), p)


def test_numbers_get_mean_and_variance_of_the_forecast():
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(40, 5, 1, generator=generator, dtype=torch.float64)
    noise = torch.rand(40, 5, 1, generator=generator, dtype=torch.float64) + 0.5
    forecast = Gaussian(torch.full((5, 1), 2.0, dtype=torch.float64), torch.full((5, 1), 3.0, dtype=torch.float64))
    correction = calibrate(blocked(means), blocked(noise), forecast)
    shifted = means + correction.shift
    total = shifted.var(0, correction=0) + (noise * correction.factor).mean(0)
    torch.testing.assert_close(shifted.mean(0), forecast.mean)
    torch.testing.assert_close(total, forecast.variance)
