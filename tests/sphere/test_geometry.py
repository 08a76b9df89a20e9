"""The laws of spherical geometry, tested as laws; digits at the ends; finite gradients; refusals."""

from __future__ import annotations

import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.sphere import angle, exp_map, log_map, normalize, to_tangent, weighted_mean_direction


def directions(*shape: int, seed: int = 0) -> torch.Tensor:
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x / x.norm(dim=-1, keepdim=True)


def at_angle(theta: float) -> torch.Tensor:
    return torch.tensor([math.cos(theta), math.sin(theta), 0.0], dtype=torch.float64)


@pytest.mark.parametrize("theta", [0.0, 1e-12, 1e-5, 1.0, math.pi / 2, 3.0, math.pi - 1e-7, math.pi])
def test_angle_keeps_its_digits(theta):
    assert angle(at_angle(0.0), at_angle(theta)).item() == pytest.approx(theta, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("length", [0.0, 1e-9, 0.1, 0.49, 0.51, 1.0, 2.0, 3.0])
def test_log_undoes_exp(length):
    x = directions(6, 5)
    step = to_tangent(x, directions(6, 5, seed=1))
    step = length * normalize(step)
    y = exp_map(x, step)
    assert torch.allclose(y.norm(dim=-1), torch.ones(6, dtype=torch.float64), atol=1e-15)
    assert torch.allclose(angle(x, y), torch.full((6,), length, dtype=torch.float64), atol=1e-14)
    assert torch.allclose(log_map(x, y), step, rtol=1e-12, atol=1e-15)


def test_maps_commute_with_rotations():
    q, _ = torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3)))
    x, y = directions(4, 5), directions(4, 5, seed=2)
    assert torch.allclose(log_map(x @ q, y @ q), log_map(x, y) @ q, atol=1e-14)
    assert torch.allclose(angle(x @ q, y @ q), angle(x, y), atol=1e-14)


def test_gradients_to_second_order_also_for_zero_steps():
    x = directions(2, 4)
    zero = torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda v: exp_map(x, v, validate=False), zero)
    assert gradgradcheck(lambda v: exp_map(x, v, validate=False), zero)
    same, other = x.clone().requires_grad_(), directions(2, 4, seed=4).requires_grad_()
    for y in (same, other):
        assert gradcheck(lambda v: log_map(x, v, validate=False), y)
        assert gradgradcheck(lambda v: log_map(x, v, validate=False), y)


@pytest.mark.parametrize("sign", [1, -1])
def test_angle_gradient_is_finite_at_equal_and_antipodal_points(sign):
    x = directions(3, 4)
    y = (sign * x).requires_grad_()
    angle(x, y).sum().backward()
    assert y.grad is not None
    assert y.grad.isfinite().all()


def test_mean_direction_and_its_gap():
    x = torch.stack([at_angle(0.3), at_angle(-0.3), at_angle(0.0)])
    mean, gap = weighted_mean_direction(x, torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64))
    assert torch.allclose(mean, at_angle(0.0), atol=1e-16)
    assert gap.item() == pytest.approx(1 - math.cos(0.3), rel=1e-14)
    tight = torch.stack([at_angle(1e-7), at_angle(-1e-7)])
    assert weighted_mean_direction(tight)[1].item() == pytest.approx(5e-15, rel=1e-8)
    batch = weighted_mean_direction(directions(2, 9, 4), torch.rand(9, dtype=torch.float64))
    assert [tuple(part.shape) for part in batch] == [(2, 4), (2,)]


def test_normalize_does_not_overflow():
    x = torch.tensor([[3e200, 4e200], [3e-200, 4e-200]], dtype=torch.float64)
    assert torch.allclose(normalize(x), torch.tensor([0.6, 0.8], dtype=torch.float64))
    v = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(normalize, v)


def test_refusals():
    x = directions(2, 3)
    with pytest.raises(
        ArgumentError, match=r"the largest coordinate of x\[1\] is 0\. A direction needs a finite vector"
    ):
        normalize(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(ArgumentError, match=r"x and y are antipodal at \(1,\): every direction leads from x to -x"):
        log_map(x, torch.stack([x[0], -x[1]]))
    with pytest.raises(ArgumentError, match=r"the component of step along x\[0\] is 0.5\. step must be tangent"):
        exp_map(x, x)
    with pytest.raises(ArgumentError, match=r"y\[0\] has norm 2"):
        angle(x, 2 * x)
    with pytest.raises(ArgumentTypeError, match=r"y has dtype torch.float32 but x has torch.float64"):
        angle(x, x.float())
    with pytest.raises(ArgumentError, match=r"weights\[1\] is -1\. Weights are finite and not negative"):
        weighted_mean_direction(x, torch.tensor([1.0, -1.0], dtype=torch.float64))
    with pytest.raises(ArgumentError, match=r"the sum of weights is 0\. At least one weight must be positive"):
        weighted_mean_direction(x, torch.zeros(2, dtype=torch.float64))
    with pytest.raises(ArgumentError, match=r"the resultant length of x is 0\. The points cancel"):
        weighted_mean_direction(torch.stack([x[0], -x[0]]))
    with pytest.raises(ArgumentError, match=r"x must hold at least one point, .*got shape \(3,\)"):
        weighted_mean_direction(x[0])
