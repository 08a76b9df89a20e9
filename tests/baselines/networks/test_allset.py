"""AllSetTransformer against its equations."""

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.networks.allset import AllSetSettings, SetPooling
from sphunc.errors import ArgumentError

ITEM = torch.tensor([0, 1, 2, 1, 2])
POOL = torch.tensor([0, 0, 0, 2, 2])


def test_pooling_by_hand() -> None:
    # Key 0 gives equal weights, values are the states, the perceptron is 0: LN(seed + mean), with seed (1, 0).
    pooling = SetPooling(AllSetSettings(width=2, heads=1), torch.Generator().manual_seed(0))
    with torch.no_grad():
        for layer in (pooling.key, pooling.hidden, pooling.out):
            layer.weight.zero_()
        pooling.value.weight.copy_(torch.eye(2))
        pooling.seed.copy_(torch.tensor([[1.0, 0.0]]))
    x = torch.tensor([[0.0, 9.0], [3.0, 0.0], [0.0, 0.0]])
    got = pooling(x, ITEM, POOL, 3)
    # Means (1, 3), nothing, (1.5, 0): with the seed (2, 3), (1, 0), (2.5, 0), whose order alone a norm of two keeps.
    assert got[:, 0].tolist() == pytest.approx([-1.0, 1.0, 1.0], abs=1e-3)


def test_pooling_by_loops() -> None:
    generator = torch.Generator().manual_seed(1)
    pooling = SetPooling(AllSetSettings(width=6, heads=2), generator)
    x = torch.randn(3, 6, generator=generator)
    rows = []
    for pool in range(3):
        items = ITEM[pool == POOL].tolist()
        parts = []
        for head in range(2):
            part = slice(3 * head, 3 * head + 3)
            scores = torch.stack([pooling.key(x[j])[part] @ pooling.seed[head] for j in items] or [torch.zeros(())])
            weights = torch.softmax(torch.where(scores > 0, scores, 0.2 * scores), 0)
            total = sum(w * pooling.value(x[j])[part] for w, j in zip(weights, items, strict=False))
            parts.append(pooling.seed[head] + total)
        y = pooling.norm(torch.cat(parts))
        rows.append(pooling.final_norm(y + torch.relu(pooling.out(torch.relu(pooling.hidden(y))))))
    assert torch.allclose(pooling(x, ITEM, POOL, 3), torch.stack(rows), atol=1e-5)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ArgumentError, match="heads is 3, which does not divide width, 64"):
        forecaster("allset", heads=3)
