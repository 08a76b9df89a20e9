"""Speed of the sphere against the best-effort peers, required and measured side by side, in one run.

Run: ``make bench-sphere`` or ``python benchmarks/sphere.py``. One thread; CPU time, best of several, the sides of each
ratio in turn, so that other work on the machine disturbs both alike. The machine's load is printed beside the table.
"""

# ruff: noqa: E402 (the threads are pinned before numpy loads)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import ive
from scipy.stats import vonmises_fisher
from torch import Tensor

import sphunc

COUNT = 1_000_000
SAMPLES = 20_000
REPEATS = 15


class IveEntropy(torch.autograd.Function):
    """The strongest plain peer: two scaled Bessel calls, Riccati for the slope, nothing computed twice."""

    @staticmethod
    def forward(ctx: Any, kappa: Tensor, dim: int) -> Tensor:
        """H from log I_nu and A = I_{nu+1} / I_nu."""
        k, nu = kappa.detach().numpy(), dim / 2 - 1
        below, above = ive(nu, k), ive(nu + 1, k)
        A = above / below
        ctx.save_for_backward(torch.from_numpy(k * (A * A - 1) + (dim - 1) * A))
        log_normalizer = nu * np.log(k) - dim / 2 * np.log(2 * np.pi) - np.log(below) - k
        return torch.from_numpy(-log_normalizer - k * A)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """The saved slope."""
        return grads[0] * ctx.saved_tensors[0], None


@dataclass(frozen=True)
class Row:
    """One line of the table: the ratio slow / fast, and the bound it must keep."""

    what: str
    ratio: float
    bound: float
    at_least: bool

    @property
    def passes(self) -> bool:
        """Whether the measured ratio keeps the bound."""
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict = "pass" if self.passes else "FAIL"
        return f"{self.what:<66} {sign} {self.bound:>5.1f}x {self.ratio:>8.1f}x   {verdict}"


def cpu_seconds(job: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    job()
    return time.process_time() - start


def ratio(slow: Callable[[], object], fast: Callable[[], object], repeats: int = REPEATS) -> float:
    """Best CPU time of ``slow`` over best CPU time of ``fast``, measured in turn after a warm-up of both."""
    slow()
    fast()
    pairs = [(cpu_seconds(slow), cpu_seconds(fast)) for _ in range(repeats)]
    return min(s for s, _ in pairs) / min(f for _, f in pairs)


def entropy_row(dim: int, bound: float) -> Row:
    """H forward and backward over a million concentrations, log-uniform in [1, 1e4]."""
    generator = torch.Generator().manual_seed(dim)
    kappa = 10 ** (4 * torch.rand(COUNT, dtype=torch.float64, generator=generator))
    kappa.requires_grad_()

    def ours() -> None:
        kappa.grad = None
        sphunc.vmf_entropy(kappa, dim).sum().backward()

    def peer() -> None:
        kappa.grad = None
        IveEntropy.apply(kappa, dim).sum().backward()

    what = f"H forward + backward, 1e6 kappas, D={dim}: scipy ive / sphunc"
    return Row(what, ratio(peer, ours, repeats=3), bound, at_least=True)


def sampling_rows(dim: int, kappa: float) -> list[Row]:
    """Samples in float64 against scipy, in float32 against the bare normals."""
    mu = torch.nn.functional.normalize(torch.arange(1.0, dim + 1, dtype=torch.float64), dim=0)
    wide, narrow = sphunc.VonMisesFisher(mu, kappa), sphunc.VonMisesFisher(mu.float(), kappa)
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    peer = vonmises_fisher(mu.numpy(), kappa)  # pyright: ignore[reportArgumentType]
    against_scipy = ratio(
        lambda: peer.rvs(SAMPLES, random_state=rng), lambda: wide.sample((SAMPLES,), generator=generator)
    )
    against_normals = ratio(
        lambda: narrow.sample((SAMPLES,), generator=generator),
        lambda: torch.randn(SAMPLES, dim, generator=generator),
    )
    return [
        Row(f"samples, D={dim}, kappa={kappa:g}, float64: scipy rvs / sphunc", against_scipy, 4.0, at_least=True),
        Row(f"samples, D={dim}, kappa={kappa:g}, float32: sphunc / torch.randn", against_normals, 2.5, at_least=False),
    ]


def main() -> int:
    """Print the table; the exit code is 1 when a row fails."""
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    print(f"torch {torch.__version__}, 1 thread of {os.cpu_count()}, load at start {load:.1f}")
    print(f"{'ratio of CPU times':<66} {'required':>9} {'measured':>9}")
    rows = [entropy_row(128, 15.0), entropy_row(16, 3.0)]
    for kappa in (1.0, 50.0, 200.0):
        rows += sampling_rows(128, kappa)
    print("\n".join(map(str, rows)))
    print(f"load at end {os.getloadavg()[0]:.1f}")
    return 0 if all(row.passes for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
