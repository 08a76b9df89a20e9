import pytest
import torch

import sphunc.nn.kernels.tiles as tiles
from sphunc.hypergraph.buckets import group_by_size
from sphunc.nn.kernels.tiles import TilePool

SIZES = [2, 2, 2, 3, 3, 9, 10]
NODES = 14
INDEX = torch.cat(
    [torch.stack([torch.arange(size) + e % 4, torch.full((size,), e)]) for e, size in enumerate(SIZES)], 1
)
BUCKETS = group_by_size(INDEX, num_nodes=NODES, num_hyperedges=len(SIZES))
SCALE = torch.tensor(1.5, dtype=torch.float64)


def directions(dim=3):
    return torch.randn(NODES, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture(
    params=[(2048, 512), (4, 512), (2048, 2), (4, 9)], ids=["whole", "tiny", "large", "mixed"], autouse=True
)
def tiling(request, monkeypatch):
    rows, large = request.param
    monkeypatch.setattr(tiles, "TILE_ROWS_CPU", rows)
    monkeypatch.setattr(tiles, "LARGE_GROUP", large)


def transcribed(h, keep_self):
    pooled = torch.zeros_like(h)
    for e in range(len(SIZES)):
        members = INDEX[0][INDEX[1] == e]
        scores = torch.exp(SCALE * h[members] @ h[members].T)
        scores = scores if keep_self else scores * (1 - torch.eye(len(members), dtype=h.dtype))
        pooled = pooled.index_add(0, members, scores / scores.sum(1, keepdim=True) @ h[members])
    return pooled


@pytest.mark.parametrize("keep_self", [False, True])
def test_values_are_those_of_the_equation(keep_self):
    pooled = TilePool.apply(directions(), SCALE, None, BUCKETS, keep_self)
    torch.testing.assert_close(pooled, transcribed(directions(), keep_self))


@pytest.mark.parametrize("keep_self", [False, True])
def test_gradients_in_directions_sharpness_and_shares(keep_self):
    inputs = (directions(2).requires_grad_(), SCALE.clone().requires_grad_(), BUCKETS.share.double().requires_grad_())
    assert torch.autograd.gradcheck(lambda h, k, s: TilePool.apply(h, k, s, BUCKETS, keep_self), inputs)
    assert torch.autograd.gradcheck(lambda h, k: TilePool.apply(h, k, None, BUCKETS, keep_self), inputs[:2])
