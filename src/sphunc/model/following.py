r"""What an outcome says about the next one beside the state: a table from class to class.

.. math:: z \leftarrow z + F_{y_t}, \qquad y_t \text{ the class at the origin, where it is known}

A state is read where outcomes are evidence for it: somebody who was a is expected to be a again. That a turns into b a
table says. It is found before the first pass, and counts only where it tells the outcomes of agents who had no part in
it better than that they stay as they are, which states come to say by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import nn

from sphunc._typing import Float, Int, Tensor
from sphunc.model.observed import Observed
from sphunc.model.run import Run

PRIOR_DEVIATION = 2.0
"""Of every entry around 0."""
LEAST_GAIN = 0.05
"""In nats per outcome of agents that a table was not found from; it also has to be twice its standard error."""
MOST_STEPS = 100

Law = Callable[[Tensor], Tensor]
"""From logits ``[M, C]`` to log probabilities ``[M, C]``."""


class Following(nn.Module):
    """Owns the table F ``[C, C]`` (from, to), and whether it counts.

    Args:
        classes: C.
        horizon: steps from an outcome to the one that the table tells of.
    """

    counts: Tensor

    def __init__(self, classes: int, horizon: int) -> None:
        super().__init__()
        self.horizon = horizon
        self.table = nn.Parameter(torch.zeros(classes, classes))
        self.register_buffer("counts", torch.tensor(False))

    def told(self, observed: Observed) -> Float[Tensor, "time agent class"]:
        """1 for the class of an agent at a time, 0 for all others, and everywhere where it is not known."""
        one_hot = nn.functional.one_hot(observed.y, len(self.table)).to(self.table)
        return one_hot * observed.y_mask.unsqueeze(-1)

    def forward(self, observed: Observed) -> Float[Tensor, "time agent class"] | None:
        """Return what is added to the logits of forecasts from every time; None if the table does not count."""
        return self.told(observed) @ self.table if bool(self.counts) else None

    def at(
        self, step: int, now: Float[Tensor, "time agent class"] | None, before: Sequence[Run]
    ) -> Float[Tensor, "one agent class"] | None:
        """Return the same for a forecast ``step`` steps ahead.

        Args:
            step: 1 or more; the table says nothing below the horizon.
            now: what is added at the horizon, or None.
            before: forecasts of the steps before, whose classes are told as far as they are probable.
        """
        if now is None or step < self.horizon:
            return None
        if step == self.horizon:
            return now
        probable = before[step - self.horizon - 1].log_probabilities
        return None if probable is None else probable.exp() @ self.table

    @torch.no_grad()
    def take(self, table: Float[Tensor, "class class"] | None) -> None:
        """Begin with a table; None is one that does not count."""
        self.counts.fill_(table is not None)
        self.table.copy_(torch.zeros_like(self.table) if table is None else table)


def find_table(
    logits: Float[Tensor, "row class"],
    told: Float[Tensor, "row class"],
    truth: Int[Tensor, " row"],
    agent: Int[Tensor, " row"],
    law: Law,
) -> Float[Tensor, "class class"] | None:
    """Find the table under which outcomes are likeliest, or None where it does not prove itself.

    Args:
        logits: z, without the table.
        told: class at the origin, 1 in its column; 0 throughout where it is not known.
        truth: classes that came.
        agent: whose they are; every other agent judges what the rest found.
        law: how logits become log probabilities.
    """
    z, told, truth = logits.double(), told.double(), truth.unsqueeze(1)
    gain = torch.zeros(len(truth), dtype=torch.float64, device=truth.device)
    stay, entries = _shapes(z.shape[1], z.device)
    for half in (agent % 2 == 0, agent % 2 == 1):
        rest, judged = (z[~half], told[~half], truth[~half]), (z[half], told[half], truth[half])
        staying, table = _likeliest(*rest, law, stay, least=0.0), _likeliest(*rest, law, entries)
        gain[half] = _score(*judged, table, law) - _score(*judged, staying, law)
    return _likeliest(z, told, truth, law, entries) if _is_certain(gain, agent) else None


def _shapes(classes: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Tables that add up to others ``[P, C, C]``: to those by which everybody stays, and to all."""
    one = torch.eye(classes * classes, dtype=torch.float64, device=device).view(-1, classes, classes)
    return torch.eye(classes, dtype=torch.float64, device=device).unsqueeze(0), one


def _score(logits: Tensor, told: Tensor, truth: Tensor, table: Tensor, law: Law) -> Tensor:
    return law(logits + told @ table).gather(1, truth).squeeze(1)


def _is_certain(gain: Tensor, agent: Tensor) -> bool:
    """Whether the mean gain is large, and at least twice its standard error over agents."""
    if not len(gain):
        return False
    mean = gain.mean()
    apart = torch.zeros(int(agent.max()) + 1, dtype=gain.dtype, device=gain.device)
    error = apart.index_add(0, agent, gain - mean).square().sum().sqrt() / len(gain)
    return float(mean) > max(LEAST_GAIN, 2 * float(error))


def _likeliest(
    logits: Tensor, told: Tensor, truth: Tensor, law: Law, shapes: Tensor, *, least: float | None = None
) -> Tensor:
    """Find the likeliest table among sums of ``shapes``, none of them with a weight below ``least``."""

    @torch.enable_grad()
    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        free = torch.tensor(point, dtype=torch.float64, device=logits.device, requires_grad=True)
        fit = _score(logits, told, truth, torch.einsum("p,pij->ij", free, shapes), law).sum()
        loss = (free / PRIOR_DEVIATION).square().sum() / 2.0 - fit
        (gradient,) = torch.autograd.grad(loss, free)
        return float(loss.detach()), gradient.cpu().numpy()

    options: dict[str, Any] = {"bounds": [(least, None)] * len(shapes), "options": {"maxiter": MOST_STEPS}}
    found: Any = minimize(objective, np.zeros(len(shapes)), jac=True, method="L-BFGS-B", **options)
    return torch.einsum("p,pij->ij", torch.tensor(found.x, device=logits.device), shapes)
