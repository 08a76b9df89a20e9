"""The one search for what is likeliest: L-BFGS in double precision on a loss that torch can differentiate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from sphunc._typing import Float

MOST_STEPS = 100
LEAST_FALL = 1e7 * float(np.finfo(np.float64).eps)
"""Of the loss, relative to what it is, at which a search ends."""


def minimise(
    loss: Callable[[Float[Tensor, " free"]], Float[Tensor, ""]],
    start: Float[Tensor, " free"],
    *,
    least: Sequence[float | None] | None = None,
    steps: int = MOST_STEPS,
    fall: float = LEAST_FALL,
) -> Float[Tensor, " free"]:
    """Return the point at which ``loss`` is smallest, on the device of ``start``.

    Args:
        loss: of a point in double precision.
        start: where to begin.
        least: lower bound of each coordinate; None for none.
        steps: most iterations.
        fall: of the loss in one of them, relative to what it is, below which the search ends.
    """
    device = start.device

    @torch.enable_grad()
    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        free = torch.tensor(point, dtype=torch.float64, device=device, requires_grad=True)
        value = loss(free)
        (gradient,) = torch.autograd.grad(value, free)
        return float(value.detach()), gradient.cpu().numpy()

    bounds = None if least is None else [(low, None) for low in least]
    found: Any = minimize(
        objective,
        start.detach().cpu().double().numpy(),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "ftol": fall},
    )
    return torch.tensor(found.x, device=device)
