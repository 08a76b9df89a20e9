"""Comparison of the arms: the null is exact, blocks do not matter, effects have errors that fall with draws."""

import math

import pytest
import torch

from sphunc.causal import arms
from sphunc.causal.arms import compare
from sphunc.causal.design import Moment
from sphunc.causal.reading import ClassReading, NumberReading

N, Q, C = 9, 4, 3


def moment(draws, seed=0, push=0.0, same=False, outputs=C):
    g = torch.Generator().manual_seed(seed)
    factual = torch.randn(N, Q * draws, outputs, generator=g)
    if same:
        return Moment(factual, factual[:0], torch.zeros(N), torch.zeros(0, dtype=torch.long))
    changed = factual * 0.9
    changed[..., 0] += push
    return Moment(factual, changed, torch.zeros(N))


def reading(seed=1):
    g = torch.Generator().manual_seed(seed)
    target = torch.softmax(torch.randn(N, C, generator=g), -1)
    return ClassReading(torch.ones(N), None, torch.ones(target.shape[1]), torch.ones(N), target)


def test_null_is_the_forecast_bit_by_bit() -> None:
    one = compare(moment(5, same=True), reading(), 5, keep_samples=True)
    assert torch.equal(one.outcome, reading().target)
    assert torch.equal(one.outcome, one.factual)
    assert float(one.error.nan_to_num().max()) == 0.0
    assert torch.allclose(one.samples.mean(1), one.outcome, atol=1e-3)


def test_blocks_of_agents_do_not_matter(monkeypatch) -> None:
    whole = compare(moment(5, push=1.0), reading(), 5, keep_samples=True)
    monkeypatch.setattr(arms, "BLOCK", 1)
    parts = compare(moment(5, push=1.0), reading(), 5, keep_samples=True)
    for name in ("outcome", "total", "identification", "error"):
        assert torch.allclose(getattr(whole, name), getattr(parts, name), atol=1e-3)
    assert torch.equal(whole.within + whole.identification, whole.total)


def test_a_push_moves_outcomes_its_way_with_an_error_that_falls() -> None:
    few, many = (compare(moment(draws, push=1.0), reading(), draws) for draws in (8, 800))
    assert (many.outcome[:, 0] > many.factual[:, 0]).all()
    assert torch.allclose(many.outcome.sum(1), torch.ones(N), atol=1e-5)
    ratio = float(few.error.mean() / many.error.mean())
    assert 6.0 < ratio < 16.0
    assert (few.outcome - many.outcome).abs().max() < 6 * float(few.error.max())


def test_structures_that_differ_are_part_of_the_error() -> None:
    one = moment(50)
    present = torch.tensor([1.0, 1.0, 0.0, 0.0]).repeat_interleave(50)[None, :, None]
    changed = one.factual + present * torch.tensor([2.0, 0.0, 0.0])
    effects = compare(Moment(one.factual, changed, torch.zeros(N)), reading(), 50, keep_samples=True)
    by_structure = (effects.samples.view(N, Q, 50, C).mean(2) - effects.factual.unsqueeze(1))[..., 0]
    assert torch.allclose(effects.error[:, 0], by_structure.std(1) / Q**0.5, rtol=0.2)
    assert (effects.entropy_error > 0).all()


def test_a_single_draw_has_no_error() -> None:
    assert compare(moment(1, push=1.0), reading(), 1).error.isnan().all()


def test_numbers() -> None:
    law = NumberReading(torch.zeros(2), torch.ones(2), torch.full((N, 2), 3.0), torch.full((N, 2), 4.0))
    null = compare(moment(5, same=True, outputs=2), law, 5)
    assert torch.equal(null.outcome, law.target)
    assert torch.equal(null.variance, law.variances(law.variance))
    pushed = compare(moment(50, push=1.0, outputs=2), law, 50, keep_samples=True)
    assert torch.allclose(pushed.outcome[:, 0], torch.full((N,), 4.0), atol=0.1)
    assert torch.equal(pushed.within + pushed.identification, pushed.total)
    assert pushed.samples.shape == (N, 200, 2)


