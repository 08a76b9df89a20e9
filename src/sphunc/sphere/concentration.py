r"""Maximum-likelihood concentration: the kappa whose mean resultant length is the one observed.

:math:`A_D(\kappa) = R` is solved by Halley's method from the start of Banerjee et al. (JMLR 2005),
:math:`R(D - R^2)/(1 - R^2)`; three steps reach rounding for every D and kappa, so no loop depends on data.
The backward pass is :math:`d\kappa/dR = 1/A_D'(\kappa)`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sphunc._typing import Float
from sphunc.sphere.checks import check_dim, check_floating, check_range
from sphunc.sphere.radial import evaluate, radial

STEPS = 3
"""Halley steps: relative error 3e-7 after one, rounding after two; the third is for safety."""

SMALLEST_GAP = 1e-140
"""Smallest 1 - R taken: below it kappa would leave the domain of the other functions."""


def _solve(resultant: Tensor, gap: Tensor, dim: int) -> Tensor:
    """Solve A(kappa) = resultant in float64, comparing whichever of A and 1 - A is the smaller."""
    kappa = resultant * (dim - resultant.square()) / (gap * (1 + resultant))
    for _ in range(STEPS):
        A, complement, slope, bend = evaluate(kappa, dim, "A", "gap", "A1", "A2")
        residual = torch.where(resultant < 0.5, A - resultant, gap - complement) / slope
        kappa = kappa - residual / (1 - residual * bend / (2 * slope))
    return kappa


class _Concentration(torch.autograd.Function):
    """kappa of (R, 1 - R); the derivative goes to the argument that the caller gave, with the sign of that argument."""

    @staticmethod
    def forward(given: Tensor, dim: int, is_gap: bool) -> Tensor:
        value = given.double()
        if is_gap:
            kappa = _solve(1 - value, value, dim)
        else:
            kappa = _solve(value, 1 - value, dim)
        return kappa.to(given.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int, bool], output: Tensor) -> None:
        _, ctx.dim, is_gap = inputs
        ctx.sign = 1
        if is_gap:
            ctx.sign = -1
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (kappa,) = ctx.saved_tensors
        return ctx.sign * grads[0] / radial(kappa, ctx.dim, "A1"), None, None

    @staticmethod
    def vmap(info: object, in_dims: tuple[int | None, ...], *args: Any) -> tuple[object, int | None]:
        return _Concentration.apply(*args), in_dims[0]


def concentration_from_resultant(resultant: Tensor, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Maximum-likelihood kappa from the mean resultant length R, :math:`\kappa = A_D^{-1}(R)`.

    Args:
        resultant: R in [0, 1), any shape. R = 1 means that all observations coincide: no finite kappa.
        dim: ambient dimension D.
        validate: whether to check the values of ``resultant``.

    As accurate as R itself allows: near 1 the digits are in 1 - R, see :func:`concentration_from_gap`.

    >>> concentration_from_resultant(torch.tensor(0.5, dtype=torch.float64), 3)
    tensor(1.7968, dtype=torch.float64)
    """
    given = check_floating(resultant, "resultant")
    dim = check_dim(dim)
    if validate:
        allowed = "Mean resultant lengths lie in [0, 1); at 1 all observations coincide and kappa is infinite"
        check_range(given, "resultant", 0.0, _below_one(given.dtype), allowed)
        _check_representable(1 - given.detach().double(), given.dtype, dim)
    return _Concentration.apply(given, dim, False)  # pyright: ignore[reportReturnType]


def concentration_from_gap(gap: Tensor, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Maximum-likelihood kappa from 1 - R, with a relative error below 1e-12 up to kappa = 1e9.

    Args:
        gap: 1 - R in (0, 1], any shape, as :func:`~sphunc.sphere.geometry.weighted_mean_direction` computes it.
        dim: ambient dimension D.
        validate: whether to check the values of ``gap``.
    """
    given = check_floating(gap, "gap")
    dim = check_dim(dim)
    if validate:
        allowed = "1 - R lies in [1e-140, 1]; at 0 all observations coincide and kappa is infinite"
        check_range(given, "gap", SMALLEST_GAP, 1.0, allowed)
        _check_representable(given.detach().double(), given.dtype, dim)
    return _Concentration.apply(given, dim, True)  # pyright: ignore[reportReturnType]


def _check_representable(gap: Tensor, dtype: torch.dtype, dim: int) -> None:
    """Refuse gaps so small that kappa, about D / 2(1 - R), leaves the type of the answer."""
    smallest = dim / (2 * torch.finfo(dtype).max)
    allowed = f"The answer would leave {dtype}, which takes 1 - R >= {smallest:.2g} at D = {dim}; pass a wider type"
    check_range(gap, "1 - R", smallest, 1.0, allowed)


def _below_one(dtype: torch.dtype) -> float:
    """The largest number of this type below 1."""
    return 1 - torch.finfo(dtype).eps / 2
