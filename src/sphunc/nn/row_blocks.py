"""Rows in blocks that stay in the cache, for functions that would otherwise fill fresh memory with each operation."""

from __future__ import annotations

from collections.abc import Iterator

from sphunc._typing import Tensor

# On a CPU a block of 2048 rows of 128 floats takes 1 MB; other devices want fewer launches.
BLOCK_ROWS_CPU = 2048


def row_blocks(x: Tensor) -> Iterator[slice]:
    """Yield runs of rows, one after the other; all rows at once where that is faster."""
    step = BLOCK_ROWS_CPU if x.device.type == "cpu" else max(1, len(x))
    return (slice(start, start + step) for start in range(0, len(x), step))
