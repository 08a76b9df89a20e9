import pytest
import torch

from sphunc.nn import row_blocks
from sphunc.nn.shrinking import lengths, shrink

ABOVE = torch.tensor(1.5, dtype=torch.float64)


def vectors():
    v = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    v[1, 2] = 0
    return v


@pytest.fixture(params=[2, 2048], ids=["blocks", "one block"], autouse=True)
def _rows(request, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS_CPU", request.param)


@pytest.mark.parametrize("below", [0.0, 0.7])
def test_shrinking_is_its_equation(below):
    v = vectors()
    expected = torch.stack([x / (below + (ABOVE**2 + x @ x).sqrt()) for x in v.flatten(0, 1)]).view(v.shape)
    torch.testing.assert_close(shrink(v, below, ABOVE), expected)


@pytest.mark.parametrize("below", [0.0, 0.7])
def test_gradients_in_vectors_and_scale(below):
    inputs = (vectors().requires_grad_(), ABOVE.clone().requires_grad_())
    assert torch.autograd.gradcheck(lambda v, above: shrink(v, below, above), inputs)


def test_a_gradient_of_any_layout_is_taken():
    v, upstream = vectors().requires_grad_(), vectors().transpose(0, 1)
    (strided,) = torch.autograd.grad(shrink(v, 0.5, ABOVE), v, upstream)
    (plain,) = torch.autograd.grad(shrink(v, 0.5, ABOVE), v, upstream.contiguous())
    # A sum over strided memory may be taken in another order than one over contiguous memory: float64 rounding.
    torch.testing.assert_close(strided, plain, rtol=1e-13, atol=1e-14)


def test_shrinking_is_rotation_equivariant_and_stays_inside():
    v = 100 * vectors()
    rotation, _ = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    torch.testing.assert_close(shrink(v @ rotation, 0.5, ABOVE), shrink(v, 0.5, ABOVE) @ rotation)
    assert float(shrink(v, 0.0, ABOVE).norm(dim=-1).max()) < 1


def test_lengths_and_their_gradient_where_there_is_one():
    v = vectors().requires_grad_()
    torch.testing.assert_close(lengths(v), v.norm(dim=-1))
    assert torch.autograd.gradcheck(lambda x: lengths(x[0]), v)
    (gradient,) = torch.autograd.grad(lengths(v).sum(), v)
    assert not gradient[1, 2].any()
