r"""Functions of the concentration as autograd functions, each computed in one pass with its slope.

Each quantity names its derivative, so that the backward pass multiplies a number that the forward pass has computed
along the way; only when a graph of the backward pass is wanted is the derivative evaluated as a function again.
float32 goes in, is widened piece by piece, and rounded once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sphunc.sphere.anchor import anchored
from sphunc.sphere.regions import Region, cover, select

CHUNK = 32_768
"""Concentrations per piece on a CPU: the intermediates of one piece stay in the cache."""


def log_surface_area(dim: int) -> float:
    r"""log of the area of the unit sphere, :math:`\log|S^{D-1}| = \log 2 + \frac D2 \log\pi - \log\Gamma(D/2)`.

    >>> round(log_surface_area(3), 6)
    2.531024
    """
    return math.log(2) + dim / 2 * math.log(math.pi) - math.lgamma(dim / 2)


@dataclass(frozen=True)
class Quantity:
    """A function of kappa: its value in a region, the name of its derivative, and that derivative's sign."""

    value: Callable[[Region, Tensor, int], Tensor]
    slope: str | None
    sign: int = 1


QUANTITIES = {
    "entropy": Quantity(lambda at, k, dim: at.kl().neg_().add_(log_surface_area(dim)), "kl_slope", -1),
    "kl": Quantity(lambda at, k, dim: at.kl(), "kl_slope"),
    "kl_slope": Quantity(lambda at, k, dim: at.A1().mul_(k), "kl_bend"),
    "kl_bend": Quantity(lambda at, k, dim: at.A1() + k * at.A2(), "kl_third"),
    "kl_third": Quantity(lambda at, k, dim: 2 * at.A2() + k * at.A3(), None),
    "log_normalizer": Quantity(lambda at, k, dim: anchored(k, dim, -log_surface_area(dim) - at.g()), "A", -1),
    "peak": Quantity(lambda at, k, dim: -log_surface_area(dim) - at.g_gap(), "gap"),
    "g": Quantity(lambda at, k, dim: at.g(), "A"),
    "g_gap": Quantity(lambda at, k, dim: at.g_gap(), "gap", -1),
    "A": Quantity(lambda at, k, dim: at.A(), "A1"),
    "gap": Quantity(lambda at, k, dim: at.gap(), "A1", -1),
    "A1": Quantity(lambda at, k, dim: at.A1(), "A2"),
    "A2": Quantity(lambda at, k, dim: at.A2(), "A3"),
    "A3": Quantity(lambda at, k, dim: at.A3(), None),
}


def _evaluate_piece(kappa: Tensor, dim: int, names: tuple[str, ...]) -> list[Tensor]:
    regions = cover(kappa, dim)
    return [select(kappa, tuple(QUANTITIES[name].value(at, at.k, dim) for at in regions)) for name in names]


def evaluate(kappa: Tensor, dim: int, *names: str) -> list[Tensor]:
    """Values of several quantities at the same concentrations, without autograd; dtype and shape of ``kappa``.

    The arithmetic is float64. On a CPU it runs in pieces of ``CHUNK``; elsewhere in one launch, without a host sync.

    Args:
        kappa: concentrations, any floating type and shape.
        dim: ambient dimension D.
        *names: of the quantities, keys of ``QUANTITIES``.
    """
    flat = kappa.detach().reshape(-1)
    size = max(flat.numel(), 1)
    if flat.device.type == "cpu":
        size = CHUNK
    if flat.numel() <= size:
        pieces = _evaluate_piece(flat.double(), dim, names)
        return [piece.to(kappa.dtype).reshape(kappa.shape) for piece in pieces]
    results = [torch.empty_like(flat) for _ in names]
    for start in range(0, flat.numel(), size):
        piece = slice(start, start + size)
        for result, value in zip(results, _evaluate_piece(flat[piece].double(), dim, names), strict=True):
            result[piece] = value
    return [result.reshape(kappa.shape) for result in results]


class _Radial(torch.autograd.Function):
    """A quantity with its slope; the slope is carried along and is not itself differentiable."""

    @staticmethod
    def forward(kappa: Tensor, dim: int, name: str, with_slope: bool) -> tuple[Tensor, Tensor]:
        quantity = QUANTITIES[name]
        if not with_slope or quantity.slope is None:
            (value,) = evaluate(kappa, dim, name)
            return value, value.new_empty(0)
        value, slope = evaluate(kappa, dim, name, quantity.slope)
        if quantity.sign < 0:
            slope.neg_()
        return value, slope

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int, str, bool], output: tuple[Tensor, Tensor]) -> None:
        kappa, ctx.dim, ctx.name, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(kappa, output[1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        kappa, slope = ctx.saved_tensors
        quantity = QUANTITIES[ctx.name]
        if quantity.slope is None:
            raise NotImplementedError(f"{ctx.name} is differentiable no further: that needs a fourth derivative of A")
        if torch.is_grad_enabled():
            slope = quantity.sign * radial(kappa, ctx.dim, quantity.slope)
        return grads[0] * slope, None, None, None

    @staticmethod
    def vmap(info: object, in_dims: tuple[int | None, ...], *args: Any) -> tuple[object, object]:
        _, _, name, with_slope = args
        carried = None
        if with_slope and QUANTITIES[name].slope:
            carried = in_dims[0]
        return _Radial.apply(*args), (in_dims[0], carried)


def radial(kappa: Tensor, dim: int, name: str) -> Tensor:
    """A quantity of ``QUANTITIES`` at ``kappa``, differentiable; the arguments are not checked.

    Args:
        kappa: concentrations, any floating type and shape.
        dim: ambient dimension D.
        name: of the quantity, a key of ``QUANTITIES``.
    """
    with_slope = torch.is_grad_enabled() and kappa.requires_grad
    return _Radial.apply(kappa, dim, name, with_slope)[0]  # pyright: ignore[reportOptionalSubscript]
