"""Maximum-likelihood concentration: inverse of Arb's 1 - A, gradients, refusals."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from sphunc.errors import ArgumentError
from sphunc.sphere import concentration_from_gap, concentration_from_resultant


@pytest.mark.parametrize("points", ["grid", "held-out"])
def test_relative_error_from_an_accurate_gap_is_below_1e_12(points, arb_truth):
    for dim, kappa in arb_truth.points[points]:
        exact = arb_truth.at(dim, kappa)
        if float(exact["A"]) < 0.5:
            given = torch.tensor(float(exact["A"]), dtype=torch.float64)
            found = concentration_from_resultant(given, dim).item()
        else:
            given = torch.tensor(float(exact["gap"]), dtype=torch.float64)
            found = concentration_from_gap(given, dim).item()
        assert found == pytest.approx(kappa, rel=1e-12, abs=0), (dim, kappa)


def test_float32_is_rounded_once(arb_truth):
    kappa = torch.tensor([0.0, 0.5, 3.0, 20.0])
    resultant = torch.tensor([float(arb_truth.at(16, k)["A"]) for k in kappa.tolist()])
    found = concentration_from_resultant(resultant, 16)
    assert found.dtype == torch.float32
    assert torch.allclose(found, kappa, rtol=1e-6)


@pytest.mark.parametrize("dim", [2, 16, 128])
@pytest.mark.parametrize("function", [concentration_from_gap, concentration_from_resultant])
def test_gradients(function, dim):
    given = torch.tensor([0.1, 0.4, 0.8], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda r: function(r, dim), given)
    assert gradgradcheck(lambda r: function(r, dim), given)


def test_gradient_at_zero_is_dim():
    zero = torch.zeros((), dtype=torch.float64, requires_grad=True)
    concentration_from_resultant(zero, 7).backward()
    assert zero.grad is not None
    assert zero.grad.item() == pytest.approx(7)


def test_vmap():
    given = torch.tensor([0.1, 0.4, 0.8], dtype=torch.float64)
    mapped = torch.func.vmap(lambda r: concentration_from_resultant(r, 5, validate=False))(given)
    # Mapped operations may take other kernels, whose exp and log round differently.
    torch.testing.assert_close(mapped, concentration_from_resultant(given, 5), rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("bad", [1.0, -0.1, float("nan"), 2.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_resultants_outside_zero_one_are_refused(bad, dtype):
    with pytest.raises(ArgumentError, match=r"resultant\[1\] is .*lie in \[0, 1\); at 1 all observations coincide"):
        concentration_from_resultant(torch.tensor([0.5, bad], dtype=dtype), 3)


@pytest.mark.parametrize("bad", [0.0, -0.1, float("nan"), 1.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gaps_outside_zero_one_are_refused(bad, dtype):
    with pytest.raises(ArgumentError, match=r"gap\[1\] is .*1 - R lies in \[1e-140, 1\]"):
        concentration_from_gap(torch.tensor([0.5, bad], dtype=dtype), 3)
    with pytest.raises(ArgumentError, match="dim must be at least 2"):
        concentration_from_gap(torch.tensor([0.5]), 1)


def test_answers_that_leave_the_type_are_refused():
    with pytest.raises(ArgumentError, match=r"1 - R\[1\] is .*would leave torch.float32, which takes 1 - R >= "):
        concentration_from_gap(torch.tensor([0.5, 1e-42]), 3)
    with pytest.raises(ArgumentError, match=r"would leave torch.float16.*pass a wider type"):
        concentration_from_resultant(torch.tensor(0.9995, dtype=torch.float16), 1000)
    smallest = torch.tensor(3 / (2 * torch.finfo(torch.float32).max) * 1.001)
    assert concentration_from_gap(smallest, 3).isfinite()
