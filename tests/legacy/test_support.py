"""Latents are kept evenly, and say how many sightings of somebody alike there were."""

import torch

from sphunc.legacy.support import MOST, SHARPNESS, Support


def directions(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(rows, 6, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_nothing_is_known_before_anything_is_kept() -> None:
    assert Support(6)(directions(3)) is None


def test_it_is_the_sum_of_its_kernel() -> None:
    kept, asked = directions(20), directions(4, seed=1)
    support = Support(6)
    support.store(torch.cat([kept, torch.zeros(5, 6)]))  # five showed no feature
    wanted = (SHARPNESS * (asked @ kept.mT - 1.0)).exp().sum(1)
    torch.testing.assert_close(support(asked.view(2, 2, 6)), wanted.view(2, 2))


def test_those_kept_stand_for_all() -> None:
    one, support = directions(1), Support(6)
    support.store(one.expand(2 * MOST + 7, -1))
    assert len(support.latents) == MOST
    torch.testing.assert_close(support(one), torch.tensor([2.0 * MOST + 7]))
