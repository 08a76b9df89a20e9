"""The initial projection keeps what lasts and leaves out what does not."""

import pytest
import torch

from sphunc.model.signal import reliable_directions, signal_projection

TIMES, AGENTS, FEATURES = 6, 400, 8


@pytest.fixture
def planted() -> tuple[torch.Tensor, torch.Tensor]:
    """Two features that an agent keeps, six that are drawn anew at every time."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(TIMES, AGENTS, FEATURES, generator=generator)
    kept = torch.randn(1, AGENTS, 2, generator=generator)
    x[..., :2] = (0.9 * kept + 0.19**0.5 * x[..., :2]) * 1.0
    return x, torch.ones(TIMES, AGENTS, dtype=torch.bool)


def test_what_lasts_is_found_with_its_reliability(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    directions, reliability = reliable_directions(*planted)
    assert directions.shape == (FEATURES, 2)
    assert directions[2:].abs().max() < 0.15
    torch.testing.assert_close(reliability, torch.full((2,), 0.81), atol=0.06, rtol=0)


def test_directions_have_unit_variance(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, present = planted
    directions, _ = reliable_directions(x, present)
    spread = (x.flatten(0, 1) @ directions).var(0)
    torch.testing.assert_close(spread, torch.ones(2), atol=0.1, rtol=0)


def test_projection_is_an_isometry_of_the_reliable_directions(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, present = planted
    directions, reliability = reliable_directions(x, present)
    weight = signal_projection(x, present, 16, torch.Generator().manual_seed(1))
    scaled = directions * reliability.sqrt()
    torch.testing.assert_close(weight.mT @ weight, scaled @ scaled.mT, atol=1e-5, rtol=1e-4)


def test_absent_agents_do_not_count(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, present = planted
    present = present.clone()
    present[:, ::2] = False
    spoiled = torch.where(present.unsqueeze(-1), x, 1e3)
    torch.testing.assert_close(reliable_directions(spoiled, present)[1], reliable_directions(x, present)[1])


@pytest.mark.parametrize("features", [1, 3])
def test_noise_and_constants_leave_one_direction_and_no_nan(features: int) -> None:
    x = torch.randn(3, 50, features, generator=torch.Generator().manual_seed(2))
    x[..., 0] = 0.0
    directions, reliability = reliable_directions(x, torch.ones(3, 50, dtype=torch.bool))
    assert directions.shape[1] >= 1
    assert directions.isfinite().all()
    assert ((reliability > 0) & (reliability <= 1)).all()
