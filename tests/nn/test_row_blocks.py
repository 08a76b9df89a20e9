import torch

from sphunc.nn.row_blocks import BLOCK_ROWS_CPU, row_blocks


def test_every_row_comes_once_and_in_order():
    for count in (0, 1, BLOCK_ROWS_CPU, 2 * BLOCK_ROWS_CPU + 5):
        rows = torch.arange(count)
        parts = [rows[block] for block in row_blocks(rows)]
        assert torch.equal(torch.cat([rows[:0], *parts]), rows)
        assert all(0 < len(part) <= BLOCK_ROWS_CPU for part in parts)
