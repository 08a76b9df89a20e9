"""The initial projection keeps what lasts and leaves out what does not."""

import pytest
import torch

from sphunc.model.signal import outcome_directions, reliable_directions, signal_projection

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


@pytest.fixture
def latents() -> tuple[torch.Tensor, torch.Tensor]:
    """Directions of 5 agents at 3 times, and which outcomes are known."""
    generator = torch.Generator().manual_seed(3)
    h = torch.nn.functional.normalize(torch.randn(3, 5, 4, generator=generator), dim=-1)
    known = torch.rand(3, 5, generator=generator) < 0.8
    assert not known.all()
    return h, known


def unit(v: torch.Tensor) -> torch.Tensor:
    return v / v.norm()


def test_a_class_points_from_everybody_to_its_own_mean(latents: tuple[torch.Tensor, torch.Tensor]) -> None:
    h, known = latents
    y = torch.arange(15).view(3, 5) % 3
    got = outcome_directions(h, y, known, torch.zeros(3))
    for c in range(3):
        torch.testing.assert_close(got[c], unit(h[known & (y == c)].mean(0) - h[known].mean(0)))


def test_a_class_never_seen_points_nowhere(latents: tuple[torch.Tensor, torch.Tensor]) -> None:
    h, known = latents
    y = torch.arange(15).view(3, 5) % 2
    hidden = torch.where(known, y, 3)
    got = outcome_directions(h, hidden, known, torch.zeros(4))
    assert torch.equal(got[2:], torch.zeros(2, 4))
    torch.testing.assert_close(got[:2].norm(dim=-1), torch.ones(2))


def test_a_class_that_everybody_has_points_nowhere(latents: tuple[torch.Tensor, torch.Tensor]) -> None:
    h, known = latents
    assert torch.equal(outcome_directions(h, torch.ones(3, 5).long(), known, torch.zeros(3)), torch.zeros(3, 4))


def test_a_number_points_to_where_it_is_above_its_mean(latents: tuple[torch.Tensor, torch.Tensor]) -> None:
    h, known = latents
    y = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(4)) + 7.0
    centre = y[known].mean(0)
    got = outcome_directions(h, y, known, centre)
    for k in range(2):
        covariance = torch.zeros(4)
        for time, agent in known.nonzero().tolist():
            covariance += (y[time, agent, k] - centre[k]) * (h[time, agent] - h[known].mean(0))
        torch.testing.assert_close(got[k], unit(covariance), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("y", [torch.zeros(3, 5).long(), torch.zeros(3, 5, 2)], ids=["classes", "numbers"])
def test_no_outcome_at_all_points_nowhere(latents: tuple[torch.Tensor, torch.Tensor], y: torch.Tensor) -> None:
    got = outcome_directions(latents[0], y, torch.zeros(3, 5, dtype=torch.bool), torch.zeros(2))
    assert torch.equal(got, torch.zeros(2, 4))
