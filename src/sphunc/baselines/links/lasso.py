"""Penalty at which each candidate enters the lasso path of its target (Efron et al. 2004)."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.linear_model import lars_path_gram
from torch import Tensor

from sphunc._typing import Float, Links
from sphunc.baselines.links.granger import TINY, target_moments


def lasso(
    latents: Float[Tensor, "time agent dim"], candidates: Links, *, replicates: bool = False
) -> Float[Tensor, " link"]:
    """Score of every link: the largest penalty at which its coefficient is not zero.

    Args:
        latents: states ``[T, N, D]``.
        candidates: links to score, source and target.
        replicates: the last axis holds repetitions of scalar series.
    """
    score = torch.zeros(candidates.shape[1], dtype=torch.double)
    for place, moments, free in target_moments(latents, candidates, replicates=replicates):
        scale = moments.diagonal().clamp(min=TINY).sqrt()
        scaled = (moments / scale[:, None] / scale).numpy()
        penalties, _, path = lars_path_gram(
            scaled[:-1, -1], scaled[:-1, :-1], n_samples=int(max(free, 2)), method="lasso", max_iter=200
        )
        entered = np.abs(path) > 0
        ever = entered.any(1)
        first = np.where(ever, entered.argmax(1), len(penalties) - 1)
        entry = np.where(ever, penalties[np.maximum(first - 1, 0)], 0.0)
        score[place] = torch.from_numpy(entry)
    return score
