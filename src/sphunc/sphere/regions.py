r"""The radial functions of the von Mises-Fisher law in the three regions that cover all D >= 2 and kappa >= 0.

With :math:`\nu = D/2 - 1` and :math:`g(\kappa) = \log {}_0F_1(; D/2; \kappa^2/4)` each region gives the same eight
functions, every one in a form without cancellation: ``kl`` (:math:`\kappa A - g`), ``g``, ``g_gap``
(:math:`g - \kappa`), ``A`` (:math:`g'`), ``gap`` (:math:`1 - A`), ``A1``, ``A2``, ``A3`` (derivatives of A).

==============  =============================  ============================================
region          where                          how
==============  =============================  ============================================
``Uniform``     D >= 54, any kappa             Debye series, anchored at kappa = 0
``Tail``        D < 54, kappa >= 32            the same series, anchored at infinity
``Ascending``   D < 54, kappa <= 32            ascending series, economised per dimension
==============  =============================  ============================================
"""

# ruff: noqa: D102 (the abstract class says what each function is)
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache

import torch
from torch import Tensor

from sphunc.sphere.ascending import ascending_plan
from sphunc.sphere.chebyshev import horner
from sphunc.sphere.debye import DebyePlan, debye_plan

SMALLEST_UNIFORM_DIM = 54
"""From here on nu >= 26 and the Debye series converges to float64 precision for every kappa."""

SWITCH = 32.0
"""Below ``SMALLEST_UNIFORM_DIM``, where the ascending polynomials hand over to the Debye series."""

Coefficients = Mapping[str, tuple[Tensor, ...]]


class Region(ABC):
    """The radial functions at given concentrations; results are float64, shaped as kappa."""

    k: Tensor

    @abstractmethod
    def kl(self) -> Tensor:
        """Divergence from the uniform law, kappa A - g."""

    @abstractmethod
    def g(self) -> Tensor:
        """log 0F1(; D/2; kappa^2 / 4), so that log C_D = -log|S| - g."""

    @abstractmethod
    def g_gap(self) -> Tensor:
        """g - kappa, without the loss of subtracting."""

    @abstractmethod
    def A(self) -> Tensor:
        """Mean resultant length I_{nu+1} / I_nu."""

    @abstractmethod
    def gap(self) -> Tensor:
        """1 - A, without the loss of subtracting."""

    @abstractmethod
    def A1(self) -> Tensor:
        """First derivative of A."""

    @abstractmethod
    def A2(self) -> Tensor:
        """Second derivative of A."""

    @abstractmethod
    def A3(self) -> Tensor:
        """Third derivative of A."""


class _Debye(Region):
    """What ``Uniform`` and ``Tail`` share: A and its derivatives."""

    def __init__(self, kappa: Tensor, plan: DebyePlan, coefficients: Coefficients):
        self.k = kappa
        self.nu = plan.nu
        self._coefficients = coefficients
        self.s = torch.addcmul(_constant(plan.nu**2, kappa.device), kappa, kappa).sqrt_()
        above = self.s + self.nu
        inverse = (self.s * above).reciprocal_()
        self.w = inverse * above
        self.r = inverse.mul_(self.s)
        self.w2 = self.w * self.w
        self.p = self.w * self.nu
        self._y = (self.w * (2 * plan.s0)).sub_(1)
        self._known: dict[str, Tensor] = {}

    def poly(self, name: str) -> Tensor:
        if name not in self._known:
            self._known[name] = horner(self._coefficients[name], self._y)
        return self._known[name]

    def A(self) -> Tensor:
        return (self.r - self.w2 * self.poly("T")).mul_(self.k)

    def gap(self) -> Tensor:
        return self.r * (self.nu + self.nu**2 / (self.s + self.k)) + self.k * self.w2 * self.poly("T")

    def A1(self) -> Tensor:
        u = self.s * self.r
        return torch.add(self.poly("V"), u, alpha=self.nu).mul_(self.w2)

    def _bend(self) -> Tensor:
        u = self.s * self.r
        return self.nu * u * (2 - self.p * u) + self.poly("W")

    def A2(self) -> Tensor:
        return -(self.k * self.w2) * (self.w2 * self._bend())

    def A3(self) -> Tensor:
        u = self.s * self.r
        pu = self.p * u
        bracket = self.nu * u * (8 - 7 * pu + 2 * pu * pu) + self.poly("X")
        return self.w2 * (self.w2 * ((self.k * self.w) ** 2 * bracket - self._bend()))


