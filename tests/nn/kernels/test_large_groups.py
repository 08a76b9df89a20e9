import pytest
import torch

import sphunc.nn.kernels.large_groups as large_groups
from sphunc.nn.kernels.large_groups import Gradients, LargeGroup, attend_large, attend_large_backward

NODES = torch.tensor([4, 0, 6, 2, 5])
GROUP = LargeGroup(NODES, start=3)


@pytest.fixture(params=[1, 10, 2**21], ids=["one by one", "two by two", "at once"], autouse=True)
def block_weights(request, monkeypatch):
    monkeypatch.setattr(large_groups, "BLOCK_WEIGHTS", request.param)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def transcribed(h, scale, share, keep_self):
    keys = h[NODES]
    scores = torch.exp(scale * keys @ keys.T) * (1.0 if keep_self else 1.0 - torch.eye(5, dtype=torch.float64))
    heard = scores / scores.sum(1, keepdim=True) @ keys
    return torch.zeros_like(h).index_add(0, NODES, heard if share is None else heard * share[3:8, None])


def test_blocks_cover_the_group_once():
    covered = [i for block in GROUP.blocks() for i in range(block.start, block.stop)]
    assert covered == list(range(5))
    assert [GROUP.rows(block).start for block in GROUP.blocks()] == [3 + b.start for b in GROUP.blocks()]


@pytest.mark.parametrize("keep_self", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_and_gradients_are_those_of_the_equation(keep_self, weighted):
    h, scale = drawn(7, 3).requires_grad_(), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    share = drawn(9, seed=1).abs().requires_grad_() if weighted else None
    upstream, expected = drawn(7, 3, seed=2), transcribed(h, scale, share, keep_self)
    pooled = torch.zeros(7, 3, dtype=torch.float64)
    with torch.no_grad():
        attend_large(pooled, h, scale, share, GROUP, keep_self)
        grads = Gradients(torch.zeros_like(h), torch.zeros_like(scale), torch.zeros(9, dtype=torch.float64))
        attend_large_backward(grads, upstream, h, scale, share, GROUP, keep_self)
    torch.testing.assert_close(pooled, expected)
    inputs = (h, scale) if share is None else (h, scale, share)
    for got, wanted in zip(grads, torch.autograd.grad(expected, inputs, upstream), strict=False):
        torch.testing.assert_close(got, wanted)
