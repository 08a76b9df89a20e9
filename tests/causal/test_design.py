"""Values that go into a simulation and come out of it."""

import torch

from sphunc.causal.design import Design, Layout


def test_samples_are_structures_times_draws() -> None:
    assert Design(torch.zeros(2, 3, dtype=torch.long), torch.ones(4, 3), 5, 2, 0).samples == 20


def test_structures_share_draws_within_blocks_of_twenty_or_more() -> None:
    assert [Layout.of(count, 5).shape for count in (1, 19, 20, 39, 40, 43, 60, 100)] == [
        (1, 1, 5),
        (1, 19, 5),
        (1, 20, 5),
        (1, 39, 5),
        (2, 20, 5),
        (1, 43, 5),
        (3, 20, 5),
        (5, 20, 5),
    ]
    layout = Layout.of(40, 5)
    assert layout.samples == 200
    assert [layout.draws_of(q) for q in (0, 19, 20)] == [range(5), range(5), range(5, 10)]
    assert [q for q in range(40) if layout.is_last(q)] == [19, 39]
