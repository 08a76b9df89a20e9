"""Weighted comparison of both arms: the identity of total probability, a closed form, what was not seen."""

from dataclasses import replace

import pytest
import torch

from sphunc.causal.abducted import Sight, Trace, compare_abducted
from sphunc.causal.arms import compare
from sphunc.causal.design import Layout, Moment
from sphunc.causal.reading import ClassReading, NumberReading

N, Q, R, C = 4, 5, 8, 3
S = Q * R
LAYOUT = Layout(1, Q, R)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def trace(outputs=C, samples=S):
    plain = drawn(N, samples, outputs)
    before = plain + 0.5 * drawn(N, samples, outputs, seed=1)
    after = before + drawn(N, samples, outputs, seed=2)
    return Trace(plain, before, after, drawn(N, samples, seed=3), 0.5 * drawn(N, samples, seed=4))


def class_reading():
    target = torch.softmax(drawn(N, C, seed=5), -1)
    return ClassReading(torch.full((N,), 0.8), None, torch.full((C,), 1 / C), torch.ones(N), target)


def sight(outcome, told=True, shown=True):
    return Sight(outcome, torch.full((N,), told), torch.full((N,), shown))


def unseen(told=False, shown=True):
    return sight(torch.zeros(N, dtype=torch.long), told, shown)


def test_counterfactuals_averaged_over_what_may_have_been_seen_are_those_of_nothing_seen() -> None:
    given, reading = trace(), class_reading()
    masked = compare_abducted(given, reading, unseen(), LAYOUT, None)
    total = torch.zeros(N, C)
    for y in range(C):
        one = compare_abducted(given, reading, sight(torch.full((N,), y)), LAYOUT, None)
        assert (one.factual[:, y] == 1).all()
        total += masked.factual[:, y : y + 1] * one.outcome
    assert torch.allclose(total, masked.outcome, atol=1e-5)
    plain = compare_abducted(
        replace(given, past=0 * given.past, shown=0 * given.shown), reading, unseen(), LAYOUT, None
    )
    assert float((plain.outcome - masked.outcome).abs().max()) > 0.01


def test_who_shows_nothing_has_the_forecast_exactly() -> None:
    given, reading = trace(), class_reading()
    blank = replace(given, before=given.plain, shown=torch.zeros(N, S))
    one = compare_abducted(blank, reading, unseen(shown=False), LAYOUT, None)
    assert torch.equal(one.factual, reading.target)
    looked = compare_abducted(blank, reading, unseen(shown=True), LAYOUT, None)
    assert torch.allclose(looked.factual, reading.target, atol=1e-5)
    same = compare_abducted(replace(given, after=given.before), reading, unseen(), LAYOUT, None)
    assert torch.equal(same.outcome, same.factual)


def test_parts_add_up_and_errors_need_samples_that_count() -> None:
    given, reading = trace(), class_reading()
    one = compare_abducted(given, reading, sight(torch.ones(N, dtype=torch.long)), LAYOUT, None)
    assert torch.equal(one.within + one.identification, one.total)
    assert (one.identification > 0).any()
    assert (one.samples.mean(1) - one.outcome).abs().max() < 0.05
    told = one.error.isfinite().all(-1) & one.entropy_error.isfinite()
    sharp = replace(given, before=30.0 * given.before)
    few = compare_abducted(sharp, reading, sight(torch.ones(N, dtype=torch.long)), Layout(1, 20, 2), None)
    assert few.entropy_error.isnan().any()
    many = [compare_abducted(trace(samples=20 * r), reading, unseen(), Layout(1, 20, r), None) for r in (5, 40)]
    assert not told.all() or (many[1].error < many[0].error).float().mean() > 0.7
    assert many[1].error.isfinite().all()


def test_numbers_have_the_counterfactual_of_the_linear_gaussian_model() -> None:
    """m ~ N(0, t2), y = m + noise, the other arm is m + c m: E[Y' | y] = y + c y t2 / (t2 + s2)."""
    samples, t2, s2, c = 4001, 0.5, 0.8, -0.6
    levels = (torch.arange(samples, dtype=torch.float64) + 0.5) / samples
    m = (t2**0.5 * torch.special.ndtri(levels)).float().view(1, samples, 1).expand(N, -1, -1)
    zero = torch.zeros(N, samples)
    centre, scale = torch.tensor([3.0]), torch.tensor([2.0])
    reading = NumberReading(centre, scale, centre.expand(N, 1), torch.full((N, 1), t2 + s2))
    y = torch.tensor([-1.5, -0.2, 0.4, 1.0]).unsqueeze(-1)
    layout = Layout(1, 1, samples)
    one = compare_abducted(Trace(m, m, (1 + c) * m, zero, zero), reading, sight(centre + scale * y), layout, None)
    assert torch.equal(one.factual, centre + scale * y)
    assert torch.allclose(one.outcome, centre + scale * y * (1 + c * t2 / (t2 + s2)), atol=2e-3)
    wanted = scale.square() * c**2 * t2 * s2 / (t2 + s2)
    assert torch.allclose(one.variance.float(), wanted.expand(N, 1), rtol=0.02)


@pytest.mark.parametrize("outputs", [1, 2])
def test_equal_weights_give_the_entropy_of_an_intervention(outputs) -> None:
    plain = drawn(N, S, outputs)
    still = Trace(plain, plain, plain + drawn(N, S, outputs, seed=2), torch.zeros(N, S), torch.zeros(N, S))
    target, variance = drawn(N, outputs, seed=6), torch.full((N, outputs), 3.0)
    reading = NumberReading(torch.zeros(outputs), torch.full((outputs,), 2.0), target, variance)
    one = compare_abducted(still, reading, sight(target, told=False, shown=False), LAYOUT, None)
    other = compare(Moment(still.before, still.after, torch.zeros(N)), reading, R)
    for name in ("total", "within", "identification", "entropy_error"):
        assert torch.allclose(getattr(one, name), getattr(other, name), atol=1e-4)


def test_numbers_that_were_not_seen_are_the_forecast_and_parts_add_up() -> None:
    given = trace(outputs=1)
    reading = NumberReading(torch.zeros(1), torch.ones(1), drawn(N, 1, seed=6), torch.full((N, 1), 3.0))
    blank = replace(given, before=given.plain, shown=torch.zeros(N, S))
    one = compare_abducted(blank, reading, sight(torch.zeros(N, 1), told=False, shown=False), LAYOUT, None)
    assert torch.equal(one.factual, reading.target)
    assert torch.equal(one.within + one.identification, one.total)
    told = compare_abducted(blank, reading, sight(torch.zeros(N, 1)), LAYOUT, None)
    assert (told.variance < one.variance).all()
