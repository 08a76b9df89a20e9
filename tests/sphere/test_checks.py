"""Every message of the argument checks, so that none can drift."""

from __future__ import annotations

import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.sphere import checks


@pytest.mark.parametrize("bad", [1, 0, -3])
def test_dim_below_two(bad):
    with pytest.raises(ArgumentError, match=rf"dim must be at least 2 \(the circle\); got {bad}\. Pass D, not D - 1"):
        checks.check_dim(bad)


@pytest.mark.parametrize("bad", [2.5, True, "3", None])
def test_dim_of_another_type(bad):
    with pytest.raises(ArgumentTypeError, match=rf"dim must be an int.*got {bad!r} of type {type(bad).__name__}"):
        checks.check_dim(bad)


def test_numbers_become_tensors():
    assert checks.as_kappa(3).dtype == torch.float64
    assert checks.as_kappa(3.0, torch.zeros(1)).dtype == torch.float32


@pytest.mark.parametrize("bad", [[1.0], "1", None, True])
def test_kappa_of_another_type(bad):
    with pytest.raises(ArgumentTypeError, match=rf"kappa must be a torch.Tensor.*got {type(bad).__name__}. Use torch"):
        checks.as_kappa(bad)


def test_kappa_of_an_integer_type():
    with pytest.raises(ArgumentTypeError, match=r"got torch.int64. Call kappa.double\(\) first"):
        checks.as_kappa(torch.tensor([3]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), -float("inf")])
def test_first_bad_concentration_is_named(bad, dtype):
    kappa = torch.ones(2, 3, dtype=dtype)
    kappa[1, 0] = kappa[1, 2] = bad
    message = rf"kappa\[1, 0\] is {bad:.6g}\. Concentrations are finite numbers in \[0, 1e150\]\. Nothing is clamped"
    with pytest.raises(ArgumentError, match=message):
        checks.as_kappa(kappa)


def test_enormous_concentration():
    with pytest.raises(ArgumentError, match=r"kappa is 1e\+151"):
        checks.as_kappa(1e151)
    assert checks.as_kappa(1e150).item() == 1e150


def test_number_too_large_for_the_directions():
    message = r"kappa is 1e\+39, but torch.float32, the type of the directions, ends at 3.40282e\+38\. Use wider"
    with pytest.raises(ArgumentError, match=message):
        checks.as_kappa(1e39, torch.ones(2))
    with pytest.raises(ArgumentError, match=r"kappa is 1e\+09, but torch.float16"):
        checks.as_kappa(10**9, torch.ones(2).half())


def test_meta_tensors_have_no_values_to_check():
    assert checks.as_kappa(torch.empty(3, device="meta")).shape == (3,)
    assert checks.check_directions(torch.empty(3, device="meta"), "mu").shape == (3,)


@pytest.mark.parametrize("bad", [0, "seed"])
def test_generator_of_another_type(bad):
    with pytest.raises(ArgumentTypeError, match=rf"generator must be a torch.Generator or None; got {bad!r} of type"):
        checks.check_generator(bad)


def test_without_validation_nothing_is_read():
    assert checks.as_kappa(torch.empty(3, device="meta"), validate=False).shape == (3,)


def test_directions():
    x = torch.eye(3)
    assert checks.check_directions(x, "mu") is x
    with pytest.raises(ArgumentError, match=r"mu\[2\] has norm 0; directions must be unit.*a zero vector has no"):
        checks.check_directions(torch.diag(torch.tensor([1.0, 1.0, 0.0])), "mu")
    with pytest.raises(
        ArgumentError, match=r"mu\[1\] has norm 1.001; .*\(norm 1 within 0.0001\). Call sphunc.sphere.norm"
    ):
        checks.check_directions(torch.diag(torch.tensor([1.0, 1.001, 1.0])), "mu")
    with pytest.raises(ArgumentError, match=r"mu has norm nan"):
        checks.check_directions(torch.tensor([float("nan"), 1.0]), "mu")
    with pytest.raises(
        ArgumentError, match=r"mu must have its D >= 2 coordinates on the last axis; got shape \(3, 1\)"
    ):
        checks.check_directions(torch.ones(3, 1), "mu")
    with pytest.raises(ArgumentError, match=r"got shape \(\)"):
        checks.check_directions(torch.tensor(1.0), "mu")


def test_mixed_kinds():
    with pytest.raises(ArgumentTypeError, match=r"b has dtype torch.float64 but a has torch.float32; all must agree"):
        checks.check_same_kind(a=torch.ones(1), b=torch.ones(1, dtype=torch.float64))
    with pytest.raises(ArgumentTypeError, match=r"b is on meta but a is on cpu; .*Move one, e.g. b.to\(a.device\)"):
        checks.check_same_kind(a=torch.ones(1), b=torch.ones(1, device="meta"))


def test_shapes():
    with pytest.raises(ArgumentError, match=r"b has 4 coordinates but a has 3; both must lie on the same sphere"):
        checks.check_same_dim(a=torch.ones(3), b=torch.ones(4))
    with pytest.raises(
        ArgumentError, match=r"batch shapes do not broadcast: a \(2,\), b \(3,\)\. They must be equal or 1"
    ):
        checks.check_broadcast(a=torch.Size([2]), b=torch.Size([3]))
