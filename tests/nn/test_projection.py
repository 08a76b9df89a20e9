import torch

from sphunc.nn.projection import normalise, project


def vectors():
    return torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_direction_times_length_is_the_vector():
    v = vectors()
    direction, length = project(v)
    torch.testing.assert_close(direction * length[:, None], v)
    torch.testing.assert_close(length, v.norm(dim=-1))
    assert torch.equal(normalise(v), direction)


def test_gradients():
    assert torch.autograd.gradcheck(project, vectors().requires_grad_())


def test_the_zero_vector_points_nowhere_and_passes_no_gradient():
    for value in (0.0, 1e-30):
        v = torch.full((2, 3), value, requires_grad=True)
        direction, length = project(v)
        (direction.sum() + length.sum()).backward()
        assert not direction.any()
        assert not length.any()
        assert v.grad is not None
        assert not v.grad.any()


def test_small_vectors_keep_their_direction():
    direction, _ = project(torch.tensor([[3e-18, 4e-18]]))
    torch.testing.assert_close(direction, torch.tensor([[0.6, 0.8]]))
