"""The one search: finds the minimum, in double precision, inside its bounds."""

import pytest
import torch

from sphunc.legacy.likeliest import minimise


def test_it_finds_the_minimum_of_a_quadratic() -> None:
    centre, curvature = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64), torch.tensor([1.0, 10.0, 100.0])
    found = minimise(lambda free: (curvature * (free - centre).square()).sum(), torch.zeros(3))
    torch.testing.assert_close(found, centre, atol=1e-5, rtol=0.0)


def test_it_keeps_to_its_bounds() -> None:
    found = minimise(lambda free: (free + 1.0).square().sum(), torch.ones(2), least=(None, 0.0))
    assert found.tolist() == pytest.approx([-1.0, 0.0], abs=1e-6)


def test_it_takes_no_more_steps_than_allowed() -> None:
    calls = []

    def valley(free: torch.Tensor) -> torch.Tensor:
        calls.append(free)
        return 100.0 * (free[1] - free[0] ** 2) ** 2 + (1.0 - free[0]) ** 2

    minimise(valley, torch.tensor([-1.2, 1.0]), steps=2)
    few = len(calls)
    found = minimise(valley, torch.tensor([-1.2, 1.0]))
    assert few < len(calls) - few
    assert found.tolist() == pytest.approx([1.0, 1.0], abs=1e-3)
