import pytest
import torch

from sphunc.nn.concentration import (
    ConcentrationHead,
    bounded_concentration,
    scaled_entropy,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_concentration_stays_in_its_range_and_never_falls(dtype):
    raw = torch.cat([torch.tensor([-1e30, -1e8, -1e3]), torch.linspace(-300, 600, 2001), torch.tensor([1e8, 1e30])])
    kappa = bounded_concentration(raw.to(dtype))
    assert float(kappa.min()) == 1.0
    assert float(kappa.max()) == 200.0
    assert bool((kappa.diff() >= 0).all())


def test_concentration_is_one_plus_the_softplus_until_it_bends():
    raw = torch.linspace(-40, 180, 200, dtype=torch.float64)
    expected = 1 + torch.nn.functional.softplus(raw)
    torch.testing.assert_close(bounded_concentration(raw), expected, atol=1e-8, rtol=0)


def test_gradients_are_smooth_through_both_ends():
    raw = torch.tensor([-3.0, 0.0, 90.0, 198.0, 199.0, 203.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(bounded_concentration, raw)


@pytest.mark.parametrize("in_dim", [3, 16])
def test_head_is_its_equation_and_starts_at_ninety_one(in_dim):
    head = ConcentrationHead(in_dim, width=4, generator=generator()).double()
    x = torch.randn(5, in_dim, generator=generator(1), dtype=torch.float64)
    torch.testing.assert_close(head(x), torch.full((5,), 91.0, dtype=torch.float64))
    head.out.data.normal_(generator=generator(2))
    for i in range(5):
        inner = head.hidden @ x[i] + head.hidden_bias
        raw = 90 + 20 * (head.out @ (inner * torch.sigmoid(inner)) + head.out_bias)
        expected = 200 - torch.log1p(torch.exp(199 - torch.log1p(torch.exp(raw))))
        torch.testing.assert_close(head(x)[i], expected)


@pytest.mark.parametrize("dim", [3, 128])
def test_scaled_entropy_runs_from_one_to_zero(dim):
    kappa = torch.tensor([1.0, 50.0, 100.0, 200.0], dtype=torch.float64)
    scaled = scaled_entropy(kappa, dim)
    assert scaled[0].item() == pytest.approx(1.0)
    assert scaled[-1].item() == pytest.approx(0.0, abs=1e-12)
    assert bool((scaled.diff() < 0).all())


def test_scaled_entropy_of_the_known_table():
    # exact entropies at D=128 to three decimals: H(1) = -127.057, H(100) = -149.894, H(200) = -175.837
    scaled = scaled_entropy(torch.tensor(100.0, dtype=torch.float64), 128)
    assert scaled.item() == pytest.approx((175.837 - 149.894) / (175.837 - 127.057), abs=5e-5)


def test_scaled_entropy_has_gradients_inside_the_range():
    kappa = torch.tensor([2.0, 90.0, 190.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda k: scaled_entropy(k, 16), kappa)
