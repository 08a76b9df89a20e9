"""The von Mises-Fisher law as a ``torch.distributions.Distribution``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints, register_kl

from sphunc.sphere.checks import (
    as_kappa,
    check_broadcast,
    check_directions,
    check_generator,
    check_same_dim,
    check_same_kind,
    unit_tolerance,
)
from sphunc.sphere.concentration import concentration_from_gap
from sphunc.sphere.geometry import weighted_mean_direction
from sphunc.sphere.radial import radial
from sphunc.sphere.sampling import rsample_vmf
from sphunc.sphere.vmf import log_density, vmf_kl


class _UnitVector(constraints.Constraint):
    """Vectors of length 1 along the last axis."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(value, dim=-1)
        return (norm - 1).abs() <= unit_tolerance(value.dtype)


unit_vector = _UnitVector()


class VonMisesFisher(Distribution):
    r"""von Mises-Fisher law on the unit sphere, density :math:`C_D(\kappa)\exp(\kappa\,\mu\cdot x)`.

    Args:
        mu: mean directions :math:`\mu`, unit vectors ``[*batch, D]``, D >= 2.
        kappa: concentrations :math:`\kappa \ge 0`, ``[*batch]`` or a number; broadcasts with ``mu``. 0 is uniform.
        validate_args: check the arguments here and the values given to :meth:`log_prob`. On by default, as in torch;
            on an accelerator the checks wait for it, so switch them off in an inner loop.

    Samples are exact and carry exact first gradients in both arguments. All functions of kappa hold to float64 rounding
    for D up to 100,000 and kappa up to 1e9 (docs/sphere.md).

    >>> law = VonMisesFisher(torch.tensor([0.0, 0.0, 1.0]), 10.0)
    >>> law.rsample((5,), generator=torch.Generator().manual_seed(0)).shape
    torch.Size([5, 3])
    >>> law.entropy()
    tensor(0.5353)
    """

    arg_constraints = {"mu": unit_vector, "kappa": constraints.nonnegative}  # noqa: RUF012  # pyright: ignore
    support = unit_vector  # pyright: ignore
    has_rsample = True

    def __init__(self, mu: Tensor, kappa: Tensor | float, validate_args: bool | None = None):
        validate = Distribution._validate_args
        if validate_args is not None:
            validate = validate_args
        mu = check_directions(mu, "mu", validate=validate)
        kappa = as_kappa(kappa, mu, validate=validate)
        check_same_kind(mu=mu, kappa=kappa)
        batch = check_broadcast(mu=mu.shape[:-1], kappa=kappa.shape)
        self.mu = mu.expand(*batch, mu.shape[-1])
        self.kappa = kappa.expand(batch)
        super().__init__(batch, mu.shape[-1:], validate_args=False)
        self._validate_args = validate

    @classmethod
    def fit(cls, x: Tensor, weights: Tensor | None = None) -> VonMisesFisher:
        """The law of maximum likelihood of unit vectors ``[*batch, point, D]``, weighted by ``[*batch, point]``.

        Args:
            x: unit vectors, ``[*batch, point, D]``.
            weights: non-negative, ``[*batch, point]``; None weighs equally.
        """
        mean, gap = weighted_mean_direction(x, weights)
        return cls(mean, concentration_from_gap(gap, x.shape[-1]))

    @property
    def dim(self) -> int:
        """Ambient dimension D."""
        return self.event_shape[0]

    @property
    def mean(self) -> Tensor:
        """Mean vector A_D(kappa) mu; shorter than 1."""
        return radial(self.kappa, self.dim, "A").unsqueeze(-1) * self.mu

    @property
    def mode(self) -> Tensor:
        """The direction of highest density, mu."""
        return self.mu

    @property
    def variance(self) -> Tensor:
        r"""Variance of each coordinate, :math:`\frac{A}{\kappa}(1 - \mu_i^2) + A'\mu_i^2`."""
        A = radial(self.kappa, self.dim, "A")
        gap = radial(self.kappa, self.dim, "gap")
        slope = radial(self.kappa, self.dim, "A1")
        across = (gap * (1 + A) - slope) / (self.dim - 1)
        return across.unsqueeze(-1) + (slope - across).unsqueeze(-1) * self.mu.square()

    def expand(self, batch_shape: Sequence[int], _instance: VonMisesFisher | None = None) -> VonMisesFisher:
        """The same law with a larger batch shape; shares memory.

        Args:
            batch_shape: the new batch shape, to which the present one broadcasts.
            _instance: as torch's distributions pass it to subclasses.
        """
        new: Any = self._get_checked_instance(VonMisesFisher, _instance)
        batch = torch.Size(batch_shape)
        new.mu = self.mu.expand(*batch, self.dim)
        new.kappa = self.kappa.expand(batch)
        Distribution.__init__(new, batch, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def rsample(self, sample_shape: Sequence[int] = (), *, generator: torch.Generator | None = None) -> Tensor:
        """Samples ``[*sample_shape, *batch, D]`` with gradients in both arguments; None is torch's own generator.

        Args:
            sample_shape: shape of the samples of each law.
            generator: source of randomness.
        """
        check_generator(generator)
        shape = torch.Size(sample_shape)
        x = rsample_vmf(self.mu.reshape(-1, self.dim), self.kappa.reshape(-1), shape.numel(), generator)
        return x.reshape(shape + self.batch_shape + self.event_shape)

    def sample(self, sample_shape: Sequence[int] = (), *, generator: torch.Generator | None = None) -> Tensor:
        """Samples ``[*sample_shape, *batch, D]`` without gradients.

        Args:
            sample_shape: shape of the samples of each law.
            generator: source of randomness; None is torch's own.
        """
        with torch.no_grad():
            return self.rsample(sample_shape, generator=generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density at unit vectors ``value``, with respect to the area of the sphere."""
        value = check_directions(value, "value", validate=bool(self._validate_args))
        check_same_dim(mu=self.mu, value=value)
        check_same_kind(mu=self.mu, value=value)
        return log_density(value, self.mu, self.kappa, validate=False)

    def entropy(self) -> Tensor:
        """Differential entropy in nats, see :func:`~sphunc.sphere.vmf.vmf_entropy`."""
        return radial(self.kappa, self.dim, "entropy")


@register_kl(VonMisesFisher, VonMisesFisher)
def _kl(p: VonMisesFisher, q: VonMisesFisher) -> Tensor:
    return vmf_kl(p.mu, p.kappa, q.mu, q.kappa, validate=False)
