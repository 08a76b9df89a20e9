"""What agents send to each other along their links; :mod:`sphunc.model.step` makes a structural step of it."""

from __future__ import annotations

import torch

from sphunc._typing import Float, Links, Tensor

# Numbers gathered at once by the sum over links: 16 MB in float32.
GATHER_CHUNK = 2**22


def influence_sum(
    values: Float[Tensor, "agent dim"], links: Links, gates: Float[Tensor, " link"]
) -> Float[Tensor, "agent dim"]:
    r"""What reaches every agent along its links, :math:`\sum_{j \to i} \gamma_{ij} v_j`.

    Args:
        values: :math:`v_j` ``[N, D]``.
        links: row 0 source j, row 1 target i, ``[2, K]``; may be empty.
        gates: :math:`\gamma` ``[K]``.

    Returns:
        ``[N, D]``; 0 for an agent without parents.
    """
    source, target = links
    total = torch.zeros_like(values)
    for part in torch.arange(links.shape[1], device=links.device).split(max(1, GATHER_CHUNK // values.shape[1])):
        total.index_add_(0, target[part], values.index_select(0, source[part]) * gates[part].unsqueeze(-1))
    return total
