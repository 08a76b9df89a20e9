import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sphunc.nn.temperature import LOWEST_TEMPERATURE, Temperature, temperature


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_temperature_starts_at_one_in_the_middle_and_never_falls():
    module = Temperature()
    total = torch.linspace(0, 1, 5)
    torch.testing.assert_close(module(total)[2], torch.tensor(1.0))
    for raw in (-20.0, float(module.raw_slope.detach()), 3.0):
        module.raw_slope.data.fill_(raw)
        assert bool((module(total).diff() >= 0).all())
        assert float(module(total).diff().min().detach()) > 0 or raw < 0


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 1000), offset=st.floats(-300, 300), slope=st.floats(-300, 300))
def test_temperature_never_changes_the_class_named(seed, offset, slope):
    logits = torch.randn(8, 5, generator=generator(seed))
    total = torch.rand(8, generator=generator(seed + 1))
    tau = temperature(total, torch.tensor(offset), torch.tensor(slope))
    assert bool((tau >= LOWEST_TEMPERATURE).all())
    assert torch.equal((logits / tau.unsqueeze(-1)).argmax(-1), logits.argmax(-1))


def test_gradients():
    total = torch.rand(3, generator=generator(), dtype=torch.float64).requires_grad_()
    a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.3, 1.5))
    logits = torch.randn(3, 4, generator=generator(1), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda z, u, o, s: z / temperature(u, o, s).unsqueeze(-1), (logits, total, a, b))
