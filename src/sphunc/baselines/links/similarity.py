"""Similarity of states as a score of links: what everything else has to beat."""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Float, Links


def cosine(latents: Float[Tensor, "time agent dim"], candidates: Links) -> Float[Tensor, " link"]:
    """Cosine between the two series at the same times.

    Args:
        latents: states ``[T, N, D]``.
        candidates: links to score, source and target.
    """
    return _cosine(latents, latents, candidates)


def lagged_cosine(latents: Float[Tensor, "time agent dim"], candidates: Links) -> Float[Tensor, " link"]:
    """Cosine between the source and the target one step later.

    Args:
        latents: states ``[T, N, D]``.
        candidates: links to score, source and target.
    """
    return _cosine(latents[:-1], latents[1:], candidates)


def _cosine(source: Tensor, target: Tensor, candidates: Links) -> Tensor:
    sent = torch.nn.functional.normalize(source.transpose(0, 1).flatten(1), dim=1)
    received = torch.nn.functional.normalize(target.transpose(0, 1).flatten(1), dim=1)
    return (sent[candidates[0]] * received[candidates[1]]).sum(1)
