import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sphunc.nn.fusion import AdHocFusion, MonotoneFusion

unit = st.floats(0, 1)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def scaled_up(fusion, seed, scale):
    with torch.no_grad():
        for p in fusion.parameters():
            p.copy_(scale * torch.randn(p.shape, generator=generator(seed), dtype=p.dtype))
    return fusion


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.floats(0, 6), a=unit, b=unit, c=unit, d=unit)
def test_total_never_falls_when_a_part_rises_whatever_was_learned(seed, scale, a, b, c, d):
    fusion = scaled_up(MonotoneFusion().double(), seed, scale)
    (low_e, high_e), (low_a, high_a) = sorted([a, b]), sorted([c, d])
    at = lambda e, n: fusion(torch.tensor(e, dtype=torch.float64), torch.tensor(n, dtype=torch.float64)).item()  # noqa: E731
    rounding = 1e-15
    assert at(low_e, low_a) <= at(high_e, low_a) + rounding
    assert at(low_e, low_a) <= at(low_e, high_a) + rounding


def test_both_parts_matter_from_the_start_and_the_total_uses_its_range():
    fusion = MonotoneFusion(generator=generator())
    e, n = (torch.tensor([0.5, 0.5], requires_grad=True) for _ in range(2))
    fusion(e, n).sum().backward()
    assert bool((e.grad > 0.01).all())
    assert bool((n.grad > 0.01).all())
    corners = fusion(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    assert corners[1] - corners[0] > 0.2


def test_monotone_fusion_learns_a_target():
    fusion = MonotoneFusion(generator=generator())
    e, n = torch.rand(2, 256, generator=generator(1))
    target = 0.1 + 0.5 * e.square() + 0.3 * n.sqrt()
    optimiser = torch.optim.Adam(fusion.parameters(), lr=0.03)
    for _ in range(300):
        optimiser.zero_grad()
        loss = (fusion(e, n) - target).square().mean()
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < 2e-4


@pytest.mark.parametrize("fusion_type", [MonotoneFusion, AdHocFusion])
def test_fusion_is_its_equation_with_two_hidden_layers(fusion_type):
    fusion = scaled_up(fusion_type().double(), 0, 0.7)
    raw = list(fusion.raw_weights if fusion_type is MonotoneFusion else fusion.weights)
    one, two, three = [torch.log1p(w.exp()) for w in raw] if fusion_type is MonotoneFusion else raw
    u = torch.tensor([0.3, 0.8], dtype=torch.float64)
    inner = torch.tanh(two @ torch.tanh(one @ u + fusion.biases[0]) + fusion.biases[1])
    expected = torch.sigmoid(three @ inner + fusion.biases[2])[0]
    torch.testing.assert_close(fusion(u[0], u[1]), expected)


def test_without_the_constraint_the_total_may_fall():
    fusion = scaled_up(AdHocFusion(), 3, 2.0)
    e = torch.linspace(0, 1, 50)
    falls = [bool((scaled_up(fusion, s, 2.0)(e, torch.full((50,), 0.5)).diff() < 0).any()) for s in range(10)]
    assert any(falls)


def test_gradients():
    fusion = MonotoneFusion(generator=generator()).double()
    parts = torch.rand(2, 4, generator=generator(1), dtype=torch.float64)
    assert torch.autograd.gradcheck(fusion, tuple(p.clone().requires_grad_() for p in parts))
