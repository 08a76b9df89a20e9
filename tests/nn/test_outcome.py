import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sphunc.nn.outcome import LOWEST_TEMPERATURE, PACE, Readout, Temperature, temper, temperature


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_readout_is_its_equation_and_starts_without_opinion():
    readout = Readout(4, 3).double()
    state = torch.randn(2, 5, 4, generator=generator(), dtype=torch.float64)
    assert not readout(state).any()
    readout.weight.data.normal_(generator=generator(1))
    readout.bias.data.normal_(generator=generator(2))
    torch.testing.assert_close(readout(state)[1, 3], 2.0 * PACE * readout.weight @ state[1, 3] + readout.bias)


def test_a_lean_grows_with_the_length_of_the_state():
    readout = Readout(4, 3, leans=True).double()
    for part in (readout.weight, readout.bias, readout.lean):
        part.data.normal_(generator=generator(1))
    state = torch.randn(5, 4, generator=generator(), dtype=torch.float64)
    wanted = 2.0 * PACE * readout.weight @ state[2] + readout.bias + state[2].norm() * readout.lean
    torch.testing.assert_close(readout(state)[2], wanted)
    torch.testing.assert_close(readout(torch.zeros(1, 4, dtype=torch.float64))[0], readout.bias)
    assert (readout.lean.requires_grad, readout.bias.requires_grad) == (True, False)
    before = readout(state)
    assert torch.equal(readout.requires_grad_(False)(state), before)


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
    assert torch.equal(temper(logits, tau).argmax(-1), logits.argmax(-1))


def test_gradients():
    total = torch.rand(3, generator=generator(), dtype=torch.float64).requires_grad_()
    a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.3, 1.5))
    logits = torch.randn(3, 4, generator=generator(1), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda z, u, o, s: temper(z, temperature(u, o, s)), (logits, total, a, b))
