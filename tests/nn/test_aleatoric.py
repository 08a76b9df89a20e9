import math

import pytest
import torch

from sphunc.nn.aleatoric import (
    REACH,
    AleatoricHead,
    flattening,
    gaussian_log_density,
    squashed_variance,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def logits(classes, count=20):
    return 2 * torch.randn(count, classes, generator=generator(), dtype=torch.float64)


def filled(value, count=20):
    return torch.full((count,), value, dtype=torch.float64)


def test_head_is_its_equation_and_never_negative():
    head = AleatoricHead(3, generator=generator())
    assert head.hidden.shape == (64, 3)
    x = 100 * torch.randn(50, 3, generator=generator(1))
    torch.testing.assert_close(head(x), torch.full((50,), math.log(2)))
    head.out.data.normal_(generator=generator(2))
    inner = head.hidden @ x[7].clamp(-REACH, REACH) + head.hidden_bias
    expected = torch.nn.functional.softplus(head.out @ (inner * torch.sigmoid(inner)) + head.out_bias)
    torch.testing.assert_close(head(x)[7], expected)
    assert bool((head(x) >= 0).all())
    torch.testing.assert_close(head(1000.0 * x.sign()), head(REACH * x.sign()))  # a unit mistaken says no more


def flattened(z, variance):
    return torch.softmax(z / flattening(variance, z.shape[-1]).unsqueeze(-1), -1)


def test_without_noise_nothing_is_flattened():
    assert flattening(filled(0.0), 4).tolist() == [1.0] * 20


@pytest.mark.parametrize(("classes", "allowed"), [(2, 0.015), (3, 0.04), (6, 0.04), (20, 0.04)])
@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0, 9.0])
def test_flattening_is_as_close_to_the_expected_softmax_as_claimed(classes, allowed, variance):
    z = logits(classes)
    noise = torch.randn(3000, *z.shape, generator=generator(1), dtype=torch.float64) * math.sqrt(variance)
    sampled = torch.softmax(z + torch.cat([noise, -noise]), -1).mean(0)
    assert float((flattened(z, filled(variance)) - sampled).abs().max()) < allowed


def test_noise_keeps_the_order_of_classes_and_flattens_them():
    z = logits(5)
    calm, noisy = (flattened(z, filled(v)) for v in (0.0, 3.0))
    assert torch.equal(calm.argsort(-1), noisy.argsort(-1))
    assert bool((noisy.amax(-1) < calm.amax(-1)).all())


def test_flattening_has_gradients_also_where_there_is_no_noise():
    variance = torch.tensor([0.0, 0.7, 9.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: flattening(v, 3), variance)


def test_squashed_variance_is_in_the_unit_interval_and_rises():
    assert squashed_variance(torch.tensor([0.0, 1.0, 3.0])).tolist() == [0.0, 0.5, 0.75]


def test_gaussian_density_is_that_of_torch():
    y, mean, variance = torch.tensor([1.0, -2.0]), torch.tensor([0.0, 1.0]), torch.tensor([0.5, 4.0])
    expected = torch.distributions.Normal(mean, variance.sqrt()).log_prob(y)
    torch.testing.assert_close(gaussian_log_density(y, mean, variance), expected)
    assert gaussian_log_density(y, mean, torch.zeros(2)).isfinite().all()


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1.0, 1e30])
def test_gaussian_density_knows_no_floor_but_that_of_its_unit(unit):
    z, mean, variance = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0]), torch.tensor([0.5, 4.0])
    units = torch.full((2,), unit)
    expected = gaussian_log_density(z, mean, variance) - math.log(unit)
    torch.testing.assert_close(gaussian_log_density(unit * z, unit * mean, variance, units), expected)
    sharpest = gaussian_log_density(unit * z, unit * z, torch.zeros(2), units)
    torch.testing.assert_close(sharpest, gaussian_log_density(z, z, torch.full((2,), 1e-6)) - math.log(unit))