class Uniform(_Debye):
    """Large dimension, any concentration."""

    def _logs(self) -> tuple[Tensor, Tensor]:
        """delta = (s - nu) / nu and nu log((s + nu) / 2 nu) + log(s / nu) / 2."""
        delta = self.k * (self.k * self.r / self.nu)
        return delta, (delta / 2).log1p_().mul_(self.nu).add_(delta.log1p(), alpha=0.5)

    def kl(self) -> Tensor:
        delta, logs = self._logs()
        return logs.addcmul_(delta.mul_(self.p), self.poly("Q"), value=-1)

    def g(self) -> Tensor:
        delta, logs = self._logs()
        return self.k * (self.k * self.r) - logs - delta * self.p * self.poly("chord")

    def g_gap(self) -> Tensor:
        delta, logs = self._logs()
        short = self.k * (self.r * (self.nu + self.nu**2 / (self.s + self.k)))
        return -short - logs - delta * self.p * self.poly("chord")


class Tail(_Debye):
    """Small dimension, large concentration."""

    def _anchor(self) -> float:
        return math.lgamma(self.nu + 1) + self.nu * math.log(2) - math.log(2 * math.pi) / 2

    def _logs(self) -> Tensor:
        return self.nu * (self.s + self.nu).log_() + self.s.log() / 2

    def kl(self) -> Tensor:
        series = (self.k * self.w) ** 2 * self.poly("T") + self.poly("S")
        return self._logs() - series - (self.nu + self._anchor())

    def g(self) -> Tensor:
        return self.s + (self._anchor() - self._logs() + self.poly("S"))

    def g_gap(self) -> Tensor:
        return self.nu**2 / (self.s + self.k) + (self._anchor() - self._logs() + self.poly("S"))


class Ascending(Region):
    """Small dimension, small concentration."""

    def __init__(self, kappa: Tensor, c2: float, span: float, coefficients: Coefficients):
        self.k = kappa
        self._coefficients = coefficients
        self.growth = kappa * kappa / c2
        self.log_growth = self.growth.log1p()
        self._y = self.log_growth * (2 / span) - 1

    def poly(self, name: str) -> Tensor:
        return horner(self._coefficients[name], self._y)

    def kl(self) -> Tensor:
        return self.log_growth * self.poly("kl")

    def g(self) -> Tensor:
        return self.k * self.k * (1 + self.growth).rsqrt_() * self.poly("g")

    def g_gap(self) -> Tensor:
        return self.g() - self.k

    def A(self) -> Tensor:
        return self.k * (1 + self.growth).rsqrt_() * self.poly("A")

    def gap(self) -> Tensor:
        root = (1 + self.growth).rsqrt_()
        return root * self.poly("gap") / (1 + self.k * root * self.poly("A"))

    def A1(self) -> Tensor:
        return self.poly("A1") / (1 + self.growth)

    def A2(self) -> Tensor:
        return -self.k * self.poly("A2") / (1 + self.growth) ** 2

    def A3(self) -> Tensor:
        return self.poly("A3") / (1 + self.growth) ** 2


@lru_cache(maxsize=1024)
def _constant(value: float, device: torch.device) -> Tensor:
    return torch.tensor(value, dtype=torch.float64, device=device)


@lru_cache(maxsize=1024)
def _debye(nu: float, start: float, device: torch.device) -> tuple[DebyePlan, Coefficients]:
    plan = debye_plan(nu, start)
    return plan, _on_device(plan.polynomials, device)


@lru_cache(maxsize=128)
def _ascending(dim: int, device: torch.device) -> tuple[float, float, Coefficients]:
    plan = ascending_plan(dim, SWITCH)
    return plan.c2, plan.span, _on_device(plan.polynomials, device)


def _on_device(polynomials: Mapping[str, tuple[float, ...]], device: torch.device) -> Coefficients:
    return {
        name: torch.tensor(coefficients, dtype=torch.float64, device=device).unbind()
        for name, coefficients in polynomials.items()
    }


def cover(kappa: Tensor, dim: int) -> tuple[Region, ...]:
    """The regions that cover ``kappa`` (float64): one for large ``dim``, else (``Ascending``, ``Tail``).

    With two regions each is given only concentrations that it can take; :func:`select` picks between them.

    Args:
        kappa: concentrations, float64.
        dim: ambient dimension D.
    """
    nu = dim / 2 - 1
    if dim >= SMALLEST_UNIFORM_DIM:
        return (Uniform(kappa, *_debye(nu, 0.0, kappa.device)),)
    low = Ascending(kappa.clamp(max=SWITCH), *_ascending(dim, kappa.device))
    return low, Tail(kappa.clamp(min=SWITCH), *_debye(nu, SWITCH, kappa.device))


def select(kappa: Tensor, values: tuple[Tensor, ...]) -> Tensor:
    """Merge what :func:`cover`'s regions computed.

    Args:
        kappa: concentrations, float64.
        values: of each region, in the order of :func:`cover`.
    """
    if len(values) == 1:
        return values[0]
    return torch.where(kappa <= SWITCH, values[0], values[1])
