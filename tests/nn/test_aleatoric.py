import math

import pytest
import torch

from sphunc.nn.aleatoric import (
    AleatoricHead,
    approximate_log_probabilities,
    contaminated_log_probabilities,
    deviation,
    gaussian_log_density,
    sampled_log_probabilities,
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
    inner = head.hidden @ x[7] + head.hidden_bias
    expected = torch.nn.functional.softplus(head.out @ (inner * torch.sigmoid(inner)) + head.out_bias)
    torch.testing.assert_close(head(x)[7], expected)
    assert bool((head(x) >= 0).all())


def test_sampling_is_the_expected_softmax():
    z, variance = torch.tensor([[1.0, 0.0, -2.0]], dtype=torch.float64), filled(2.0, 1)
    epsilon = torch.randn(200_000, 3, generator=generator(9), dtype=torch.float64)
    expected = torch.softmax(z + math.sqrt(2.0) * epsilon, -1).mean(0)
    got = sampled_log_probabilities(z, variance, 200_000, generator()).exp()[0]
    # a probability has a standard deviation below 0.5, so both means are within 0.5 / sqrt(2e5) = 0.0011, 4 sigma
    torch.testing.assert_close(got, expected, atol=0.0045, rtol=0)


@pytest.mark.parametrize("samples", [1, 2, 7])
def test_sampled_probabilities_sum_to_one_and_repeat_with_the_seed(samples):
    z, variance = logits(4), filled(1.0)
    a, b = (sampled_log_probabilities(z, variance, samples, generator(3)) for _ in range(2))
    assert torch.equal(a, b)
    torch.testing.assert_close(a.exp().sum(-1), filled(1.0))


def test_without_noise_both_are_the_softmax():
    z = logits(4)
    for got in (
        sampled_log_probabilities(z, filled(0.0), 4, generator()),
        approximate_log_probabilities(z, filled(0.0)),
    ):
        torch.testing.assert_close(got, torch.log_softmax(z, -1))


@pytest.mark.parametrize(("classes", "allowed"), [(2, 0.015), (3, 0.04), (6, 0.04), (20, 0.04)])
@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0, 9.0])
def test_approximation_is_as_close_as_claimed(classes, allowed, variance):
    z = logits(classes)
    sampled = sampled_log_probabilities(z, filled(variance), 6000, generator(1)).exp()
    assert float((approximate_log_probabilities(z, filled(variance)).exp() - sampled).abs().max()) < allowed


def test_noise_keeps_the_order_of_classes_and_flattens_them():
    z = logits(5)
    calm, noisy = (approximate_log_probabilities(z, filled(v)) for v in (0.0, 3.0))
    assert torch.equal(calm.argsort(-1), noisy.argsort(-1))
    assert bool((noisy.amax(-1) < calm.amax(-1)).all())


def test_gradients():
    z, variance = logits(3, 2).requires_grad_(), filled(0.7, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, v: sampled_log_probabilities(a, v, 4, generator()), (z, variance))
    assert torch.autograd.gradcheck(approximate_log_probabilities, (z, variance))


def test_variance_zero_passes_a_finite_gradient():
    variance = torch.tensor([0.0, 4.0], requires_grad=True)
    deviation(variance).sum().backward()
    assert variance.grad is not None
    assert variance.grad.tolist() == [0.0, 0.25]


def test_squashed_variance_is_in_the_unit_interval_and_rises():
    assert squashed_variance(torch.tensor([0.0, 1.0, 3.0])).tolist() == [0.0, 0.5, 0.75]


def test_gaussian_density_is_that_of_torch():
    y, mean, variance = torch.tensor([1.0, -2.0]), torch.tensor([0.0, 1.0]), torch.tensor([0.5, 4.0])
    expected = torch.distributions.Normal(mean, variance.sqrt()).log_prob(y)
    torch.testing.assert_close(gaussian_log_density(y, mean, variance), expected)
    assert gaussian_log_density(y, mean, torch.zeros(2)).isfinite().all()


def test_contamination_is_a_mixture_with_the_uniform_law() -> None:
    logits = torch.tensor([[2.0, -1.0, 0.5], [300.0, 0.0, -300.0]], dtype=torch.float64)
    share = torch.tensor([0.2, 0.01], dtype=torch.float64)
    expected = (1 - share).unsqueeze(-1) * logits.softmax(-1) + share.unsqueeze(-1) / 3
    torch.testing.assert_close(contaminated_log_probabilities(logits, share).exp(), expected)


def test_without_contamination_the_softmax_stays_and_gradients_are_finite() -> None:
    logits = torch.tensor([[50.0, -50.0]], dtype=torch.float64, requires_grad=True)
    share = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    got = contaminated_log_probabilities(logits, share)
    torch.testing.assert_close(got, logits.log_softmax(-1))
    got[0, 0].backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert share.grad is not None
    assert share.grad.isfinite().all()
