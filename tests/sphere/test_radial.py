"""The autograd layer: pieces, saved slopes and repeated slopes agree; each quantity names its true derivative."""

from __future__ import annotations

import math

import pytest
import torch

from sphunc.sphere.radial import CHUNK, QUANTITIES, evaluate, log_surface_area, radial


def test_log_surface_area_of_circle_sphere_and_glome():
    areas = [2 * math.pi, 4 * math.pi, 2 * math.pi**2]
    assert [log_surface_area(dim) for dim in (2, 3, 4)] == pytest.approx([math.log(a) for a in areas])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pieces_do_not_show(dtype):
    kappa = torch.linspace(0, 90, 2 * CHUNK + 17, dtype=dtype)
    (whole,) = evaluate(kappa, 16, "entropy")
    parts = torch.cat([evaluate(part, 16, "entropy")[0] for part in kappa.split(1000)])
    # A value in the middle of a long vector and at the end of a short one may round differently in exp and log.
    rounding = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(parts, whole, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("name", [name for name, quantity in QUANTITIES.items() if quantity.slope])
@pytest.mark.parametrize("dim", [3, 128])
def test_slope_is_the_derivative(name, dim):
    kappa = torch.tensor([0.3, 4.0, 40.0, 300.0], dtype=torch.float64, requires_grad=True)
    step = 1e-5 * (1 + kappa.detach())
    rise = evaluate(kappa + step, dim, name)[0] - evaluate(kappa - step, dim, name)[0]
    (saved,) = torch.autograd.grad(radial(kappa, dim, name).sum(), kappa)
    (again,) = torch.autograd.grad(radial(kappa, dim, name).sum(), kappa, create_graph=True)
    assert torch.allclose(saved, rise / (2 * step), rtol=1e-4, atol=1e-9)
    assert torch.equal(saved, again)


@pytest.mark.parametrize("name", ["A3", "kl_third"])
def test_the_end_of_the_chain_says_so(name):
    kappa = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(NotImplementedError, match=f"{name} is differentiable no further"):
        radial(kappa, 3, name).sum().backward()
