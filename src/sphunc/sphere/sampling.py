r"""Exact samples of a von Mises-Fisher law with exact gradients in the direction and the concentration.

**Sampling.** Wood's rejection method (1994) in a Moebius coordinate. With n = D - 1,
:math:`b = n/(2\kappa + \sqrt{4\kappa^2 + n^2})` and :math:`t_0 = (1-b)/(1+b)`, the component along the mode is
:math:`t = (z + t_0)/(1 + t_0 z)`, the proposal for z is the first coordinate of a uniform direction (so it comes free
with the normal vector that gives the tangent), and it is accepted when a standard exponential variable exceeds
:math:`n[\log(1+y) - y/(1+y)]`, :math:`y = t_0 z`. At least 0.65 of the proposals are accepted for every D and kappa. A
rejected entry redraws z only. No Householder reflection, no QR, nothing singular at any direction.

**Gradients.** In kappa the implicit derivative :math:`dx/d\kappa = K(t)(\mu - t x)` at fixed quantile, with K the
entire solution of :math:`(1-t^2)K' + K(\kappa(1-t^2) - nt) = A - t`, from a recurrence of its Taylor coefficients. In
the direction the minimal rotation, :math:`dx = t\,d\mu - (x \cdot d\mu)\,\mu`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sphunc._typing import Float

BLOCK = 262_144
"""Coordinates drawn at a time on a CPU, so that one block stays in the cache."""

EXPLICIT_TANGENT_DIM = 8
"""Up to this D a normal vector may be nearly parallel to the mode: orthogonalise it twice, in float64."""

FIXED_ROUNDS = 48
"""Redraws on an accelerator, where asking whether any are left would wait for it; all fail with probability 1e-21."""

TAYLOR_TERMS = ((4, 52), (16, 40), (64, 28), (256, 16))
"""Terms of the kappa gradient up to each D, 12 above: the Taylor variable is of size D^(-1/2) over the law."""


@dataclass(frozen=True)
class Envelope:
    """The proposal of one law, all without cancellation; float64 ``[*batch]``.

    Attributes:
        n: D - 1.
        t0: shift of the Moebius coordinate.
        short: 1 - t0.
        om: 1 - t0^2.
    """

    n: int
    t0: Tensor
    short: Tensor
    om: Tensor

    def select(self, index: Tensor) -> Envelope:
        """The envelopes of some entries."""
        return Envelope(self.n, self.t0[index], self.short[index], self.om[index])

    def spread(self, z: Tensor) -> Tensor:
        """1 + t0 z, accurate where both are near their ends."""
        return (1 + z) - self.short * z

    def accepts(self, z: Tensor, generator: torch.Generator | None) -> Tensor:
        """Decide on proposals, one exponential variable each.

        Args:
            z: proposed Moebius coordinates.
            generator: source of randomness; None is torch's own.
        """
        y = self.t0 * z
        threshold = self.n * (y.log1p() - y / (1 + y))
        return torch.empty_like(z).exponential_(generator=generator) >= threshold


def envelope(kappa: Float[Tensor, "*batch"], dim: int) -> Envelope:
    """The proposal for each concentration.

    Args:
        kappa: concentrations, ``[*batch]``.
        dim: ambient dimension D.
    """
    n = dim - 1
    k = kappa.detach().double()
    b = n / (2 * k + torch.hypot(2 * k, torch.full_like(k, n)))
    return Envelope(n, (1 - b) / (1 + b), 2 * b / (1 + b), 4 * b / (1 + b).square())


def normal_source(
    dtype: torch.dtype, device: torch.device, generator: torch.Generator | None
) -> Callable[[Tensor], object]:
    """A function that fills contiguous tensors of this type and device with normal variables.

    float64 on a CPU takes numpy's ziggurat, seeded by 252 bits of ``generator``: less than half of torch's time.

    Args:
        dtype: of the tensors.
        device: of the tensors.
        generator: source of randomness; None is torch's own.
    """
    if dtype != torch.float64 or device.type != "cpu":
        return lambda values: values.normal_(generator=generator)
    seed = torch.randint(2**63 - 1, (4,), generator=generator).tolist()
    ziggurat = np.random.Generator(np.random.SFC64(seed))
    return lambda values: ziggurat.standard_normal(out=values.numpy())


def _propose(like: Tensor, n: int, generator: torch.Generator | None) -> Tensor:
    """First coordinates of uniform directions in D = n + 1 dimensions."""
    across = torch._standard_gamma(torch.full_like(like, n / 2), generator=generator).mul_(2)  # pyright: ignore[reportPrivateUsage]
    along = torch.empty_like(like).normal_(generator=generator)
    return along / (along.square() + across).sqrt()


def redraw_pending(z: Tensor, law: Envelope, accepted: Tensor, generator: torch.Generator | None) -> Tensor:
    """Redraw what was rejected until nothing is left, touching only what is left (CPU).

    Args:
        z: first proposals, ``[sample, law]``.
        law: envelope of each entry, flattened.
        accepted: where the first proposal was taken, shaped as ``z``.
        generator: source of randomness; None is torch's own.
    """
    flat = z.reshape(-1).clone()
    pending = (~accepted.reshape(-1)).nonzero().squeeze(-1)
    while len(pending):
        local = law.select(pending)
        proposal = _propose(local.t0, law.n, generator)
        taken = local.accepts(proposal, generator)
        flat[pending[taken]] = proposal[taken]
        pending = pending[~taken]
    return flat.view_as(z)


def redraw_fixed(z: Tensor, law: Envelope, accepted: Tensor, generator: torch.Generator | None) -> Tensor:
    """Redraw what was rejected a fixed number of times, without asking the device anything.

    Args:
        z: first proposals, ``[sample, law]``.
        law: envelope of each entry, shaped as ``z``.
        accepted: where the first proposal was taken, shaped as ``z``.
        generator: source of randomness; None is torch's own.
    """
    for _ in range(FIXED_ROUNDS):
        proposal = _propose(z, law.n, generator)
        z = torch.where(accepted, z, proposal)
        accepted = accepted | law.accepts(proposal, generator)
    return z


def _along(z0: Tensor, law: Envelope, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Exact z from the free proposals ``z0 [sample, law]``, and where ``z0`` itself was taken."""
    wide = Envelope(law.n, *(f.expand_as(z0) for f in (law.t0, law.short, law.om)))
    accepted = wide.accepts(z0, generator)
    if z0.device.type != "cpu":
        return redraw_fixed(z0, wide, accepted, generator), accepted
    flat = Envelope(law.n, *(f.reshape(-1) for f in (wide.t0, wide.short, wide.om)))
    return redraw_pending(z0, flat, accepted, generator), accepted


