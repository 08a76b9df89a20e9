"""Abduct and replay are inverse, the coupling keeps laws, what was seen stays seen."""

import torch

from sphunc.causal.action import Action, StateChange
from sphunc.causal.counterfactual import (
    abduct,
    act,
    carry,
    coupled_law,
    coupled_outcomes,
    force,
    log_evidence,
    replay,
)
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


def mechanism(dim=D):
    return Mechanism(
        dim=dim, spherical=True, keep=0.5, prior=2.0, link=1.0, pull=0.0, cohesion=0.0, strength=10.0, firmness=1.0,
        mapping=torch.eye(dim), weight=torch.zeros(2, dim), bias=torch.zeros(2),
    )  # fmt: skip


def test_evidence_is_as_likely_as_its_integral_over_states() -> None:
    eta, e = torch.tensor([3.0, 0.0, 0.0]).double(), torch.tensor([1.0, 2.0, -0.5]).double()
    h = torch.nn.functional.normalize(
        torch.randn(400_000, 3, generator=torch.Generator().manual_seed(0)).double(), dim=-1
    )
    wanted = ((h @ (eta + e)).exp().mean() / (h @ eta).exp().mean()).log()
    assert torch.allclose(log_evidence(eta, eta + e, 3), wanted, atol=0.01)


def test_beliefs_are_carried_with_the_noise() -> None:
    eta, seen, other = (k * unit(N, S, D, seed=s) for k, s in ((30.0, 0), (70.0, 1), (45.0, 2)))
    assert torch.equal(carry(mechanism(), eta, seen, eta), seen)
    assert torch.equal(carry(mechanism(), eta, eta, other), other)
    assert torch.allclose(carry(mechanism(), eta, 1.0001 * eta, other), other, atol=0.1)
    turn = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(3)))[0]
    plain = carry(mechanism(), eta, seen, other)
    assert torch.allclose(carry(mechanism(), eta @ turn, seen @ turn, other @ turn), plain @ turn, atol=1e-2)
    nothing = torch.zeros(N, S, D)
    assert carry(mechanism(), nothing, seen, other).isfinite().all()


def test_sure_beliefs_are_carried_as_if_noise_were_additive() -> None:
    """Far from the poles of the sphere's curvature h' = h + (mu' - mu), and precisions keep their ratio."""
    mu, kappa = torch.eye(D)[0], 4e4
    eta, look = kappa * mu, kappa * torch.nn.functional.normalize(mu + 0.02 * torch.eye(D)[1], dim=0)
    other = 2.0 * kappa * torch.nn.functional.normalize(mu + 0.02 * torch.eye(D)[2], dim=0)
    found = carry(mechanism(), *(value.expand(1, 1, -1) for value in (eta, eta + look, other)))[0, 0]
    assert abs(float(found.norm()) / (4.0 * kappa) - 1.0) < 0.01
    away = found / found.norm()
    # Twice the concentration, so noise is smaller by its root; the evidence says half of 0.02.
    assert torch.allclose(away[1:3], torch.tensor([0.01 / 2**0.5, 0.02]), atol=5e-4)


def test_force_is_the_natural_parameter() -> None:
    h, u = unit(N, S, D), unit(N, D, seed=7)
    around = company(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), None, N)
    assert torch.allclose(force(mechanism(), h, u, around), 5.0 * h + 20.0 * u[:, None], atol=1e-5)
