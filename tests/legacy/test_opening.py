"""Training begins at the likeliest scale, lean, noise and sureness."""

import pytest
import torch

from sphunc.legacy.direct import Direct
from sphunc.legacy.direct_choice import Choice, Seen, find_start
from sphunc.legacy.opening import Opening, Reading, likeliest_sureness, open_numbers, opening_of_classes
from sphunc.sphere import VonMisesFisher


def plain(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits, -1) + 0.0 * noise


def contaminated(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    share = torch.sigmoid(noise)
    return ((1 - share) * logits.softmax(-1) + share / logits.shape[-1]).log()


def drawn(log_p: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.multinomial(log_p.exp(), 1, generator=generator).squeeze(1)


def begun(*lean: float) -> Opening:
    return Opening(1.0, torch.tensor(lean), -2.0)


def find_opening(z: torch.Tensor, length: torch.Tensor, truth: torch.Tensor, law, opening: Opening) -> Opening:
    rows = torch.arange(len(truth))
    reading = Reading(lambda: z, truth, law, Seen(torch.zeros(len(truth), 0), rows, rows), [])
    start = opening_of_classes(z, length, torch.zeros(z.shape[1]), reading, opening)
    free, B = find_start(start, reading.seen.phi, Choice(), z.shape[1], rows)
    assert B.shape == (0, z.shape[1])
    return Opening(float(free[0].exp()), free[1:-1], float(free[-1]))


def some_logits(rows: int) -> torch.Tensor:
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("scale", [0.2, 1.0, 6.0])
def test_it_finds_the_law_that_outcomes_were_drawn_from(scale: float) -> None:
    z, length = some_logits(20_000), torch.rand(20_000, generator=torch.Generator().manual_seed(3))
    right = contaminated(scale * z + length.unsqueeze(1) * torch.tensor([2.0, 0.0, -2.0]), torch.tensor(-1.5))
    found = find_opening(z, length, drawn(right, 1), contaminated, begun(0.0, 0.0, 0.0))
    if scale > 0.5:  # faint logits and noise cannot be told apart
        assert found.scale == pytest.approx(scale, rel=0.15)
        assert found.noise == pytest.approx(-1.5, abs=0.3)
    got = contaminated(found.scale * z + length.unsqueeze(1) * found.lean, torch.tensor(found.noise))
    assert float((got.exp() - right.exp()).abs().mean()) < 0.01


def test_it_is_logistic_regression_where_there_is_no_noise() -> None:
    z = some_logits(50)
    truth = drawn(plain(2.0 * z, torch.zeros(())), 2)
    found = find_opening(z, torch.ones(50), truth, plain, begun(0.0, 0.0, 0.0))
    free = torch.tensor([found.scale, *found.lean.tolist()], dtype=torch.float64, requires_grad=True)
    fit = plain(free[0] * z.double() + free[1:], torch.zeros(())).gather(1, truth.unsqueeze(1)).sum()
    (fit - (free[0].log().square() + free[1:].square().sum()) / 2).backward()
    assert free.grad is not None
    assert float(free.grad.abs().max()) < 0.02
    assert found.noise == -2.0


def test_without_outcomes_nothing_moves() -> None:
    nobody = torch.zeros(0, dtype=torch.long)
    found = find_opening(torch.zeros(0, 3), torch.zeros(0), nobody, plain, begun(1.0, 0.0, -1.0))
    assert (found.scale, found.lean.tolist(), found.noise) == (1.0, [1.0, 0.0, -1.0], -2.0)


def test_outcomes_that_are_certain_keep_it_finite() -> None:
    z = 0.1 * some_logits(100)
    found = find_opening(z, torch.ones(100), z.argmax(-1), contaminated, begun(0.0, 0.0, 0.0))
    assert found.scale > 10
    assert found.noise < -4
    assert found.scale < 1e4


@pytest.mark.parametrize(("dim", "sureness"), [(8, 0.1), (32, 0.02)])
def test_it_finds_how_concentrated_the_next_sights_were(dim: int, sureness: float) -> None:
    generator = torch.Generator().manual_seed(4)
    length = 200.0 + 800.0 * torch.rand(4000, 1, generator=generator, dtype=torch.float64)
    mean = torch.nn.functional.normalize(torch.randn(4000, dim, generator=generator, dtype=torch.float64), dim=-1)
    # The cap adds one to what is far from the largest concentration.
    sights = VonMisesFisher(mean, 1.0 + sureness * length.squeeze(-1)).sample(generator=generator)
    assert likeliest_sureness(length * mean, sights, 0.2) == pytest.approx(sureness, rel=0.03)


def test_the_largest_concentration_is_enough_for_sights_without_error() -> None:
    mean = torch.nn.functional.normalize(torch.randn(50, 8, generator=torch.Generator().manual_seed(5)), dim=-1)
    assert likeliest_sureness(300.0 * mean, mean, 0.2) * 300.0 > 190.0


def test_where_no_state_points_anywhere_it_stays_as_it_is() -> None:
    assert likeliest_sureness(torch.zeros(3, 8), torch.ones(3, 8), 0.2) == 0.2


def numbers(rows: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, 2, generator=generator)
    return x, torch.stack([0.8 * x[:, 0], -0.5 * x[:, 1]], 1) + 0.1 * torch.randn(rows, 2, generator=generator)


def seen_with(direct: Direct, x: torch.Tensor) -> Seen:
    phi = torch.zeros(len(x), len(direct.weight))
    phi[:, direct.outputs : direct.own] = x
    return Seen(phi, torch.arange(len(x)) % 40, torch.arange(len(x)) // 40)


def test_numbers_begin_with_what_features_say_and_the_variance_that_is_left() -> None:
    x, gap = numbers(400)
    direct = Direct(2, 2)
    left = open_numbers(gap, direct, seen_with(direct, x), direct.blocks())
    assert left is not None
    assert direct.parts == ("features",)
    assert left.tolist() == pytest.approx([0.01, 0.01], rel=0.3)
    wanted = torch.linalg.lstsq(x, gap).solution
    torch.testing.assert_close(direct.weight[2:4].detach(), wanted, atol=0.01, rtol=0.0)


@pytest.mark.parametrize("rows", [0, 400])
def test_numbers_that_nothing_tells_begin_with_nothing(rows: int) -> None:
    direct = Direct(2, 2)
    gap = numbers(rows, seed=1)[1]
    assert open_numbers(gap, direct, seen_with(direct, numbers(rows)[0]), direct.blocks()) is None
    assert not direct.is_used