def _blocks(count: int, width: int, device: torch.device) -> list[slice]:
    """Pieces of the sample axis: a cacheful each on a CPU, one elsewhere."""
    size = max(1, count)
    if device.type == "cpu":
        size = max(1, BLOCK // max(1, width))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _fused(x: Tensor, mu: Tensor, law: Envelope, generator: torch.Generator | None) -> Tensor:
    """Fill ``x [sample, law, D]`` with samples x = a v + c mu of normals v; returns z. Large D: two passes in cache."""
    fill = normal_source(x.dtype, x.device, generator)
    blocks = _blocks(len(x), mu.numel(), x.device)
    along, length = torch.empty(2, *x.shape[:2], dtype=torch.float64, device=x.device)
    for piece in blocks:
        v = x[piece]
        fill(v)
        if len(mu) == 1:
            along[piece] = (v.squeeze(1) @ mu[0]).unsqueeze(1)
        else:
            along[piece] = (v * mu).sum(-1)
        length[piece] = torch.linalg.vector_norm(v, dim=-1)
    z0 = along / length
    z, accepted = _along(z0, law, generator)
    spread = law.spread(z)
    turned = torch.where(accepted, 1.0, (1 - z * z) / torch.where(accepted, 1.0, 1 - z0 * z0))
    a = (law.om * turned).sqrt_() / (spread * length)
    c = ((z + law.t0) / spread - a * along).to(x.dtype).unsqueeze(-1)
    a = a.to(x.dtype).unsqueeze(-1)
    for piece in blocks:
        x[piece].mul_(a[piece]).addcmul_(c[piece], mu)
    return z


def _explicit(x: Tensor, mu: Tensor, law: Envelope, generator: torch.Generator | None) -> Tensor:
    """The same with explicit unit tangents in float64, for small D.

    Here a normal vector may well be parallel to the mode to the rounding of float32, and z = v . mu / |v| would exceed
    1 by it: the mode is normalised again, and z comes from both legs of the right triangle, which keeps |z| <= 1.
    """
    v = torch.empty(x.shape, dtype=torch.float64, device=x.device)
    direction = mu.double()
    direction = direction / torch.linalg.vector_norm(direction, dim=-1, keepdim=True)
    normal_source(v.dtype, v.device, generator)(v)
    along = (v * direction).sum(-1)
    tangent = v.addcmul_(along.unsqueeze(-1), direction, value=-1)
    tangent -= (tangent * direction).sum(-1, keepdim=True) * direction
    length = torch.linalg.vector_norm(tangent, dim=-1)
    tangent /= length.unsqueeze(-1)
    z, _ = _along(along / (along.square() + length.square()).sqrt_(), law, generator)
    spread = law.spread(z)
    across = (law.om * (1 - z * z)).sqrt_() / spread
    torch.add(((z + law.t0) / spread).unsqueeze(-1) * direction, across.unsqueeze(-1) * tangent, out=v)
    x.copy_(v)
    return z


def _sample_buffer(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Memory for the samples; float64 on a CPU takes numpy's, which asks for huge pages and so faults less."""
    if like.device.type == "cpu" and like.dtype == torch.float64:
        return torch.from_numpy(np.empty(shape))
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def draw(
    mu: Float[Tensor, "law dim"], kappa: Float[Tensor, " law"], count: int, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "sample law dim"], Float[Tensor, "sample law"]]:
    """``count`` samples of each law and their Moebius coordinate z (float64); no gradients, nothing checked.

    Args:
        mu: mean directions, unit vectors ``[law, D]``.
        kappa: concentrations, ``[law]``.
        count: samples of each law.
        generator: source of randomness; None is torch's own.
    """
    laws, dim = mu.shape
    x = _sample_buffer((count, laws, dim), mu)
    fill = _fused
    if dim <= EXPLICIT_TANGENT_DIM:
        fill = _explicit
    return x, fill(x, mu.detach(), envelope(kappa, dim), generator)


def _taylor_terms(dim: int) -> int:
    """Terms that bring the error of K below 1e-12 within four standard deviations of the mean of t."""
    return next((terms for largest, terms in TAYLOR_TERMS if dim <= largest), 12)


def implicit_slope(
    kappa: Float[Tensor, " law"], z: Float[Tensor, "sample law"], dim: int
) -> Float[Tensor, "sample law"]:
    """K(t) of the implicit derivative dt/dkappa = (1 - t^2) K(t), from the samples' Moebius coordinates.

    Coefficients by backward elimination of their recurrence around t0, per law; then one nested product per sample.

    Args:
        kappa: concentrations, ``[law]``.
        z: Moebius coordinates of the samples, ``[sample, law]``.
        dim: ambient dimension D.
    """
    law = envelope(kappa, dim)
    k = kappa.detach().double()
    terms = _taylor_terms(dim)
    base = law.n * (1 + law.t0.square()) / law.om
    ratios = [torch.zeros_like(k), torch.zeros_like(k)]
    pivot = base
    for m in range(terms, -1, -1):
        following, second = ratios[:2]
        pivot = m + base - 2 * law.t0 * (m + 1) * following - law.om * (m + 2) * following * second
        ratios.insert(0, k / pivot)
    tau = z * law.om / law.spread(z)
    nested = torch.ones_like(z)
    for ratio in reversed(ratios[1 : terms + 1]):
        nested = 1 - ratio * tau * nested
    return nested / pivot


class _Reparameterised(torch.autograd.Function):
    """Gives samples their derivative in mu and kappa."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor, kappa: Tensor, x: Tensor, z: Tensor) -> Tensor:
        ctx.save_for_backward(mu, kappa, x, z)
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        mu, kappa, x, z = ctx.saved_tensors
        law = envelope(kappa, mu.shape[-1])
        t = (z + law.t0) / law.spread(z)
        grad_mu = None
        if ctx.needs_input_grad[0]:
            grad_mu = _grad_mu(grads[0], mu, x, t)
        grad_kappa = None
        if ctx.needs_input_grad[1]:
            grad_kappa = _grad_kappa(grads[0], mu, kappa, x, t, z)
        return grad_mu, grad_kappa, None, None


def _grad_mu(grad: Tensor, mu: Tensor, x: Tensor, t: Tensor) -> Tensor:
    """Pull back along the minimal rotation; the result is tangent to the sphere at mu."""
    along = (grad * mu).sum(-1, keepdim=True)
    total = (t.to(grad.dtype).unsqueeze(-1) * grad - along * x).sum(0)
    return total - (total * mu).sum(-1, keepdim=True) * mu


def _grad_kappa(grad: Tensor, mu: Tensor, kappa: Tensor, x: Tensor, t: Tensor, z: Tensor) -> Tensor:
    """Sum over samples of K(t) grad . (mu - t x)."""
    moved = (grad * (mu - t.to(x.dtype).unsqueeze(-1) * x)).sum(-1, dtype=torch.float64)
    return (implicit_slope(kappa, z, mu.shape[-1]) * moved).sum(0).to(kappa.dtype)


def rsample_vmf(
    mu: Float[Tensor, "law dim"], kappa: Float[Tensor, " law"], count: int, generator: torch.Generator | None = None
) -> Float[Tensor, "sample law dim"]:
    """``count`` reparameterised samples of each law; gradients flow to ``mu`` and ``kappa``, once.

    The derivative in kappa is that of the sample at fixed quantile, K(t)(mu - t x). In float64 the relative error of K
    is below 1e-12 where t = mu . x is within four standard deviations of its mean, 1e-9 within eight; mu - t x has the
    rounding of the coordinates. A ``generator`` fixes the draw; None takes torch's own.

    Args:
        mu: mean directions, unit vectors ``[law, D]``.
        kappa: concentrations, ``[law]``.
        count: samples of each law.
        generator: source of randomness; None is torch's own.
    """
    x, z = draw(mu, kappa, count, generator)
    if not (torch.is_grad_enabled() and (mu.requires_grad or kappa.requires_grad)):
        return x
    return _Reparameterised.apply(mu, kappa, x, z)  # pyright: ignore[reportReturnType]
