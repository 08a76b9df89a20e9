"""Directions of a simulation: what every question needs comes first and never moves."""

import pytest
import torch

from sphunc.causal.action import Action, StateChange
from sphunc.causal.basis import FAITHFUL, basis_for, extended, signal_basis
from sphunc.causal.design import Start
from sphunc.causal.interventions import Do, Policy
from sphunc.causal.mechanism import Mechanism

D = 30
G = torch.Generator().manual_seed(0)
LOW = torch.nn.functional.normalize(torch.randn(4, D, generator=G), dim=-1)
NEW = torch.nn.functional.normalize(torch.randn(2, D, generator=G), dim=-1)


def system(spherical=True, dim=D):
    gains = dict.fromkeys(("keep", "prior", "link", "pull", "cohesion", "strength", "firmness"), 1.0)
    weight = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)) @ LOW
    mechanism = Mechanism(
        dim=dim, spherical=spherical, mapping=torch.eye(D), weight=weight, bias=torch.zeros(3), **gains
    )
    signal = torch.randn(6, 4, generator=torch.Generator().manual_seed(2)) @ LOW
    return mechanism, Start(signal, signal, None)


def setting(*directions):
    changes = [StateChange("do", i, d, 0.0, Do("x", toward="y")) for i, d in enumerate(directions)]
    return Action(tuple(changes))


def missed(basis, direction):
    return float((direction - basis @ (basis.mT @ direction)).norm())


def test_signal_basis_holds_what_it_must() -> None:
    g = torch.Generator().manual_seed(5)
    signal = torch.randn(40, 3, generator=g) @ torch.randn(3, 30, generator=g)
    exact = torch.randn(2, 30, generator=g)
    basis = signal_basis(30, exact, [signal, torch.zeros(4, 30)])
    assert 3 <= basis.shape[1] <= 5
    assert torch.allclose(basis.mT @ basis, torch.eye(basis.shape[1]), atol=1e-5)
    for vectors in (exact, signal):
        lost = (vectors - vectors @ basis @ basis.mT).square().sum() / vectors.square().sum()
        assert lost < 0.02
    assert signal_basis(30, exact, [torch.randn(40, 30, generator=g)]) is None
    assert signal_basis(30, exact, [torch.zeros(4, 30)]).shape == (30, 2)


def test_what_a_question_adds_comes_last_and_moves_nothing() -> None:
    plain = basis_for(*system(), Action())
    more = basis_for(*system(), setting(*NEW))
    assert plain.vectors.shape == (D, plain.shared)
    assert more.shared == plain.shared
    assert more.vectors.shape[1] == plain.shared + 2
    assert torch.equal(more.vectors[:, : plain.shared], plain.vectors)
    assert torch.allclose(more.vectors.mT @ more.vectors, torch.eye(plain.shared + 2), atol=1e-6)
    assert max(missed(more.vectors, new) for new in NEW) < 1e-6


def test_directions_of_the_readout_add_nothing() -> None:
    held = torch.nn.functional.normalize(system()[0].weight, dim=-1)
    basis = basis_for(*system(), setting(*held))
    assert torch.equal(basis.vectors, basis_for(*system()).vectors)
    assert max(missed(basis.vectors, one) for one in held) < FAITHFUL


def test_actions_that_are_compared_share_one_basis_in_any_order() -> None:
    one, other = setting(NEW[0]), setting(NEW[1])
    both = basis_for(*system(), one, other)
    assert torch.equal(both.vectors, basis_for(*system(), other, one).vectors)
    reversed_plan = Action(tuple(reversed(setting(*NEW).states)))
    assert torch.equal(basis_for(*system(), setting(*NEW)).vectors, basis_for(*system(), reversed_plan).vectors)


@pytest.mark.parametrize("case", ["policy", "flat", "many"])
def test_all_directions_are_taken_where_few_do_not_do(case) -> None:
    policy = Action(policies=(Policy(lambda step, states: {}),))
    many = setting(*torch.nn.functional.normalize(torch.randn(20, D, generator=G), dim=-1))
    action = {"policy": policy, "flat": Action(), "many": many}[case]
    assert basis_for(*system(spherical=case != "flat"), Action(), action) is None


def test_a_direction_that_repeats_another_is_appended_once() -> None:
    basis = torch.eye(D)[:, :2]
    assert extended(basis, [NEW[0].double(), NEW[0].double(), torch.eye(D, dtype=torch.double)[0]]).shape == (D, 3)
