"""Entropies: exact parts, bias removed, agreement with the jackknife, the Gaussian limit, the bound of states."""

import math

import pytest
import torch

from sphunc.causal.design import Layout
from sphunc.causal.monte_carlo import variance_of_mean
from sphunc.causal.outcome_entropy import class_entropies, correction, entropy, latent_bound, number_entropies, told
from sphunc.sphere import mean_resultant_length, vmf_entropy


def drawn(agents, draws, classes, seed, spread=1.0):
    g = torch.Generator().manual_seed(seed)
    lean = torch.linspace(2.0, 0.0, classes, dtype=torch.double)
    return torch.softmax(lean + spread * torch.randn(agents, draws, classes, generator=g, dtype=torch.double), -1)


def of_draws(p):
    """Entropies of one known structure, from its draws ``[N, R, C]``."""
    mean, by_class, layout = p.mean(1), p.permute(2, 1, 0), Layout(1, 1, p.shape[1])
    variance = variance_of_mean(by_class, layout).mT
    error = variance_of_mean(told(by_class, mean), layout).sqrt()
    return class_entropies(mean, variance, p.mean(1, keepdim=True), torch.zeros_like(p[:, :1]), error)


def test_correction_removes_the_bias_and_equals_the_jackknife() -> None:
    S, reps = 40, 4000
    p = drawn(reps, S, 5, 0)
    truth = entropy(drawn(1, 400_000, 5, 1).mean(1).mT)
    mean = p.mean(1)
    corrected = entropy(mean.mT) + correction(mean.mT, p.var(1).mT / S)
    assert float(entropy(mean.mT).mean() - truth) < -0.002
    assert abs(float(corrected.mean() - truth)) < 4 * float(corrected.std()) / reps**0.5 + 3e-4
    left_out = entropy(((mean.unsqueeze(1) * S - p) / (S - 1)).movedim(-1, 0)).mean(1)
    jackknife = S * entropy(mean.mT) - (S - 1) * left_out
    assert (corrected - jackknife).abs().max() < 2e-3


def test_parts_add_up_and_identification_is_zero_when_structures_agree() -> None:
    p = drawn(6, 8, 3, 2)
    same = p.mean(1, keepdim=True).expand(-1, 4, -1)
    nothing = torch.zeros(6, 3, dtype=torch.double)
    known = class_entropies(p.mean(1), p.var(1) / 8, same, torch.zeros_like(same), nothing[:, 0])
    assert (known.identification == 0).all()
    other = drawn(6, 4, 3, 3, 3.0)
    unknown = class_entropies(other.mean(1), nothing, other, torch.zeros_like(other), nothing[:, 0])
    assert (unknown.identification > 0.01).all()
    for parts in (known, unknown):
        assert torch.equal(parts.within + parts.identification, parts.total)
    wanted = entropy(other.mean(1).mT) - entropy(other.movedim(-1, 0)).mean(1)
    assert torch.allclose(unknown.identification, wanted)


def test_certainty_has_entropy_zero_without_a_sign() -> None:
    sure = torch.tensor([[1.0, 0.0]])
    same = sure.unsqueeze(1).expand(-1, 3, -1)
    classes = class_entropies(sure, torch.zeros(1, 2), same, torch.zeros(1, 3, 2), torch.zeros(1))
    numbers = number_entropies(torch.zeros(1, 12, 1), torch.ones(1, 1), torch.ones(1, 1), Layout(1, 3, 4))
    for part in (classes.total, classes.within, classes.identification, numbers.identification):
        assert part.item() == 0.0
        assert math.copysign(1.0, part.item()) == 1.0


def test_error_is_that_of_repeated_experiments_and_falls_with_the_root() -> None:
    errors = {}
    for R in (10, 1000):
        p = drawn(300, R, 4, R)
        parts = of_draws(p)
        assert float(parts.error.mean()) == pytest.approx(float(parts.total.std()), rel=0.25)
        errors[R] = float(parts.error.mean())
    assert errors[10] / errors[1000] == pytest.approx(10.0, rel=0.15)
    single = of_draws(drawn(3, 1, 4, 0))
    assert single.error.isnan().all()
    assert single.total.isfinite().all()