def test_agents_that_were_not_reached_are_read_once() -> None:
    whole, law = moment(5, push=1.0), reading()
    rows = torch.tensor([2, 5])
    still = torch.ones(N, dtype=torch.bool)
    still[rows] = False
    changed = torch.where(still[:, None, None], whole.factual, whole.reached)
    wanted = compare(Moment(whole.factual, changed, whole.resultant), law, 5, keep_samples=True)
    got = compare(Moment(whole.factual, changed[rows], whole.resultant, rows), law, 5, keep_samples=True)
    for name in ("outcome", "factual", "error", "total", "within", "identification", "entropy_error", "samples"):
        assert torch.allclose(getattr(got, name), getattr(wanted, name), atol=1e-3, equal_nan=True)
    assert torch.equal(got.outcome[still], law.target[still])
    nobody = compare(Moment(whole.factual, changed[:0], whole.resultant, rows[:0]), law, 5)
    assert torch.equal(nobody.outcome, law.target)
    assert (nobody.identification > 0).any()


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**-27, 2.0**90])
def test_numbers_in_another_unit_are_the_same_numbers(unit: float) -> None:
    shift = torch.tensor([1.0, 2.0])
    laws = [
        NumberReading(s * shift, s * shift, torch.full((N, 2), 3.0 * s), torch.full((N, 2), 4.0)) for s in (1, unit)
    ]
    one, other = (compare(moment(5, push=1.0, outputs=2), law, 5, keep_samples=True) for law in laws)
    for name in ("outcome", "factual", "error", "samples"):
        torch.testing.assert_close(unit * getattr(one, name), getattr(other, name), rtol=0, atol=0, equal_nan=True)
    assert torch.equal(unit**2 * one.variance, other.variance)
    assert torch.allclose(one.total + 2 * math.log(unit), other.total)
    assert torch.equal(one.identification, other.identification)
    torch.testing.assert_close(one.entropy_error, other.entropy_error, rtol=0, atol=0, equal_nan=True)


def test_entropy_of_numbers_knows_how_structures_were_drawn() -> None:
    law = NumberReading(torch.zeros(1), torch.ones(1), torch.zeros(N, 1), torch.full((N, 1), 4.0))
    noise = 0.01 * torch.randn(N, 20 * 8, 1, generator=torch.Generator().manual_seed(0))
    lined = torch.linspace(1.0, 3.0, 20).repeat_interleave(8)[None, :, None]  # the next stratum is always a bit higher
    one = Moment(noise, noise + lined, torch.zeros(N))
    order = torch.arange(20)[:, None].expand(-1, N)
    free, stratified = compare(one, law, 8), compare(one, law, 8, order=order)
    for name in ("outcome", "total", "identification"):
        assert torch.equal(getattr(free, name), getattr(stratified, name))
    assert (stratified.error < 0.5 * free.error).all()
    assert (stratified.entropy_error < 0.5 * free.entropy_error).all()
    shuffled = torch.stack([torch.randperm(20, generator=torch.Generator().manual_seed(k)) for k in range(N)], 1)
    assert torch.allclose(compare(one, law, 8, order=shuffled).entropy_error, free.entropy_error, rtol=0.5)


def test_entropy_of_numbers_with_one_structure_that_was_drawn_has_no_error() -> None:
    law = NumberReading(torch.zeros(1), torch.ones(1), torch.zeros(N, 1), torch.full((N, 1), 4.0))
    factual = torch.randn(N, 8, 1, generator=torch.Generator().manual_seed(0))
    one, drawn = Moment(factual, factual + 1.0, torch.zeros(N)), torch.zeros(1, N, dtype=torch.long)
    assert compare(one, law, 8).entropy_error.isfinite().all(), "a structure that is known"
    assert compare(one, law, 8, order=drawn).entropy_error.isnan().all()
    assert compare(one, law, 8, order=drawn).error.isnan().all()
