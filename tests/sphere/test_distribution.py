"""VonMisesFisher keeps the contract of a torch Distribution."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import kl_divergence

from sphunc import VonMisesFisher, vmf_entropy
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.sphere import unit_vector


def directions(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return (x / x.norm(dim=-1, keepdim=True)).to(dtype)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shapes_broadcast(dtype):
    law = VonMisesFisher(directions(3, 1, 5, dtype=dtype), torch.tensor([1.0, 10.0], dtype=dtype))
    assert law.batch_shape == (3, 2)
    assert law.event_shape == (5,)
    x = law.rsample((7, 4), generator=seeded())
    assert x.shape == (7, 4, 3, 2, 5)
    assert x.dtype == dtype
    assert law.log_prob(x).shape == (7, 4, 3, 2)
    assert law.entropy().shape == (3, 2)
    assert law.mean.shape == law.variance.shape == law.mode.shape == (3, 2, 5)
    assert law.rsample(generator=seeded()).shape == (3, 2, 5)
    assert law.sample((0,), generator=seeded()).shape == (0, 3, 2, 5)
    assert unit_vector.check(x).all()


def test_expand_shares_and_keeps_the_law():
    law = VonMisesFisher(directions(5), 3.0)
    wide = law.expand((4, 2))
    assert isinstance(wide, VonMisesFisher)
    assert wide.batch_shape == (4, 2)
    assert wide.mu.data_ptr() == law.mu.data_ptr()
    # Eight values at once and one alone may take other kernels, whose exp and log round differently.
    torch.testing.assert_close(wide.entropy(), law.entropy().expand(4, 2), rtol=1e-13, atol=1e-13)


def test_moments_against_samples():
    law = VonMisesFisher(directions(6), 4.0)
    x = law.sample((200_000,), generator=seeded())
    assert ((x.mean(0) - law.mean).abs() < 5 * (law.variance / len(x)).sqrt()).all()
    assert torch.allclose(x.var(0), law.variance, rtol=0.03)
    uniform = VonMisesFisher(directions(6), 0.0)
    assert torch.allclose(uniform.variance, torch.full((6,), 1 / 6, dtype=torch.float64))


def test_entropy_is_the_expected_log_prob():
    law = VonMisesFisher(directions(16), 20.0)
    log_prob = law.log_prob(law.sample((100_000,), generator=seeded()))
    assert abs(-log_prob.mean() - law.entropy()) < 4.5 * log_prob.std() / len(log_prob) ** 0.5
    torch.testing.assert_close(law.entropy(), vmf_entropy(20.0, 16), rtol=1e-13, atol=1e-13)


def test_registered_kl(arb_truth):
    p, q = (VonMisesFisher(mu, 5.0) for mu in directions(2, 4))
    expected = 5.0 * float(arb_truth.at(4, 5.0)["A"]) * (1 - p.mu @ q.mu)
    assert torch.allclose(kl_divergence(p, q), expected, rtol=1e-13)
    assert kl_divergence(p, p) == 0


def test_fit_recovers_the_law():
    law = VonMisesFisher(directions(8), 1e6)
    fitted = VonMisesFisher.fit(law.sample((50_000,), generator=seeded()))
    assert fitted.kappa.item() == pytest.approx(1e6, rel=0.02)
    assert (fitted.mu - law.mu).norm() < 1e-4


def test_log_prob_gradients():
    law_mu, kappa = directions(5).requires_grad_(), torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    x = directions(4, 5)
    assert torch.autograd.gradcheck(lambda k: VonMisesFisher(law_mu.detach(), k).log_prob(x), kappa)


def test_bad_arguments_are_refused_unless_told_otherwise():
    mu = directions(3)
    with pytest.raises(ArgumentError, match=r"mu has norm 2; directions must be unit vectors"):
        VonMisesFisher(2 * mu, 1.0)
    with pytest.raises(ArgumentError, match=r"mu\[1\] has norm 0.*a zero vector has no direction"):
        VonMisesFisher(torch.stack([mu, 0 * mu]), 1.0)
    with pytest.raises(ArgumentError, match=r"kappa\[1\] is -1"):
        VonMisesFisher(mu, torch.tensor([1.0, -1.0], dtype=torch.float64))
    with pytest.raises(ArgumentTypeError, match=r"kappa has dtype torch.float32 but mu has torch.float64"):
        VonMisesFisher(mu, torch.tensor(1.0))
    with pytest.raises(ArgumentError, match=r"batch shapes do not broadcast: mu \(2,\), kappa \(3,\)"):
        VonMisesFisher(directions(2, 3), torch.ones(3, dtype=torch.float64))
    law = VonMisesFisher(mu, 1.0)
    with pytest.raises(ArgumentError, match="value has norm 2"):
        law.log_prob(2 * mu)
    with pytest.raises(ArgumentTypeError, match=r"value has dtype torch.float32 but mu has torch.float64"):
        law.log_prob(mu.float())
    with pytest.raises(ArgumentError, match="value has 4 coordinates but mu has 3"):
        law.log_prob(directions(4))
    assert VonMisesFisher(2 * mu, 1.0, validate_args=False).log_prob(mu).isfinite()


def test_types_and_devices_are_checked_always():
    law = VonMisesFisher(torch.tensor([0.0, 1.0]), 2.0, validate_args=False)
    with pytest.raises(ArgumentTypeError, match=r"value must be of a floating type; got torch.int64"):
        law.log_prob(torch.tensor([0, 1]))
    with pytest.raises(ArgumentError, match=r"value must have its D >= 2 coordinates on the last axis; got shape \(\)"):
        law.log_prob(torch.tensor(1.0))
    with pytest.raises(ArgumentTypeError, match="kappa is on meta but mu is on cpu"):
        VonMisesFisher(torch.tensor([0.0, 1.0]), torch.ones(3, device="meta"))
