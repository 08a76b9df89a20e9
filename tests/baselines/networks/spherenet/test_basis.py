"""The bases of SphereNet against scipy, orthonormality and one number by hand."""

import math

import numpy as np
import torch
from scipy.special import sph_harm_y, spherical_jn

from sphunc.baselines.networks.spherenet.basis import (
    bessel_basis,
    bessel_zeros,
    envelope,
    radial_basis,
    real_harmonics,
    spherical_bessel,
)


def test_envelope_by_hand() -> None:
    # u(1/2) = 2 + (-28 + 48/2 - 21/4) / 32 = 2 - 9.25 / 32
    assert torch.allclose(envelope(torch.tensor([0.5], dtype=torch.double)), torch.tensor([2 - 9.25 / 32]).double())


def test_envelope_and_its_slopes_vanish_at_the_cutoff() -> None:
    x = torch.tensor(1 - 1e-9, dtype=torch.double, requires_grad=True)
    value = envelope(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (bend,) = torch.autograd.grad(slope, x)
    assert max(abs(value.item()), abs(slope.item()), abs(bend.item())) < 1e-6
    assert envelope(torch.tensor([1.0, 1.7])).tolist() == [0.0, 0.0]


def test_radial_basis_is_envelope_times_sine() -> None:
    value = radial_basis(torch.tensor([0.5]), math.pi * torch.arange(1, 4))
    expected = (2 - 9.25 / 32) * torch.tensor([[1.0, 0.0, -1.0]])
    assert torch.allclose(value, expected, atol=1e-6)


def test_zeros_are_zeros_in_order() -> None:
    zeros = bessel_zeros(4, 5)
    assert max(np.abs(spherical_jn(degree, zeros[degree])).max() for degree in range(4)) < 1e-10
    assert np.allclose(zeros[0], np.pi * np.arange(1, 6))
    assert abs(zeros[1, 0] - 4.493409457909064) < 1e-10  # tan x = x
    assert (np.diff(zeros, axis=1) > 0).all()


def test_spherical_bessel_agrees_with_scipy_from_the_least_distance_on() -> None:
    x = torch.linspace(0.15, 40, 400, dtype=torch.double)
    mine = spherical_bessel(x, 4)
    theirs = np.stack([spherical_jn(degree, x.numpy()) for degree in range(4)], -1)
    assert np.abs(mine.numpy() - theirs).max() < 1e-9


def test_bessel_basis_is_orthonormal_in_the_ball() -> None:
    x = torch.linspace(1e-3, 1, 20_001, dtype=torch.double)
    basis = bessel_basis(x, 3, 4)
    gram = torch.einsum("xln,xlm->lnm", basis * x[:, None, None] ** 2, basis) * (x[1] - x[0])
    assert torch.allclose(gram, torch.eye(4).double().expand(3, -1, -1), atol=1e-3)


def test_harmonics_agree_with_scipy() -> None:
    generator = torch.Generator().manual_seed(0)
    theta = math.pi * torch.rand(50, dtype=torch.double, generator=generator)
    phi = 2 * math.pi * torch.rand(50, dtype=torch.double, generator=generator)
    mine, column = real_harmonics(theta, phi, 4).numpy(), 0
    for degree in range(4):
        for order in range(-degree, degree + 1):
            theirs = sph_harm_y(degree, abs(order), theta.numpy(), phi.numpy()) * (-1) ** order
            part = theirs.imag * 2**0.5 if order < 0 else theirs.real * 2**0.5 if order else theirs.real
            assert np.allclose(mine[:, column], part)
            column += 1
