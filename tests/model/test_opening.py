"""The readout begins at the likeliest scale, offset and noise."""

import pytest
import torch

from sphunc.model.opening import find_opening


def plain(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits, -1) + 0.0 * noise


def contaminated(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    share = torch.sigmoid(noise)
    return ((1 - share) * logits.softmax(-1) + share / logits.shape[-1]).log()


def drawn(log_p: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.multinomial(log_p.exp(), 1, generator=generator).squeeze(1)


def some_logits(rows: int) -> torch.Tensor:
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("scale", [0.2, 1.0, 6.0])
def test_it_finds_the_law_that_outcomes_were_drawn_from(scale: float) -> None:
    z, bias = some_logits(20_000), torch.tensor([0.5, 0.0, -0.5])
    truth = drawn(contaminated(scale * z + bias, torch.tensor(-1.5)), 1)
    found = find_opening(z, truth, contaminated, torch.zeros(3), -2.0)
    if scale > 0.5:  # faint logits and noise cannot be told apart
        assert found.scale == pytest.approx(scale, rel=0.15)
        assert found.noise == pytest.approx(-1.5, abs=0.3)
    got = contaminated(found.scale * z + found.bias, torch.tensor(found.noise)).exp()
    assert float((got - contaminated(scale * z + bias, torch.tensor(-1.5)).exp()).abs().mean()) < 0.01


def test_it_is_logistic_regression_where_there_is_no_noise() -> None:
    z = some_logits(50)
    truth = drawn(plain(2.0 * z, torch.zeros(())), 2)
    found = find_opening(z, truth, plain, torch.zeros(3), -2.0)
    free = torch.tensor([found.scale, *found.bias.tolist()], dtype=torch.float64, requires_grad=True)
    fit = plain(free[0] * z.double() + free[1:], torch.zeros(())).gather(1, truth.unsqueeze(1)).sum()
    (fit - (free[0].log().square() + free[1:].square().sum()) / 2).backward()
    assert free.grad is not None
    assert float(free.grad.abs().max()) < 0.02
    assert found.noise == -2.0


def test_without_outcomes_nothing_moves() -> None:
    nobody = torch.zeros(0, dtype=torch.long)
    found = find_opening(torch.zeros(0, 3), nobody, plain, torch.tensor([1.0, 0.0, -1.0]), -2.0)
    assert (found.scale, found.bias.tolist(), found.noise) == (1.0, [1.0, 0.0, -1.0], -2.0)


def test_outcomes_that_are_certain_keep_it_finite() -> None:
    z = 0.1 * some_logits(100)
    found = find_opening(z, z.argmax(-1), contaminated, torch.zeros(3), -2.0)
    assert found.scale > 10
    assert found.noise < -4
    assert found.scale < 1e4
