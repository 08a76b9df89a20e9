r"""Design columns per target and their Gram matrices under a random effect.

Target i at times t = L ... T-1 has the columns

.. math:: h^i_{t-l},\; h^i_0,\; \overline{h_0},\; \text{pull}^i_{t-1},\; 1 \;|\; m^j_{t-l} \;|\; h^i_t

(nuisance, candidates, outcome). A persistent bias with variance :math:`\phi\sigma^2` is taken into account by partial
demeaning over time: :math:`z_t - \theta \bar z` with :math:`\theta = 1 - (1+n\phi)^{-1/2}`, which turns generalised
into ordinary least squares; :math:`\phi=0` pools, :math:`\phi=\infty` demeans (fixed effects).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Float, Int
from sphunc.causal.panel import Panel

RELATIVE_PIVOT = 1e-9  # a nuisance column whose remainder is below this share of its size repeats earlier columns


@dataclass(frozen=True, eq=False)
class Columns:
    """Design of a batch of targets.

    Attributes:
        values: ``[B, P, n, D]`` nuisance, then candidates (lag by lag), then the outcome; zero in unused rows.
        rows: ``[B]`` usable times per target.
        weight: ``[B, n]`` 1 where a row is usable.
        nuisance: number of nuisance columns.
    """

    values: Tensor
    rows: Tensor
    weight: Tensor
    nuisance: int


def design(
    panel: Panel,
    targets: Int[Tensor, " batch"],
    sources: Int[Tensor, "batch slot"],
    lags: int,
    *,
    own_lags: int | None = None,
    source_times: Int[Tensor, " time"] | None = None,
) -> Columns:
    """Lay out the columns of each target.

    Args:
        panel: states, messages, presence, pull.
        targets: agents to explain.
        sources: candidate sources per target, -1 where padded.
        lags: lags per candidate.
        own_lags: lags of the target itself; ``lags`` when None.
        source_times: which time each source is read at in place of its own (a placebo); None reads the true one.
    """
    own_lags = lags if own_lags is None else own_lags
    first = max(lags, own_lags)
    times = torch.arange(first, panel.shape[1], device=targets.device)
    weight = panel.present[targets][:, times]
    for lag in range(1, own_lags + 1):
        weight = weight & panel.present[targets][:, times - lag]
    own = panel.values[targets]
    used = (sources >= 0)[..., None, None].to(own.dtype)
    read = [times - lag if source_times is None else source_times[times - lag] for lag in range(1, lags + 1)]
    sent = [_read(panel.messages, sources, when) * used for when in read]
    start = _start(panel, targets, sources, used)
    fixed = [own[:, times - lag] for lag in range(1, own_lags + 1)] + [
        x.unsqueeze(1).expand_as(own[:, times]) for x in start
    ]
    if panel.pull is not None:
        fixed.append(panel.pull[targets][:, times - 1])
    if panel.intercept:
        fixed.append(torch.ones_like(own[:, times]))
    values = torch.cat([torch.stack(fixed, 1), *sent, own[:, times].unsqueeze(1)], 1)
    weight = weight.to(own.dtype)
    return Columns(values * weight[:, None, :, None], weight.sum(1), weight, len(fixed))


def _read(messages: Tensor, sources: Tensor, when: Tensor) -> Tensor:
    """Gather ``[B, C, n, D]`` of the messages at the times ``when``."""
    if len(when) and bool((when[1:] - when[:-1] == 1).all()):
        return messages[:, int(when[0]) : int(when[-1]) + 1][sources.clamp(min=0)]
    return messages[:, when][sources.clamp(min=0)]


def _start(panel: Panel, targets: Tensor, sources: Tensor, used: Tensor) -> list[Tensor]:
    """First seen state of the target, and the mean first message of its candidates."""
    seen = panel.present.to(panel.values.dtype).argmax(1)
    agents = torch.arange(panel.shape[0], device=targets.device)
    first = panel.messages[agents, seen]
    mean = (first[sources.clamp(min=0)] * used[..., 0]).sum(1) / used[..., 0].sum(1).clamp(min=1)
    return [panel.values[targets, seen[targets]], mean]


def partial_demean(columns: Columns, phi: float) -> Float[Tensor, "batch column row"]:
    """Take :math:`\\theta` of each column's mean out, and flatten rows and coordinates."""
    rows = columns.rows.clamp(min=1)[:, None, None, None]
    mean = columns.values.sum(2, keepdim=True) / rows
    theta = torch.ones_like(rows) if math.isinf(phi) else 1 - (1 + rows * phi).rsqrt()
    return (columns.values - theta * mean * columns.weight[:, None, :, None]).flatten(2)


def gram(columns: Columns, phi: float) -> Float[Tensor, "batch column column"]:
    """Cross products of all columns under the random effect, in double precision."""
    z = partial_demean(columns, phi)
    return (z @ z.mT).double()


def within_between(columns: Columns) -> tuple[Tensor, Tensor]:
    r"""Split of the Gram matrix: :math:`G(\phi) = G_{within} + G_{between} / (1 + n\phi)`."""
    mean = columns.values.sum(2) / columns.rows.clamp(min=1)[:, None, None].sqrt()
    return gram(columns, math.inf), (mean @ mean.mT).double()


def project_out(moments: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Eliminate the first ``count`` columns; return the remainder, their log determinant and their rank.

    Columns that repeat earlier ones are passed over, so that constants under full demeaning and absent pulls cost
    nothing.
    """
    size = moments.diagonal(dim1=-2, dim2=-1)[:, :count]
    logdet = moments.new_zeros(moments.shape[0])
    rank = moments.new_zeros(moments.shape[0])
    for column in range(count):
        pivot = moments[:, 0, 0]
        sound = pivot > RELATIVE_PIVOT * size[:, column].clamp(min=torch.finfo(moments.dtype).tiny)
        safe = torch.where(sound, pivot, torch.ones_like(pivot))
        row = moments[:, 0, 1:] * sound[:, None]
        moments = moments[:, 1:, 1:] - row[:, :, None] * (row / safe[:, None])[:, None, :]
        logdet = logdet + safe.log()
        rank = rank + sound
    return moments, logdet, rank
