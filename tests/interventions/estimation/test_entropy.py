"""Entropies: exact parts, bias removed, closed forms and dense integrals, error of repeated experiments."""

import math

import pytest
import torch

from sphunc.interventions.estimation.entropy import class_entropies, mixture_information, number_entropies
from sphunc.interventions.estimation.moments import StructureMoments

AGENTS = 400


def by_structure(samples, structures):
    """Samples ``[S, N, C]`` with axes of structures, outputs, agents and draws."""
    return samples.unflatten(0, (structures, -1)).permute(0, 3, 2, 1)


def moments_of(outcome, structures, noise=None):
    _, N, C = outcome.shape
    moments = StructureMoments.empty(structures, N, C, numeric=noise is not None, dtype=outcome.dtype)
    parts = [None if one is None else by_structure(one, structures) for one in (outcome, noise)]
    moments.put(torch.arange(structures), parts[0], torch.arange(N), parts[0], parts[1], parts[1])
    return moments


def class_samples(structures, draws, between, within, *, agents=AGENTS, seed=0, classes=4):
    """Probabilities ``[S, N, C]``: logits that vary between structures and within them."""
    g = torch.Generator().manual_seed(seed)
    lean = torch.linspace(1.0, -1.0, classes, dtype=torch.double)
    of_structure = between * torch.randn(structures, 1, agents, classes, generator=g, dtype=torch.double)
    of_draw = within * torch.randn(structures, draws, agents, classes, generator=g, dtype=torch.double)
    return torch.softmax(lean + of_structure + of_draw, -1).flatten(0, 1)


def true_class_entropies(between, within):
    """By brute force: many structures of one agent, many draws of each."""
    p = class_samples(1500, 400, between, within, agents=1, seed=99)[:, 0]
    by_structure = p.view(1500, 400, -1).mean(1)
    entropy = torch.special.entr(p.mean(0)).sum()
    inside = torch.special.entr(by_structure).sum(-1).mean()
    return float(entropy), float(entropy - inside)


@pytest.mark.parametrize(("between", "within"), [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0), (2.0, 0.5)])
@pytest.mark.parametrize("draws", [5, 20])
def test_entropy_and_identification_are_unbiased(between, within, draws) -> None:
    entropy, identification = true_class_entropies(between, within)
    found = class_entropies(moments_of(class_samples(20, draws, between, within), 20))
    assert float(found.entropy.mean()) == pytest.approx(entropy, abs=0.01)
    # Cut off at 0, which lifts the mean where nothing is there.
    assert float(found.identification.mean()) == pytest.approx(identification, abs=0.015)


def test_noise_counted_as_structure_would_be_far_off() -> None:
    samples = class_samples(20, 5, 0.0, 1.0)
    by_structure = samples.view(20, 5, AGENTS, -1).mean(1)
    entropy = torch.special.entr(samples.mean(0)).sum(-1)
    plug_in = entropy - torch.special.entr(by_structure).sum(-1).mean(0)
    found = class_entropies(moments_of(samples, 20)).identification
    assert float(plug_in.mean()) > 0.03
    assert float(found.mean()) < 0.012


def test_parts_add_up_to_the_bit() -> None:
    for dtype in (torch.float32, torch.float64):
        samples = class_samples(20, 5, 1.0, 1.0).to(dtype)
        noise = torch.full_like(samples, 0.5)
        for found in (class_entropies(moments_of(samples, 20)), number_entropies(moments_of(samples, 20, noise))):
            assert torch.equal(found.within + found.identification, found.entropy)
            assert found.entropy.dtype == dtype
            assert (found.identification >= 0).all()
            assert (found.identification > 0).any()


def test_without_noise_identification_is_the_mutual_information() -> None:
    each = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.double).repeat(100, 1)
    samples = each.repeat_interleave(2, 0)[:, None]
    found = class_entropies(moments_of(samples, 200))
    assert float(found.entropy) == pytest.approx(math.log(2), abs=1e-9)
    assert float(found.identification) == pytest.approx(math.log(2), abs=1e-9)
    assert float(found.within) == pytest.approx(0.0, abs=1e-9)


def test_agreeing_structures_leave_nothing_to_identify() -> None:
    same = class_samples(1, 5, 1.0, 1.0).repeat(20, 1, 1)
    assert (class_entropies(moments_of(same, 20)).identification == 0).all()


def test_certainty_has_entropy_zero_without_a_sign() -> None:
    sure = torch.tensor([1.0, 0.0]).expand(20, 3, 2)
    found = class_entropies(moments_of(sure, 4))
    for part in (found.entropy, found.within, found.identification, found.error):
        assert part.tolist() == [0.0] * 3
        assert math.copysign(1.0, part[0].item()) == 1.0


def test_entropy_never_exceeds_that_of_the_uniform_distribution() -> None:
    flat = torch.softmax(4.0 * torch.randn(40, 50, 3, generator=torch.Generator().manual_seed(0)), -1)
    assert class_entropies(moments_of(flat, 20)).entropy.max() <= math.log(3) + 1e-6


