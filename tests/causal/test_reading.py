"""Samples that average to the forecast, whatever they are."""

import pytest
import torch

from sphunc.causal.reading import LARGEST_LOG_WEIGHT, TOLERANCE, ClassReading, NumberReading, anchored, weighted


def laws(agents, samples, classes, sharpness, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.softmax(sharpness * torch.randn(agents, samples, classes, generator=g), -1).permute(2, 1, 0)


@pytest.mark.parametrize("samples", [1, 2, 100])
@pytest.mark.parametrize(("classes", "sharpness"), [(2, 0.1), (3, 2.0), (10, 5.0)])
def test_weights_bring_the_mean_to_the_target(samples, classes, sharpness) -> None:
    p, target = laws(20, samples, classes, sharpness, 0), laws(20, 1, classes, 1.0, 1)[:, 0].mT
    q, tie = anchored(p.clone(), target)
    assert torch.allclose(q.sum(0), torch.ones(samples, 20), atol=1e-5)
    assert torch.allclose(weighted(p.clone(), tie.log_weights), q, atol=1e-4)
    assert (q.mean(1).mT - target).abs().max() < (TOLERANCE if sharpness < 3 else 0.02)


@pytest.mark.parametrize("shift", [0.1, 1.0, 5.0])
def test_the_anchor_of_the_step_before_leads_to_the_same_mean(shift) -> None:
    before, p, target = laws(30, 100, 4, 1.5, 3), laws(30, 100, 4, 2.0, 4), laws(30, 1, 4, 1.0, 5)[:, 0].mT
    tie = anchored(before, target)[1]
    p[0] *= shift
    q, again = anchored(p.clone(), target, tie)
    assert (q.mean(1).mT - target).abs().max() < TOLERANCE
    fresh = anchored(p.clone(), target)[1]
    centred = [t.log_weights - t.log_weights.mean(1, keepdim=True) for t in (again, fresh)]
    assert torch.allclose(*centred, atol=0.1)


def test_weights_are_flat_where_nothing_is_to_be_done() -> None:
    p = laws(5, 40, 3, 1.0, 2)
    assert float(anchored(p.clone(), p.mean(1).mT)[1].log_weights.abs().max()) == 0.0


def test_degenerate_samples_do_not_break_it() -> None:
    p = torch.zeros(3, 8, 2)
    p[0] = 1.0
    q, tie = anchored(p, torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))
    assert tie.log_weights.isfinite().all()
    assert q.isfinite().all()


def test_class_reading_without_and_with_contamination() -> None:
    logits = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(3))
    sharp, power = torch.tensor([0.5, 1.0, 2.0, 3.0]), torch.full((4,), 0.8)
    frequency = torch.tensor([0.7, 0.2, 0.1])
    plain = ClassReading(sharp, None, frequency, power, torch.zeros(4, 3))
    assert torch.allclose(plain.probabilities(logits), torch.softmax(logits * sharp[:, None, None], -1))
    share = torch.tensor([0.0, 0.2, 0.5, 0.9])
    mixed = ClassReading(sharp, share, frequency, power, torch.zeros(4, 3))
    inner = torch.softmax(logits * sharp[:, None, None], -1)
    wanted = torch.softmax(torch.log((1 - share)[:, None, None] * inner + share[:, None, None] * frequency) * 0.8, -1)
    assert torch.allclose(mixed.probabilities(logits), wanted, atol=1e-6)
    rows = mixed.rows(slice(1, 3))
    assert torch.allclose(rows.probabilities(logits[1:3]), wanted[1:3], atol=1e-6)


def test_number_reading() -> None:
    reading = NumberReading(torch.tensor([2.0]), torch.tensor([3.0]), torch.zeros(4, 1), torch.ones(4, 1))
    assert reading.rows(slice(0, 2)).means(torch.ones(2, 5, 1)).unique().tolist() == [5.0]
    assert reading.standard(torch.full((4, 5, 1), 5.0)).unique().tolist() == [1.0]
    small = NumberReading(torch.zeros(1), torch.tensor([1e-30]), torch.zeros(4, 1), torch.ones(4, 1))
    assert small.variances(small.variance).tolist() == [[pytest.approx(1e-60, rel=1e-6)]] * 4


def test_a_class_that_no_sample_reaches_does_not_overflow_over_steps() -> None:
    tie = None
    for _ in range(6):
        p = torch.zeros(2, 8, 1)
        p[0] = 1.0
        q, tie = anchored(p, torch.tensor([[0.3, 0.7]]), tie)
        assert q.isfinite().all()
        assert tie.log_weights.abs().max() <= LARGEST_LOG_WEIGHT