def test_entropy_never_exceeds_that_of_the_uniform_law() -> None:
    p = drawn(50, 3, 3, 5, 4.0)
    flat = torch.full((50, 3), 1 / 3, dtype=torch.double)
    unsure, nothing = p.var(1) / 3, torch.zeros(50, dtype=torch.double)
    parts = class_entropies(flat, unsure, p[:, :1], torch.zeros_like(p[:, :1]), nothing)
    assert parts.total.max() <= math.log(3) + 1e-12


def test_numbers_have_the_entropy_of_their_mixture() -> None:
    g = torch.Generator().manual_seed(6)
    means = 1.5 * torch.randn(8, 400, 1, generator=g)
    noise = torch.full((8, 1), 0.75)
    parts = number_entropies(means, noise, noise + means.var(1), Layout(1, 10, 40))
    wanted = 0.5 * math.log(2 * math.pi * math.e * (0.75 + 1.5**2))
    assert torch.allclose(parts.total, torch.full((8,), wanted), atol=0.12)
    assert torch.equal(parts.within + parts.identification, parts.total)
    still = number_entropies(torch.zeros(2, 12, 2), torch.ones(2, 2), torch.ones(2, 2), Layout(1, 3, 4))
    assert torch.allclose(still.total, torch.full((2,), math.log(2 * math.pi * math.e)), atol=1e-5)
    assert (still.identification == 0).all()


@pytest.mark.parametrize("numbers", [1, 2])
def test_weighted_numbers_are_those_repeated_and_equal_weights_none(numbers) -> None:
    g, layout = torch.Generator().manual_seed(7), Layout(1, 5, 8)
    means, noise = torch.randn(4, 40, numbers, generator=g), torch.full((4, numbers), 0.5)
    means += torch.arange(5).repeat_interleave(8).view(1, 40, 1) / 4
    variance, scale = noise + means.var(1), torch.full((numbers,), 3.0)
    plain = number_entropies(means, noise, variance, layout, scale)
    equal = number_entropies(means, noise, variance, layout, scale, torch.full((4, 40), 1 / 40))
    for name in ("total", "within", "identification", "error"):
        assert torch.allclose(getattr(equal, name), getattr(plain, name), atol=1e-5)
    # The same draws count once or thrice in every structure, so that repeating them keeps the layout.
    times = torch.tensor([1, 3]).repeat(4)
    weights = (times / (5 * times.sum())).repeat(5).expand(4, -1)
    counted = number_entropies(means, noise, variance, layout, scale, weights)
    repeated = number_entropies(
        means.repeat_interleave(times.repeat(5), 1), noise, variance, Layout(1, 5, int(times.sum())), scale
    )
    for name in ("total", "within", "identification"):
        assert torch.allclose(getattr(counted, name), getattr(repeated, name), atol=2e-4 if numbers == 1 else 1e-5)
    assert (counted.identification > 0.01).all()
    assert torch.equal(counted.within + counted.identification, counted.total)


def test_weights_that_leave_few_samples_tell_no_error() -> None:
    means, weights = torch.randn(2, 20, 1, generator=torch.Generator().manual_seed(8)), torch.full((2, 20), 0.001)
    weights[0, 0], weights[1] = 0.981, 0.05
    noise = torch.ones(2, 1)
    error = number_entropies(means, noise, 2 * noise, Layout(1, 1, 20), None, weights).error
    assert error.isnan().tolist() == [True, False]


def test_latent_bound_is_that_of_a_von_mises_fisher_law() -> None:
    kappa = torch.tensor([0.5, 30.0, 300.0], dtype=torch.double)
    resultant = mean_resultant_length(kappa, 16).square()
    assert torch.allclose(latent_bound(resultant, 16), vmf_entropy(kappa, 16), atol=1e-6)
    assert latent_bound(torch.tensor([0.0, 1.0, -0.1]), 16).isfinite().all()


def test_entropy_of_standardised_numbers_is_that_of_the_outcomes() -> None:
    means = torch.randn(3, 12, 2, generator=torch.Generator().manual_seed(0))
    noise, scale, layout = torch.full((3, 2), 0.5), torch.tensor([3.0, 1e-2]), Layout(1, 3, 4)
    standard = number_entropies(means, noise, noise + means.var(1), layout, scale)
    plain = number_entropies(means * scale, noise * scale**2, (noise + means.var(1)) * scale**2, layout)
    assert torch.allclose(standard.total, plain.total, atol=1e-5)
    assert torch.allclose(standard.identification, plain.identification, atol=1e-5)
    assert torch.equal(standard.within + standard.identification, standard.total)
