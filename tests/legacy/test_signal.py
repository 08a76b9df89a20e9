"""The initial projection keeps what lasts and leaves out what does not."""

import pytest
import torch

from sphunc.legacy.signal import (
    LEAST_OFFSET,
    SMALLEST_VIEW,
    lasting_components,
    lasting_plane,
    outcome_directions,
    reliable_directions,
    signal_projection,
)
from sphunc.sphere import angle

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


def reach_of(x: torch.Tensor, plane: torch.Tensor) -> float:
    """How far agents are from their middle, within the plane."""
    return float((x.flatten(0, 1) @ plane).square().sum(-1).mean().sqrt())


def started(
    planted: tuple[torch.Tensor, torch.Tensor], origin: torch.Tensor, dim: int = 16
) -> tuple[torch.Tensor, torch.Tensor]:
    return signal_projection(*planted, origin, dim, torch.Generator().manual_seed(1))


def test_plane_is_where_the_lasting_part_varies(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, present = planted
    plane = lasting_plane(x, present, most=16)
    torch.testing.assert_close(plane.mT @ plane, torch.eye(2))
    assert plane[2:].abs().max() < 0.15
    directions, reliability = reliable_directions(x, present)
    lasting = torch.zeros(FEATURES, FEATURES)
    spread = x.flatten(0, 1).mT @ x.flatten(0, 1) / (TIMES * AGENTS)
    for v, rho in zip(directions.mT, reliability, strict=True):
        shown = rho * spread @ v
        lasting += torch.outer(shown, shown)
    principal = torch.linalg.eigh(lasting)[1][:, -2:].flip(1)
    torch.testing.assert_close((plane * principal).sum(0).abs(), torch.ones(2))


def test_plane_leaves_out_directions_of_pure_noise_and_what_hardly_shows() -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(TIMES, AGENTS, 4, generator=generator)
    kept = torch.randn(1, AGENTS, 2, generator=generator)
    x[..., 0] = kept[..., 0]
    x[..., 1] = 0.02 * kept[..., 1]
    plane = lasting_plane(x, torch.ones(TIMES, AGENTS, dtype=torch.bool), most=4)
    assert plane.shape == (4, 1)
    assert plane[0].abs() > 0.98


def test_projection_is_an_isometry_of_the_plane(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    weight, bias = started(planted, torch.ones(FEATURES))
    plane = lasting_plane(*planted, most=15)
    assert (weight.shape, bias.shape) == ((16, FEATURES), (16,))
    torch.testing.assert_close(torch.linalg.svdvals(weight)[:2], torch.ones(2))
    torch.testing.assert_close(weight.mT @ weight, plane @ plane.mT, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("size", [0.5, 0.9])
def test_agents_are_seen_from_a_near_origin(planted: tuple[torch.Tensor, torch.Tensor], size: float) -> None:
    plane = lasting_plane(*planted, most=15)
    origin = torch.randn(FEATURES, generator=torch.Generator().manual_seed(6))
    origin *= size * reach_of(planted[0], plane) / origin.norm()
    weight, bias = started(planted, origin)
    torch.testing.assert_close(weight.mT @ bias, plane @ (plane.mT @ origin))
    torch.testing.assert_close(bias.norm(), origin.norm())


def test_a_far_origin_comes_as_near_as_agents_are(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    plane = lasting_plane(*planted, most=15)
    reach = reach_of(planted[0], plane)
    origin = 50 * torch.randn(FEATURES, generator=torch.Generator().manual_seed(6))
    weight, bias = started(planted, origin)
    assert float(bias.norm()) == pytest.approx(reach, rel=1e-5)
    torch.testing.assert_close(weight.mT @ bias, plane @ (plane.mT @ origin) * reach / origin.norm())


@pytest.mark.parametrize("size", [0.0, 0.1, 0.39])
def test_nobody_is_seen_from_the_very_middle(planted: tuple[torch.Tensor, torch.Tensor], size: float) -> None:
    plane = lasting_plane(*planted, most=15)
    reach = reach_of(planted[0], plane)
    origin = size * reach * plane[:, 0]
    weight, bias = started(planted, origin)
    assert float(bias.norm()) == pytest.approx(LEAST_OFFSET * reach, rel=1e-5)
    torch.testing.assert_close(weight.mT @ bias, origin, atol=1e-6, rtol=1e-4)  # the rest is out of the plane


def test_angles_are_those_of_the_raw_features(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, present = planted[0].double(), planted[1]
    plane = lasting_plane(x, present, most=15)
    origin = plane @ torch.tensor([0.6, -0.5], dtype=torch.double) * reach_of(x, plane)
    weight, bias = started((x, present), origin)
    raw = torch.nn.functional.normalize((x[0] + origin) @ plane, dim=-1)
    encoded = torch.nn.functional.normalize(x[0] @ weight.mT + bias, dim=-1)
    got, expected = (angle(h.unsqueeze(0), h.unsqueeze(1)) for h in (encoded, raw))
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("dim", [2, 3, 16])
@pytest.mark.parametrize("case", ["noise", "a constant", "constants", "one time", "nobody"])
def test_projection_has_no_nan(case: str, dim: int) -> None:
    x = torch.randn(3, 50, 5, generator=torch.Generator().manual_seed(2))
    x[..., {"a constant": slice(1), "constants": slice(None)}.get(case, slice(0))] = 0.0
    present = torch.full((3, 50), case != "nobody")
    present[1:] &= case != "one time"
    for origin in (torch.zeros(5), torch.full((5,), 1e3)):
        weight, bias = signal_projection(x, present, origin, dim, torch.Generator().manual_seed(1))
        assert (weight.shape, bias.shape) == ((dim, 5), (dim,))
        assert weight.isfinite().all()
        assert bias.isfinite().all()
        size = torch.linalg.svdvals(weight)
        rank = int((size > 0.5).sum())
        assert 1 <= rank < dim
        torch.testing.assert_close(size[:rank], torch.ones(rank))


def test_absent_agents_do_not_count(planted: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, present = planted
    present = present.clone()
    present[:, ::2] = False
    spoiled = torch.where(present.unsqueeze(-1), x, 1e3)
    torch.testing.assert_close(reliable_directions(spoiled, present)[1], reliable_directions(x, present)[1])
    torch.testing.assert_close(started((spoiled, present), torch.ones(8)), started((x, present), torch.ones(8)))


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


def uneven(T: int = 40, N: int = 30, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Three of six coordinates vary, turned, away from the origin; the second lasts least."""
    g = torch.Generator().manual_seed(seed)
    size = torch.tensor([2.0, 1.0, 4 * SMALLEST_VIEW, 0.3 * SMALLEST_VIEW, 0.0, 0.0])
    lasts = torch.tensor([0.9, 0.3, 0.6, 0.6, 0.6, 0.6])
    turn = torch.linalg.qr(torch.randn(6, 6, generator=g))[0]
    kept, new = torch.randn(1, N, 6, generator=g), torch.randn(T, N, 6, generator=g)
    states = (lasts.sqrt() * kept + (1 - lasts).sqrt() * new) * size @ turn + 3.0
    return states.double(), torch.rand(T, N, generator=g) > 0.3


def test_components_weigh_what_lasts_and_leave_out_what_hardly_varies() -> None:
    projected, present = uneven()
    got = lasting_components(projected, present)
    assert got.shape == (40, 30, 3)
    length = got.norm(dim=-1, keepdim=True)
    components = (got * length)[present]  # z = c / sqrt|c| has the length sqrt|c|
    spread = components.mT @ components / len(components)
    assert (spread - spread.diagonal().diag()).abs().max() < 0.02
    torch.testing.assert_close(spread.diagonal(), torch.tensor([0.9, 0.6, 0.3]).double(), atol=0.15, rtol=0)


def test_absent_agents_have_no_say_in_the_components() -> None:
    projected, present = uneven()
    spoiled = torch.where(present.unsqueeze(-1), projected, 1e3 * torch.arange(6).double())
    got, expected = (lasting_components(h, present)[present] for h in (spoiled, projected))
    torch.testing.assert_close(got, expected)


def test_a_single_feature_keeps_its_size() -> None:
    x = torch.randn(6, 50, 1, generator=torch.Generator().manual_seed(0)).double()
    got = lasting_components(x @ torch.randn(1, 4, generator=torch.Generator().manual_seed(1)).double(), x[..., 0] < 9)
    assert torch.unique(got.norm(dim=-1)).numel() > 250


@pytest.mark.parametrize(
    ("projected", "seen", "rank"),
    [
        (torch.ones(5, 4, 6), slice(0), 6),
        (torch.ones(5, 4, 6), slice(None), 2),
        (torch.ones(5, 4, 6).cumsum(0), slice(None), 2),
    ],
    ids=["nobody seen", "nothing varies", "one coordinate varies"],
)
def test_at_least_two_components_are_left(projected: torch.Tensor, seen: slice, rank: int) -> None:
    present = torch.zeros(5, 4, dtype=torch.bool)
    present[seen] = True
    got = lasting_components(projected, present)
    assert got.shape == (5, 4, rank)
    assert got.isfinite().all()
