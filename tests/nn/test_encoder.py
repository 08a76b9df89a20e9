import pytest
import torch

from sphunc.nn.encoder import Encoder, encode, feature_statistics, standardise
from sphunc.nn.filling import fill, learn_factors

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


def test_encoder_is_its_equation():
    x, mask = data()
    encoder = Encoder(5, 7, generator=generator(2)).double()
    encoder.bias.data.normal_(generator=generator(3))
    encoder.learn_statistics(x, mask)
    got = encoder(x, mask)
    mean, deviation = feature_statistics(x, mask)
    for t in range(3):
        for i in range(4):
            seen = mask[t, i]
            raw = encoder.weight @ torch.where(seen, (x[t, i] - mean) / deviation, 0.0) + encoder.bias
            expected = raw / raw.norm() if bool(seen.any()) else torch.zeros(7, dtype=torch.float64)
            torch.testing.assert_close(got.direction[t, i], expected)
            torch.testing.assert_close(got.observed[t, i], seen.double().mean())
    torch.testing.assert_close(
        got.length[1, 1], (encoder.weight @ encoder.standardise(x, mask)[1, 1] + encoder.bias).norm()
    )


def test_weights_start_with_variance_one_over_dim():
    weight = Encoder(400, 128, generator=generator()).weight
    # 51,200 draws: standard error of the variance is sqrt(2 / 51200) = 0.6 % of it
    assert abs(float(weight.detach().var()) * 128 - 1) < 0.03


def test_an_agent_of_whom_nothing_is_known_is_neutral_and_passes_no_gradient():
    encoder = Encoder(5, 7, generator=generator())
    encoder.bias.data.fill_(2.0)
    got = encoder(torch.full((2, 5), NAN), torch.zeros(2, 5, dtype=torch.bool))
    (got.direction.sum() + got.length.sum()).backward()
    assert not got.direction.any()
    assert not got.length.any()
    assert not got.observed.any()
    assert all(p.grad is not None and not p.grad.any() for p in encoder.parameters())


def test_statistics_travel_with_the_state():
    assert {"mean", "deviation", "loadings", "noise", "weight", "bias"} == set(Encoder(5, 7).state_dict())


def test_gaps_are_filled_when_factors_were_learned():
    x, mask = data()
    encoder = Encoder(5, 7, generator=generator()).double()
    encoder.learn_statistics(x, mask, factors=True)
    plain = standardise(x, mask, *feature_statistics(x, mask))
    factors = learn_factors(plain.flatten(0, 1), mask.flatten(0, 1))
    assert encoder.loadings.shape == (5, 2)
    got = encoder.standardise(torch.where(mask, x, NAN), mask)
    torch.testing.assert_close(got, fill(plain, mask, *factors))
    lost = ~mask & mask.any(-1, keepdim=True)
    assert (got[lost] != 0).all()
    expected = encode(got, mask, encoder.weight, encoder.bias)
    assert torch.equal(encoder(x, mask).direction, expected.direction)
    torch.testing.assert_close(encoder(x, mask).observed, mask.double().mean(-1))


def test_gaps_stay_zero_when_no_factors_were_learned():
    x, mask = data()
    encoder = Encoder(5, 7, generator=generator()).double()
    encoder.learn_statistics(x, mask)
    assert encoder.loadings.shape == (5, 0)
    assert torch.equal(encoder.standardise(x, mask), standardise(x, mask, encoder.mean, encoder.deviation))
    assert not encoder.standardise(x, mask)[~mask].any()


def test_gradients():
    x, mask = data()
    weight = torch.randn(3, 5, generator=generator(), dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, generator=generator(1), dtype=torch.float64, requires_grad=True)

    def run(w, b):
        out = encode(torch.where(mask, x, 0.0), mask, w, b)
        return out.direction, out.length

    assert torch.autograd.gradcheck(run, (weight, bias))
