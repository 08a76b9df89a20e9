"""Plain ways to score the same candidate links, to be compared with: similarity, Granger tests, lasso.

Every function takes latents ``[T, N, D]`` and candidates ``[2, K]`` and returns one score per candidate, the larger
the likelier; Granger tests also return p-values.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats
from sklearn.linear_model import lars_path_gram
from torch import Tensor

from sphunc._typing import Bool, Float, Links
from sphunc.causal.candidates import CandidateLinks, batches_by_width, candidate_links
from sphunc.causal.gram import design, gram, project_out
from sphunc.causal.panel import scalar_panel, vector_panel

Latents = Float[Tensor, "time agent dim"]
Scores = Float[Tensor, " link"]


def cosine(latents: Latents, candidates: Links) -> Scores:
    """Cosine between the two series at the same time."""
    return _cosine(latents, latents, candidates)


def lagged_cosine(latents: Latents, candidates: Links) -> Scores:
    """Cosine between the source and the target one step later."""
    return _cosine(latents[:-1], latents[1:], candidates)


def _cosine(source: Tensor, target: Tensor, candidates: Links) -> Tensor:
    a = torch.nn.functional.normalize(source.transpose(0, 1).flatten(1), dim=1)
    b = torch.nn.functional.normalize(target.transpose(0, 1).flatten(1), dim=1)
    return (a[candidates[0]] * b[candidates[1]]).sum(1)


def granger(
    latents: Latents,
    candidates: Links,
    *,
    conditional: bool,
    phi: float = float("inf"),
    replicates: bool = False,
) -> tuple[Scores, Scores]:
    """F statistic and p-value of each source's last state, given the target's past.

    Args:
        latents: states.
        candidates: links to test.
        conditional: given all other candidates of the target too, where the rows suffice.
        phi: ratio of the persistent bias; infinite removes each agent's mean (fixed effects).
        replicates: the last axis holds repetitions of scalar series.
    """
    links, order = _sorted(candidates, latents.shape[1])
    statistic = torch.zeros(links.links.shape[1], dtype=torch.double)
    p_value = torch.ones_like(statistic)
    for matrix, free, used, position in _moments(latents, links, phi, replicates):
        value, degrees = _conditional_f(matrix, free, used) if conditional else _pairwise_f(matrix, free)
        statistic[position[used]] = value[used]
        tail = stats.f.sf(value.numpy(), 1, degrees[:, None].clamp(min=1).numpy())
        p_value[position[used]] = torch.from_numpy(tail)[used]
    return statistic[order], p_value[order]


def var_gates(latents: Latents, candidates: Links, alpha: float = 0.05) -> tuple[Bool[Tensor, " link"], Scores]:
    """Links by vector autoregression with significance thresholding, on its own as a method to compare with.

    A conditional Granger test per candidate at lag 1, false discovery rate ``alpha`` (Benjamini and Hochberg). Returns
    the gates and the p-values. :mod:`sphunc.causal.initialisation` is what the posterior starts from.
    """
    _, p_value = granger(latents, candidates, conditional=True)
    return false_discovery(p_value, alpha), p_value


def false_discovery(p_value: Scores, rate: float) -> Bool[Tensor, " link"]:
    """Benjamini and Hochberg's step-up choice at the given rate."""
    order = torch.argsort(p_value)
    bound = rate * torch.arange(1, len(p_value) + 1, dtype=p_value.dtype) / len(p_value)
    below = (p_value[order] <= bound).nonzero().flatten()
    chosen = torch.zeros(len(p_value), dtype=torch.bool)
    if below.numel():
        chosen[order[: int(below[-1]) + 1]] = True
    return chosen


def lasso(latents: Latents, candidates: Links, *, phi: float = float("inf"), replicates: bool = False) -> Scores:
    """Penalty at which each candidate enters the lasso path of its target (least-angle regression)."""
    links, order = _sorted(candidates, latents.shape[1])
    score = torch.zeros(links.links.shape[1], dtype=torch.double)
    for matrix, free, used, position in _moments(latents, links, phi, replicates):
        for row in range(len(matrix)):
            mine = used[row].nonzero().flatten()
            entry = _entry(matrix[row], mine, float(free[row]))
            score[position[row, mine]] = torch.from_numpy(entry)
    return score[order]


def _entry(matrix: Tensor, mine: Tensor, free: float) -> np.ndarray:
    scale = matrix.diagonal()[mine].clamp(min=1e-12).sqrt()
    block = (matrix[mine][:, mine] / scale[:, None] / scale).numpy()
    cross = (matrix[mine, -1] / scale).numpy() / max(float(matrix[-1, -1]), 1e-12) ** 0.5
    penalties, _, path = lars_path_gram(cross, block, n_samples=int(max(free, 2)), method="lasso", max_iter=200)
    entered = np.abs(path) > 0
    first = np.where(entered.any(1), entered.argmax(1), len(penalties) - 1)
    return np.where(entered.any(1), penalties[np.maximum(first - 1, 0)], 0.0)


def _sorted(candidates: Links, agents: int) -> tuple[CandidateLinks, Tensor]:
    links = candidate_links(candidates, agents)
    key = links.links[1] * agents + links.links[0]
    return links, torch.searchsorted(key, candidates[1] * agents + candidates[0])


def _moments(latents: Tensor, links: CandidateLinks, phi: float, replicates: bool):
    """Yield matrices after own lag and start, free rows, used slots, positions in the link list."""
    present = torch.ones(latents.shape[:2], dtype=torch.bool)
    scalar = replicates or latents.shape[2] == 1
    panel = scalar_panel(latents, present, None) if scalar else vector_panel(latents, present, None, whiten=False)
    dim, times = latents.shape[2], latents.shape[0]
    for batch in batches_by_width(links.counts, max(int(8e6 / (times * dim)), 1)):
        sources, position = links.table(batch)
        columns = design(panel, batch, sources, 1)
        matrix, _, rank = project_out(gram(columns, phi), columns.nuisance)
        rows = columns.rows.double() - (1 if phi == float("inf") else 0)
        yield matrix, rows * dim - rank, sources >= 0, position


def _pairwise_f(matrix: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    square, cross = matrix.diagonal(dim1=-2, dim2=-1)[:, :-1].clamp(min=1e-12), matrix[:, :-1, -1]
    explained = cross.square() / square
    left = (matrix[:, -1, -1, None] - explained).clamp(min=1e-12)
    return explained / left * (free[:, None] - 1).clamp(min=1), free - 1


def _conditional_f(matrix: Tensor, free: Tensor, used: Tensor) -> tuple[Tensor, Tensor]:
    """F given all others; a light ridge keeps it defined when there are fewer rows than candidates."""
    block, cross = matrix[:, :-1, :-1], matrix[:, :-1, -1]
    size = block.diagonal(dim1=-2, dim2=-1)
    ridge = torch.where(used, 1e-3 * size.mean(1, keepdim=True), torch.ones_like(size)) + 1e-12
    inverse = torch.linalg.inv(block + torch.diag_embed(ridge))
    beta = (inverse @ cross.unsqueeze(-1)).squeeze(-1)
    degrees = (free - used.sum(1)).clamp(min=1)
    noise = (matrix[:, -1, -1] - (beta * cross).sum(1)).clamp(min=1e-12) / degrees
    return beta.square() / (inverse.diagonal(dim1=-2, dim2=-1) * noise[:, None]).clamp(min=1e-300), degrees
