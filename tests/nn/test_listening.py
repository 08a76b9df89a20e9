import pytest
import torch

from sphunc.nn import row_blocks
from sphunc.nn.listening import drop, kept_at_random, listen
from sphunc.nn.projection import normalise

N, D = 7, 4


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def case():
    """Somebody hears nobody, and somebody is nowhere and stays there."""
    h, pooled = normalise(normal(N, D)), normal(N, D, seed=1)
    pooled[2] = 0
    h[5] = pooled[5] = 0
    return h, pooled, normal(D, D, seed=2)


@pytest.fixture(params=[2, 2048], ids=["blocks", "one block"], autouse=True)
def _rows(request, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS_CPU", request.param)


def test_listening_is_its_equation():
    h, pooled, weight = case()
    raw = torch.stack([h[i] + (weight @ pooled[i]).clamp(min=0) for i in range(N)])
    expected = torch.stack([v / v.norm() if v.any() else v for v in raw])
    torch.testing.assert_close(listen(h, pooled, weight), expected)


def test_who_hears_nobody_keeps_its_direction():
    h, pooled, weight = case()
    torch.testing.assert_close(listen(h, pooled, weight)[[2, 5]], h[[2, 5]])


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_gradients(rate):
    inputs = [normal(N, D), normal(N, D, seed=1), normal(D, D, seed=2)]
    assert torch.autograd.gradcheck(
        lambda h, p, w: listen(h, p, w, rate, generator()), [x.requires_grad_() for x in inputs]
    )


def test_no_gradient_passes_through_who_is_nowhere():
    h, pooled, weight = (x.requires_grad_() for x in case())
    to_h, to_pooled = torch.autograd.grad(listen(h, pooled, weight).sum(), [h, pooled])
    assert not to_h[5].any()
    assert not to_pooled[5].any()


def test_lost_entries_are_missing_from_the_message_and_the_others_are_scaled_up():
    h, pooled, weight = torch.zeros(N, D, dtype=torch.float64), normal(N, D, seed=1), normal(D, D, seed=2)
    heard = (pooled @ weight.mT).clamp(min=0)
    kept = listen(h, pooled, weight, 0.5, generator()) != 0
    assert bool((heard[kept] > 0).all())
    assert 0 < int(kept.sum()) < int((heard > 0).sum())
    torch.testing.assert_close(listen(h, pooled, weight, 0.5, generator()), normalise(heard * kept))
    one = normalise(h + 1.0)
    torch.testing.assert_close(
        listen(one, pooled, weight, 0.5, generator()), normalise(one + 2.0 * heard * kept), check_stride=False
    )


def test_drop_keeps_the_mean():
    dropped = drop(torch.ones(100_000), 0.3, generator())
    # standard deviation of the mean: sqrt(0.3 / 0.7 / 1e5) = 0.002
    assert abs(float(dropped.mean()) - 1) < 0.01
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.7])


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.2, 0.999999])
def test_share_of_what_is_lost(rate):
    lost = ~kept_at_random((333, 301), rate, generator())
    assert lost.shape == (333, 301)
    # four standard deviations at most, sqrt(0.2 * 0.8 / 1e5) = 0.0013
    assert abs(float(lost.double().mean()) - rate) < 0.005


def test_entries_are_lost_independently():
    lost = (~kept_at_random((40_000, 4), 0.5, generator())).double()
    # Correlations of 40 000 pairs have a standard deviation of 0.005.
    assert float((torch.corrcoef(lost.mT) - torch.eye(4)).abs().max()) < 0.02


def test_the_generator_decides():
    a, b, c = (kept_at_random((50,), 0.5, generator(seed)) for seed in (0, 0, 1))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_nothing_is_lost_or_scaled_without_a_generator():
    torch.testing.assert_close(listen(*case(), 0.5), listen(*case()))
