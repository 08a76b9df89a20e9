"""Forecasts of several steps are laid one after another."""

import torch

from sphunc.legacy.run import Run, joined


def run(seed: int, *, numeric: bool) -> Run:
    g = torch.Generator().manual_seed(seed)
    parts = [torch.rand(1, 4, generator=g) for _ in range(5)]
    laws = (None, torch.rand(1, 4, 2, generator=g)) if numeric else (torch.rand(1, 4, 3, generator=g), None)
    directions = [torch.rand(1, 4, 5, generator=g) for _ in range(2)]
    return Run(*laws, *parts, *directions, torch.rand(1, 4, generator=g))


def test_steps_stand_one_after_another() -> None:
    for numeric in (False, True):
        one, two = (run(seed, numeric=numeric) for seed in (0, 1))
        both = joined([one, two])
        assert (both.mean is None) != numeric
        assert (both.log_probabilities is None) == numeric
        assert torch.equal(both.kappa, torch.cat([one.kappa, two.kappa]))
        assert torch.equal(both.ahead[1], two.ahead[0])
