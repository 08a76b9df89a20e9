"""Evenly spaced subsets, where a part of many rows is enough."""

from __future__ import annotations

import torch

from sphunc._typing import Int, Tensor


def evenly_spaced(count: int, most: int, device: torch.device | None = None) -> Int[Tensor, " kept"]:
    """Ascending indices of at most ``most`` of ``count`` things, the first and the last among them.

    Args:
        count: of all.
        most: to keep; all are kept where they are no more than that.
        device: of the indices; the CPU by default.

    Example:
        >>> evenly_spaced(10, 4).tolist(), evenly_spaced(2, 4).tolist()
        ([0, 3, 6, 9], [0, 1])
    """
    if count <= most:
        return torch.arange(count, device=device)
    return torch.linspace(0, count - 1, most, device=device).round().long()
