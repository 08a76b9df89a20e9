import pytest
import torch

from sphunc.nn.standardisation import feature_statistics, standardise

NAN = float("nan")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def data():
    x = torch.randn(3, 4, 5, generator=generator(), dtype=torch.float64) * 3 + 1
    mask = torch.rand(3, 4, 5, generator=generator(1)) > 0.3
    mask[0, 0] = False
    return x, mask


def test_statistics_are_those_of_what_was_observed():
    x, mask = data()
    mean, deviation = feature_statistics(torch.where(mask, x, NAN), mask)
    for f in range(5):
        seen = x[..., f][mask[..., f]]
        torch.testing.assert_close(mean[f], seen.mean())
        torch.testing.assert_close(deviation[f], seen.std(unbiased=False))


def test_constant_and_unseen_features_become_zero():
    x = torch.full((4, 3), 0.1)
    x[:, 1] = torch.arange(4.0)
    mask = torch.ones(4, 3, dtype=torch.bool)
    mask[:, 2] = False
    mean, deviation = feature_statistics(x, mask)
    assert deviation[[0, 2]].tolist() == [1, 1]
    assert standardise(x, mask, mean, deviation)[:, [0, 2]].abs().max() < 1e-7


def test_what_is_constant_does_not_depend_on_the_unit():
    x, mask = torch.rand(5000, 2, generator=torch.Generator().manual_seed(0)), torch.ones(5000, 2, dtype=torch.bool)
    x[:, 1] = 0.1
    for unit in (1e-12, 1e-6, 1.0, 1e6):
        deviation = feature_statistics(unit * x, mask)[1]
        assert float(deviation[0]) == pytest.approx(unit * float(x[:, 0].std()), rel=1e-3)
        assert float(deviation[1]) == 1.0


def test_unobserved_is_zero_whatever_stands_there_and_passes_no_nan_back():
    x = torch.tensor([[1.0, NAN]], requires_grad=True)
    mask = torch.tensor([[True, False]])
    out = standardise(x, mask, torch.zeros(2), torch.ones(2))
    out.sum().backward()
    assert out.tolist() == [[1.0, 0.0]]
    assert x.grad is not None
    assert x.grad.tolist() == [[1.0, 0.0]]
