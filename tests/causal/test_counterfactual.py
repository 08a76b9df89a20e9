"""Abduct and replay are inverse, the coupling keeps laws, what was seen stays seen."""

import torch

from sphunc.causal.action import Action, StateChange
from sphunc.causal.counterfactual import abduct, act, coupled_law, coupled_outcomes, force, replay
from sphunc.causal.interventions import Do, Shift
from sphunc.causal.mechanism import Mechanism, company

N, S, D = 5, 7, 10


def unit(*shape, seed=0):
    return torch.nn.functional.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_replay_undoes_abduct() -> None:
    h, eta = unit(N, S, D), 30.0 * unit(N, S, D, seed=1)
    assert torch.allclose(replay(abduct(h, eta), eta), h, atol=1e-4)
    other = replay(abduct(h, eta), 90.0 * unit(N, S, D, seed=2))
    assert torch.allclose(other.norm(dim=-1), torch.ones(N, S), atol=1e-5)


def test_replay_turns_with_the_system() -> None:
    turn = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(3)))[0]
    h, eta, other = unit(N, S, D), 30.0 * unit(N, S, D, seed=1), 50.0 * unit(N, S, D, seed=2)
    plain = replay(abduct(h, eta), other)
    assert torch.allclose(replay(abduct(h @ turn, eta @ turn), other @ turn), plain @ turn, atol=1e-4)


def test_coupling_keeps_equal_laws_and_averages_to_the_other_law() -> None:
    g = torch.Generator().manual_seed(4)
    before, after = torch.softmax(torch.randn(2, 6, 3, generator=g), -1)
    total = torch.zeros_like(after)
    for y in range(3):
        law = coupled_law(before, after, torch.full((6,), y))
        assert torch.allclose(law.sum(-1), torch.ones(6), atol=1e-6)
        assert torch.equal(coupled_law(before, before, torch.full((6,), y))[:, y], torch.ones(6))
        total += before[:, y : y + 1] * law
    assert torch.allclose(total, after, atol=1e-5)


def test_unseen_outcomes_keep_their_own_laws() -> None:
    g = torch.Generator().manual_seed(5)
    before, after = torch.softmax(torch.randn(2, 2, S, 3, generator=g), -1)
    factual, other = coupled_outcomes(before, after, torch.tensor([1, 0]), torch.tensor([True, False]))
    assert (factual[0, :, 1] == 1).all()
    assert torch.equal(factual[1], before[1])
    assert torch.equal(other[1], after[1])


def test_act_sets_and_turns() -> None:
    h, target = unit(N, S, D), unit(D, seed=6)
    changes = (
        StateChange("do", 0, target, 0.0, Do("a", toward="x")),
        StateChange("shift", 1, target, 4.0, Shift("b", "x", 3.0, times=2)),
    )
    assert torch.equal(act(Action(changes), 0, h)[1:], h[1:])
    assert torch.allclose(act(Action(changes), 2, h)[:2], target.expand(2, S, -1), atol=1e-4)


def test_force_is_the_natural_parameter() -> None:
    mechanism = Mechanism(
        dim=D, spherical=True, keep=0.5, prior=2.0, link=1.0, pull=0.0, cohesion=0.0, strength=10.0, firmness=1.0,
        mapping=torch.eye(D), weight=torch.zeros(2, D), bias=torch.zeros(2),
    )  # fmt: skip
    h, u = unit(N, S, D), unit(N, D, seed=7)
    around = company(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), None, N)
    assert torch.allclose(force(mechanism, h, u, around), 5.0 * h + 20.0 * u[:, None], atol=1e-5)
