"""Matrix-based Rényi information: closed forms, plain loops, and whether its gradients do what they promise."""

import math

import numpy as np
import torch

from sphunc.baselines.cignn_information import (
    class_kernel,
    conditional_information,
    gaussian_kernel,
    information_terms,
    mutual_information,
    renyi_entropy,
)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def test_moving_all_points_apart_tells_nothing_more():
    a, b, y = normal(64, 3), normal(64, 2, seed=1), class_kernel(torch.arange(64) % 3)
    size = torch.ones((), dtype=torch.float64, requires_grad=True)
    told = sum(information_terms(gaussian_kernel(size * a.double()), gaussian_kernel(b), y))
    (slope,) = torch.autograd.grad(told, size)
    assert abs(slope.item()) < 1e-9


def test_entropy_by_hand() -> None:
    # Kernel [[1, 1/2], [1/2, 1]] / 2 has eigenvalues 3/4 and 1/4; at order 2: -log2(9/16 + 1/16) = log2 1.6.
    kernel = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.double)
    assert abs(renyi_entropy(kernel, order=2.0).item() - math.log2(1.6)) < 1e-5
    assert abs(renyi_entropy(kernel).item() - (-0.75 * math.log2(0.75) + 0.5)) < 5e-3  # near Shannon at order 1.01


def test_entropy_of_equal_and_of_distant_points() -> None:
    assert abs(renyi_entropy(torch.ones(8, 8, dtype=torch.double)).item()) < 1e-3
    assert abs(renyi_entropy(torch.eye(8, dtype=torch.double)).item() - 3.0) < 1e-9


def test_kernels_against_plain_loops() -> None:
    u = normal(6, 3)
    distance = np.array([[np.linalg.norm(a - b) for b in u.numpy()] for a in u.numpy()])
    width = distance.sum() / 30
    assert np.allclose(gaussian_kernel(u).numpy(), np.exp(-((distance / width) ** 2)))
    assert class_kernel(torch.tensor([2, 0, 2])).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_information_is_larger_for_dependent_samples() -> None:
    a, noise = normal(128, 4), normal(128, 4, seed=1)
    bound = mutual_information(gaussian_kernel(a), gaussian_kernel(a + 0.3 * noise))
    free = mutual_information(gaussian_kernel(a), gaussian_kernel(noise))
    assert bound > free + 0.3


def test_information_with_classes_is_at_most_their_entropy() -> None:
    y = torch.arange(60) % 3
    u = 10.0 * torch.nn.functional.one_hot(y, 3).double() + 0.01 * normal(60, 3)
    constant = torch.ones(60, 60, dtype=torch.double)
    assert abs(conditional_information(gaussian_kernel(u), class_kernel(y), constant).item() - math.log2(3)) < 0.05
    assert abs(conditional_information(constant, class_kernel(y), constant).item()) < 1e-3


def test_gradient_is_that_of_finite_differences() -> None:
    y, b = torch.arange(7) % 2, normal(7, 2, seed=2)
    kernel_b, kernel_y = gaussian_kernel(b), class_kernel(y)

    def value(a: torch.Tensor) -> torch.Tensor:
        kernel = torch.exp(-(a[:, None] - a[None, :]).square().sum(-1))
        return conditional_information(kernel, kernel_y, kernel_b) - mutual_information(kernel, kernel_b)

    assert torch.autograd.gradcheck(value, normal(7, 2).requires_grad_(), atol=1e-5)


def test_both_terms_at_once_are_the_two_terms() -> None:
    a, b, y = gaussian_kernel(normal(9, 2)), gaussian_kernel(normal(9, 2, seed=1)), class_kernel(torch.arange(9) % 3)
    shared, told = information_terms(a, b, y)
    assert torch.allclose(shared, mutual_information(a, b))
    assert torch.allclose(told, conditional_information(a, y, b))


def test_repeated_points_have_finite_gradients() -> None:
    u = torch.zeros(10, 3, requires_grad=True)
    mutual_information(gaussian_kernel(u), gaussian_kernel(normal(10, 3))).backward()
    assert u.grad is not None
    assert torch.isfinite(u.grad).all()


def test_descent_separates_and_ascent_informs() -> None:
    y = torch.arange(60) % 3
    z = normal(60, 4).requires_grad_()
    optimiser = torch.optim.Adam([z], lr=0.05)
    trace = []
    for _ in range(60):
        kernels = gaussian_kernel(z[:, :2]), class_kernel(y), gaussian_kernel(z[:, 2:])
        shared, told = mutual_information(kernels[0], kernels[2]), conditional_information(*kernels)
        optimiser.zero_grad()
        (shared - told).backward()
        optimiser.step()
        trace.append((shared.item(), told.item()))
    assert trace[-1][0] < trace[0][0] - 0.1
    assert trace[-1][1] > trace[0][1] + 0.1
