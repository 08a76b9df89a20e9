"""Distributions against torch.distributions and written-out formulas; pools and temperatures against densities."""

import math

import pytest
import torch

from sphunc.forecasting.distribution import SMALLEST_LOG_PROBABILITY, Categorical, Gaussian, Tails, concatenate, pool


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def categorical(*batch, seed=0):
    return Categorical(torch.log_softmax(2 * numbers(*batch, 4, seed=seed), -1))


def gaussian(*batch, seed=0):
    return Gaussian(numbers(*batch, 2, seed=seed), numbers(*batch, 2, seed=seed + 9).exp())


def indicators(*batch, seed=5):
    labels = torch.randint(4, batch, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.one_hot(labels, 4).double(), labels


@pytest.mark.parametrize("batch", [(6,), (3, 5)])
def test_categorical_is_that_of_torch(batch):
    mine = categorical(*batch)
    outcome, labels = indicators(*batch)
    reference = torch.distributions.Categorical(logits=mine.log_probabilities)
    torch.testing.assert_close(mine.entropy, reference.entropy())
    torch.testing.assert_close(mine.nll(outcome), -reference.log_prob(labels))
    torch.testing.assert_close(mine.probabilities, reference.probs)
    torch.testing.assert_close(mine.confidence, reference.probs.max(-1).values)
    brier = sum((mine.probabilities[..., c] - (labels == c).double()) ** 2 for c in range(4))
    torch.testing.assert_close(mine.squared_error(outcome), brier)


def test_gaussian_is_that_of_torch():
    mine = gaussian(3, 5)
    outcome = numbers(3, 5, 2, seed=7)
    reference = torch.distributions.Normal(mine.mean, mine.variance.sqrt())
    torch.testing.assert_close(mine.entropy, reference.entropy().sum(-1))
    torch.testing.assert_close(mine.nll(outcome), -reference.log_prob(outcome).sum(-1))
    torch.testing.assert_close(mine.squared_error(outcome), (outcome - mine.mean).pow(2).mean(-1))


def test_confidence_of_numbers_falls_with_variance():
    sharp = Gaussian(torch.zeros(3, 1), torch.tensor([[0.1], [1.0], [10.0]]))
    assert (sharp.confidence.diff() < 0).all()
    assert float(sharp.confidence[1]) == 0.5


def test_an_impossible_outcome_costs_a_finite_number_of_nats():
    certain = Categorical(torch.tensor([[1.0, 0.0]]).log())
    wrong = certain.nll(torch.tensor([[0.0, 1.0]]))
    assert float(wrong) == pytest.approx(-SMALLEST_LOG_PROBABILITY)
    assert float(certain.nll(torch.tensor([[1.0, 0.0]]))) == 0
    assert float(certain.entropy) == 0


@pytest.mark.parametrize("tau", [0.3, 1.0, 2.5])
def test_tempering_classes_takes_powers(tau):
    plain = categorical(6)
    powered = plain.probabilities ** (1 / tau)
    expected = powered / powered.sum(-1, keepdim=True)
    found = plain.tempered(torch.full((6,), tau, dtype=torch.float64))
    torch.testing.assert_close(found.probabilities, expected)
    assert torch.equal(found.probabilities.argmax(-1), plain.probabilities.argmax(-1))


def test_a_higher_temperature_never_lowers_entropy():
    temperatures = torch.tensor([0.5, 1.0, 2.0, 4.0], dtype=torch.float64)
    for plain in (categorical(6), gaussian(6)):
        entropy = torch.stack([plain.tempered(tau.expand(6)).entropy for tau in temperatures])
        assert (entropy.diff(dim=0) > 0).all()


def test_tempering_numbers_scales_deviations():
    plain = gaussian(3)
    tau = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)
    found = plain.tempered(tau)
    torch.testing.assert_close(found.variance.sqrt(), plain.variance.sqrt() * tau.unsqueeze(1))
    assert torch.equal(found.mean, plain.mean)


def test_select_and_concatenate_undo_each_other():
    mask = torch.tensor([True, False, True, False])
    order = torch.tensor([0, 2, 1, 3])
    for plain in (categorical(4), gaussian(4)):
        joined = concatenate([plain.select(mask), plain.select(~mask)])
        outcome = torch.nn.functional.one_hot(torch.arange(4)).double()[:, : 4 if type(plain) is Categorical else 2]
        assert torch.equal(joined.nll(outcome[order]), plain.nll(outcome)[order])


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_pool_of_classes_is_the_geometric_mean(weight):
    first = categorical(5)
    second = categorical(5, seed=3)
    product = first.probabilities ** (1 - weight) * second.probabilities**weight
    expected = product / product.sum(-1, keepdim=True)
    torch.testing.assert_close(pool(first, second, weight).probabilities, expected)


def test_pool_of_numbers_is_proportional_to_the_product_of_densities():
    first = gaussian(5)
    second = gaussian(5, seed=3)
    pooled = pool(first, second, 0.3)
    points = torch.linspace(-3, 3, 11, dtype=torch.float64)
    logs = []
    for x in points:
        at = x.expand(5, 2)
        mixed = 0.7 * first.nll(at) + 0.3 * second.nll(at)
        logs.append(pooled.nll(at) - mixed)
    constant = torch.stack(logs)
    torch.testing.assert_close(constant, constant[:1].expand_as(constant), rtol=0, atol=1e-9)


def test_pools_of_two_kinds_are_refused():
    with pytest.raises(TypeError, match="a pool joins two distributions of one kind"):
        pool(categorical(2), gaussian(2), 0.5)


def test_entropy_of_a_uniform_distribution():
    assert float(Categorical(torch.full((1, 8), -math.log(8.0))).entropy) == pytest.approx(math.log(8.0))


@pytest.mark.parametrize("tails", [Tails(0.1, 10.0), Tails(0.2, 2.0), Tails(0.01, 20.0)])
def test_outliers_leave_mean_and_variance_and_make_a_mixture_of_two_normals(tails):
    deviation = (1 - tails.share + tails.share * tails.ratio**2) ** -0.5
    mixture = torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(torch.tensor([1 - tails.share, tails.share]).double()),
        torch.distributions.Normal(0.0, torch.tensor([deviation, tails.ratio * deviation]).double()),
    )
    assert float(mixture.variance) == pytest.approx(1.0)
    error = torch.linspace(-12, 12, 101).double()
    torch.testing.assert_close(tails.nll(error), -mixture.log_prob(error))
    sample = mixture.sample((200_000,))
    assert tails.entropy == pytest.approx(float(-mixture.log_prob(sample).mean()), abs=0.02)
    plain = gaussian(5)
    heavy = Gaussian(plain.mean, plain.variance, tails)
    outcome = numbers(5, 2, seed=3)
    reference = mixture.log_prob((outcome - plain.mean) / plain.variance.sqrt()) - 0.5 * plain.variance.log()
    torch.testing.assert_close(heavy.nll(outcome), -reference.sum(-1))
    kept = heavy.tempered(torch.full((5,), 2.0).double()).select(torch.tensor([1, 3]))
    assert kept.tails == tails
    torch.testing.assert_close(kept.variance, 4 * plain.variance[[1, 3]])
    assert concatenate([heavy, kept]).tails == tails


def test_entropy_of_tails_meets_the_normal_one():
    assert Tails(1e-9, 1.5).entropy == pytest.approx(Tails().entropy, abs=1e-6)
