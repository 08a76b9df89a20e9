"""Samples that average to the forecast, whatever they are."""

import pytest
import torch

from sphunc.causal.reading import TOLERANCE, ClassReading, NumberReading, class_weights, weighted


def laws(agents, samples, classes, sharpness, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.softmax(sharpness * torch.randn(agents, samples, classes, generator=g), -1)


@pytest.mark.parametrize("samples", [1, 2, 100])
@pytest.mark.parametrize(("classes", "sharpness"), [(2, 0.1), (3, 2.0), (10, 5.0)])
def test_weights_bring_the_mean_to_the_target(samples, classes, sharpness) -> None:
    p, target = laws(20, samples, classes, sharpness, 0), laws(20, 1, classes, 1.0, 1)[:, 0]
    q = weighted(p, class_weights(p, target))
    assert torch.allclose(q.sum(-1), torch.ones(20, samples), atol=1e-5)
    reachable = torch.ones(20, dtype=torch.bool) if samples > 1 and sharpness < 3 else q.isfinite().all((1, 2))
    assert (q.mean(1) - target).abs()[reachable].max() < (TOLERANCE if sharpness < 3 else 0.02)


def test_weights_are_flat_where_nothing_is_to_be_done() -> None:
    p = laws(5, 40, 3, 1.0, 2)
    assert float(class_weights(p, p.mean(1)).abs().max()) == 0.0


def test_degenerate_samples_do_not_break_it() -> None:
    p = torch.zeros(2, 8, 3)
    p[..., 0] = 1.0
    weights = class_weights(p, torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))
    assert weights.isfinite().all()
    assert weighted(p, weights).isfinite().all()


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
