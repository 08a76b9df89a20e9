r"""Granger tests of every candidate link at lag 1, agent means taken out (Granger 1969).

.. math:: h^i_t = c_i + a h^i_{t-1} + b h^j_{t-1} + e_t, \qquad F = \frac{b^2}{\mathrm{Var}(b)}

One coefficient serves all D coordinates, which count as so many observations. The conditional test
has all other candidates of the target in the regression too.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from scipy import stats
from torch import Tensor

from sphunc._typing import Float, Links
from sphunc.discovery import candidate_links

RIDGE = 1e-3
"""Of the mean square of the candidates; these may be more than there are rows."""
TINY = 1e-12

Scores = Float[Tensor, " link"]


def pairwise_granger(
    latents: Float[Tensor, "time agent dim"], candidates: Links, *, replicates: bool = False
) -> tuple[Scores, Scores]:
    """F statistic and p-value of each source's last state, given the target's own.

    Args:
        latents: states ``[T, N, D]``.
        candidates: links to test, source and target.
        replicates: the last axis holds repetitions of scalar series, which are scaled agent by
            agent.
    """
    statistic = torch.zeros(candidates.shape[1], dtype=torch.double)
    p_value = torch.ones_like(statistic)
    for place, moments, free in target_moments(latents, candidates, replicates=replicates):
        square = moments.diagonal()[:-1].clamp(min=TINY)
        explained = moments[:-1, -1].square() / square
        left = (moments[-1, -1] - explained).clamp(min=TINY)
        degrees = max(free - 1, 1.0)
        statistic[place] = explained / left * degrees
        p_value[place] = torch.from_numpy(stats.f.sf(statistic[place].numpy(), 1, degrees))
    return statistic, p_value


def conditional_granger(
    latents: Float[Tensor, "time agent dim"], candidates: Links, *, replicates: bool = False
) -> tuple[Scores, Scores]:
    """F statistic and p-value of each source's last state, given all other last states.

    Args:
        latents: states ``[T, N, D]``.
        candidates: links to test, source and target.
        replicates: the last axis holds repetitions of scalar series, which are scaled agent by
            agent.
    """
    statistic = torch.zeros(candidates.shape[1], dtype=torch.double)
    p_value = torch.ones_like(statistic)
    for place, moments, free in target_moments(latents, candidates, replicates=replicates):
        block = moments[:-1, :-1]
        cross = moments[:-1, -1]
        ridge = RIDGE * block.diagonal().mean() + TINY
        inverse = torch.linalg.inv(block + ridge * torch.eye(len(block), dtype=torch.double))
        coefficient = inverse @ cross
        degrees = max(free - len(block), 1.0)
        noise = (moments[-1, -1] - coefficient @ cross).clamp(min=TINY) / degrees
        statistic[place] = coefficient.square() / (inverse.diagonal() * noise).clamp(min=1e-300)
        p_value[place] = torch.from_numpy(stats.f.sf(statistic[place].numpy(), 1, degrees))
    return statistic, p_value


def target_moments(
    latents: Float[Tensor, "time agent dim"], candidates: Links, *, replicates: bool
) -> Iterator[tuple[Tensor, Tensor, float]]:
    """Cross products of the candidates and the outcome, target by target.

    Agent means and the target's own last state are projected out. Yields the places of a target's
    candidates in the list, the cross products (the outcome last), and the free rows.

    Args:
        latents: states ``[T, N, D]``.
        candidates: links, source and target.
        replicates: the last axis holds repetitions of scalar series.
    """
    times, agents, dim = latents.shape
    candidate_links(candidates, range(agents))  # refuses unknown agents and loops
    values = latents.double().transpose(0, 1)
    if replicates or dim == 1:
        centred = values - values.mean((1, 2), keepdim=True)
        values = centred / centred.square().mean((1, 2), keepdim=True).sqrt().clamp(min=TINY)
    before = _demeaned(values[:, :-1]).flatten(1)
    after = _demeaned(values[:, 1:]).flatten(1)
    free = float((times - 2) * dim - 1)
    for target in candidates[1].unique().tolist():
        place = (candidates[1] == target).nonzero().flatten()
        columns = torch.cat([before[candidates[0, place]], after[target : target + 1]])
        own = before[target]
        along = columns @ own / own.square().sum().clamp(min=TINY)
        columns = columns - along[:, None] * own
        yield place, columns @ columns.T, free


def false_discovery_rates(p_value: Scores) -> Scores:
    r"""Least rate of false discoveries at which each link is chosen (Benjamini and Hochberg, 1995).

    .. math:: q_{(k)} = \min_{l \ge k} p_{(l)} K / l

    The links chosen at a rate are those with q up to it.
    """
    order = torch.argsort(p_value)
    rank = torch.arange(1, len(p_value) + 1, dtype=p_value.dtype, device=p_value.device)
    stepped = (p_value[order] * len(p_value) / rank).flip(0)
    return torch.empty_like(p_value).index_copy(0, order, stepped.cummin(0).values.flip(0))


def _demeaned(values: Tensor) -> Tensor:
    return values - values.mean(1, keepdim=True)