@pytest.mark.parametrize("structures", [20, 200])
def test_error_is_that_of_repeated_experiments(structures) -> None:
    found = class_entropies(moments_of(class_samples(structures, 5, 0.5, 1.0), structures))
    assert float(found.error.square().mean().sqrt()) == pytest.approx(float(found.entropy.std()), rel=0.15)
    numbers, noise = number_samples(structures, 5, 0.5, 1.0)
    found = number_entropies(moments_of(numbers, structures, noise))
    assert float(found.error.square().mean().sqrt()) == pytest.approx(float(found.entropy.std()), rel=0.25)


def test_a_single_structure_says_nothing_of_identification() -> None:
    found = class_entropies(moments_of(class_samples(1, 5, 0.0, 1.0), 1))
    assert found.entropy.isfinite().all()
    assert found.within.isnan().all()
    assert found.identification.isnan().all()
    assert found.error.isnan().all()


def number_samples(structures, draws, between, within, *, numbers=1, seed=0, scale=1.0, noise=0.25):
    g = torch.Generator().manual_seed(seed)
    of_structure = between * torch.randn(structures, 1, AGENTS, numbers, generator=g, dtype=torch.double)
    of_draw = within * torch.randn(structures, draws, AGENTS, numbers, generator=g, dtype=torch.double)
    means = scale * (of_structure + of_draw).flatten(0, 1)
    return means, torch.full_like(means, noise * scale**2)


@pytest.mark.parametrize("numbers", [1, 2])
@pytest.mark.parametrize("between", [0.0, 0.5, 2.0])
def test_numbers_have_the_entropy_of_their_gaussian_hierarchy(numbers, between) -> None:
    means, noise = number_samples(40, 5, between, 1.0, numbers=numbers)
    found = number_entropies(moments_of(means, 40, noise))
    within = 0.5 * numbers * math.log(2 * math.pi * math.e * 1.25)
    identification = 0.5 * numbers * math.log(1 + between**2 / 1.25)
    assert float(found.within.mean()) == pytest.approx(within, abs=0.02)
    # The posterior itself is a sample of 40: its mixture lacks a little of the entropy of a Gaussian.
    assert float(found.identification.mean()) == pytest.approx(identification, abs=0.06 * numbers)


def test_entropies_of_numbers_move_with_their_unit_and_not_with_their_origin() -> None:
    plain, noise = number_samples(20, 5, 1.0, 1.0)
    found = number_entropies(moments_of(plain, 20, noise))
    scaled = number_entropies(moments_of(1e-6 * plain, 20, 1e-12 * noise))
    moved = number_entropies(moments_of(1e4 + plain, 20, noise))
    torch.testing.assert_close(scaled.entropy, found.entropy + math.log(1e-6), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(scaled.identification, found.identification, atol=1e-5, rtol=0.0)
    torch.testing.assert_close(moved.identification, found.identification, atol=1e-4, rtol=0.0)


def dense_information(means, variances):
    """Entropy of the mixture on a fine grid, less that of its components."""
    deviations = variances.sqrt()
    low, high = float((means - 9 * deviations).min()), float((means + 9 * deviations).max())
    x = torch.linspace(low, high, 100_001, dtype=torch.double)
    each = torch.exp(-0.5 * (x[:, None] - means) ** 2 / variances) / torch.sqrt(2 * math.pi * variances)
    density = each.mean(1)
    entropy = -torch.trapezoid(torch.special.xlogy(density, density), x)
    return float(entropy - (0.5 * torch.log(2 * math.pi * math.e * variances)).mean())


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("components", [2, 20])
def test_information_of_one_number_equals_the_dense_integral(components, spread) -> None:
    g = torch.Generator().manual_seed(components)
    means = spread * torch.randn(components, generator=g, dtype=torch.double)
    variances = torch.exp(0.3 * torch.randn(components, generator=g, dtype=torch.double))
    found = mixture_information(means[:, None, None], variances[:, None, None])
    assert float(found) == pytest.approx(dense_information(means, variances), abs=1e-3)


def test_information_of_several_numbers_that_do_not_interact_is_that_of_one() -> None:
    g = torch.Generator().manual_seed(3)
    means = 2.0 * torch.randn(10, 1, 1, generator=g, dtype=torch.double)
    variances = torch.ones_like(means)
    apart = mixture_information(torch.cat([means, torch.zeros_like(means)], -1), torch.cat([variances, variances], -1))
    assert float(apart) == pytest.approx(float(mixture_information(means, variances)), abs=0.03)


def test_information_of_many_components_is_integrated_around_some_of_them() -> None:
    means = torch.randn(500, 200, 1, generator=torch.Generator().manual_seed(4), dtype=torch.double)
    found = mixture_information(means, torch.ones_like(means))
    assert float(found.mean()) == pytest.approx(0.5 * math.log(2), abs=0.02)
