"""Forces on states: against a dense transcription, in coordinates on a basis, with groups and links cut."""

from dataclasses import replace

import pytest
import torch

import sphunc.causal.mechanism as mechanism_module
from sphunc.causal.mechanism import Mechanism, company, drive, meet, spmm

N, R, D, C = 7, 3, 12, 3


def made(**changes):
    g = torch.Generator().manual_seed(0)
    values = {
        "dim": D,
        "spherical": True,
        "keep": 0.5,
        "prior": 0.7,
        "link": 1.1,
        "pull": 0.4,
        "cohesion": -0.2,
        "strength": 30.0,
        "firmness": 15.0,
        "mapping": torch.eye(D) + 0.1 * torch.randn(D, D, generator=g),
        "weight": torch.randn(C, D, generator=g),
        "bias": torch.randn(C, generator=g),
        "lean": torch.randn(C, generator=g),
    }
    return Mechanism(**{**values, **changes})


LINKS = torch.tensor([[0, 1, 2, 6, 3], [1, 2, 1, 0, 5]])
GATES = torch.tensor([0.5, -0.3, 0.0, 0.8, 0.2])
AGENT, GROUP = torch.tensor([0, 1, 2, 2, 3]), torch.tensor([0, 0, 0, 1, 1])


def states(seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(N, R, D, generator=g), dim=-1)


def dense(mechanism, h, u, links, gates, members):
    total = mechanism.keep * h + mechanism.prior * u[:, None]
    for (j, i), gate in zip(links.T.tolist(), gates.tolist(), strict=True):
        total[i] += mechanism.link * gate * h[j] @ mechanism.mapping.mT
    for i in range(N):
        mine = [group for group in members if i in group]
        for group in mine:
            mean = h[group].mean(0)
            gain = mechanism.pull + mechanism.cohesion * mean.square().sum(-1, keepdim=True)
            total[i] += gain * mean / len(mine)
    return total


def test_known_states_and_beliefs_are_read_with_their_lean() -> None:
    mechanism = made()
    eta = 1e6 * states()[:, 0]
    assert torch.allclose(mechanism.read_belief(eta), mechanism.read(states()[:, 0]), atol=1e-4)
    assert torch.allclose(mechanism.read_belief(torch.zeros(2, D)), mechanism.bias.expand(2, -1))
    assert not torch.allclose(mechanism.read(eta), replace(mechanism, lean=None).read(eta))


@pytest.mark.parametrize("cut", [(), (1,), (0, 1)])
def test_drive_against_its_equation(cut) -> None:
    mechanism, h, u = made(), states(), torch.randn(N, D, generator=torch.Generator().manual_seed(2))
    around = company(LINKS, mechanism.link * GATES, (AGENT, GROUP), N, cut=cut)
    force, outside = drive(mechanism, h, None, mechanism.prior * u, around)
    members = [group for k, group in enumerate([[0, 1, 2], [2, 3]]) if k not in cut]
    assert torch.allclose(force, dense(mechanism, h, u, LINKS, GATES, members), atol=1e-6)
    assert outside is None


@pytest.mark.parametrize("rows", [[1], [0, 2, 5], [4], list(range(N))])
def test_some_targets_feel_what_they_feel_among_all(rows) -> None:
    mechanism, h, u = made(), states(), torch.randn(N, D, generator=torch.Generator().manual_seed(2))
    outside = torch.rand(N, R, generator=torch.Generator().manual_seed(3))
    around, chosen = company(LINKS, mechanism.link * GATES, (AGENT, GROUP), N), torch.tensor(rows)
    force, beyond = drive(mechanism, h, outside, u, around)
    some, some_beyond = drive(mechanism, h, outside, u[chosen], around.only(chosen), chosen)
    assert torch.allclose(some, force[chosen], atol=1e-5)
    assert beyond is not None
    assert some_beyond is not None
    assert torch.allclose(some_beyond, beyond[chosen], atol=1e-5)


@pytest.mark.parametrize(("rows", "wanted"), [([0], [0, 1, 2]), ([3], [2, 3, 5]), ([4], [4]), ([6], [0, 6])])
def test_reach_is_along_links_and_groups(rows, wanted) -> None:
    around = company(LINKS, GATES, (AGENT, GROUP), N)
    assert around.reach(torch.tensor(rows), N).nonzero().flatten().tolist() == wanted


def test_without_links_or_groups_an_agent_keeps_to_itself() -> None:
    mechanism, h = made(), states()
    around = company(LINKS[:, :0], GATES[:0], None, N)
    force, _ = drive(mechanism, h, None, torch.zeros(N, D), around)
    assert torch.allclose(force, 0.5 * h)


def test_driven_forces_are_natural_parameters() -> None:
    mechanism, h, u = made(), states(), torch.zeros(N, D)
    plain = drive(mechanism, h, None, u, company(LINKS, mechanism.link * GATES, (AGENT, GROUP), N))[0]
    scaled = mechanism.driven()
    driven = drive(scaled, h, None, u, company(LINKS, scaled.link * GATES, (AGENT, GROUP), N))[0]
    assert torch.allclose(driven, 30.0 * plain, atol=1e-4)


def test_a_whole_basis_turns_forces_and_readings_with_it() -> None:
    mechanism, h, u = made(), states(), states(3)[:, 0]
    basis = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(4)))[0]
    around = company(LINKS, mechanism.link * GATES, (AGENT, GROUP), N)
    force = drive(mechanism, h, None, u, around)[0]
    turned, beyond = drive(mechanism.on(basis), h @ basis, torch.zeros(N, R), u @ basis, around)
    assert torch.allclose(turned, force @ basis, atol=1e-5)
    assert torch.allclose(mechanism.on(basis).read(h @ basis), mechanism.read(h), atol=1e-5)
    assert float(beyond.abs().max()) == 0.0


def test_what_lies_outside_the_basis_adds_like_independent_noise() -> None:
    mechanism = made(mapping=torch.eye(2), pull=0.0, cohesion=0.0)
    around = company(LINKS, mechanism.link * GATES, None, N)
    _, beyond = drive(mechanism, torch.zeros(N, R, 2), torch.ones(N, R), torch.zeros(N, 2), around)
    assert beyond[0, 0] == pytest.approx(0.25 + (1.1 * 0.8) ** 2)
    assert beyond[1, 0] == pytest.approx(0.25 + (1.1 * 0.5) ** 2)
    assert beyond[4, 0] == pytest.approx(0.25)


def test_mean_and_firm_factors() -> None:
    length = torch.tensor([0.0, 15.0, 1e6])
    assert made().firm(length)[1] * 15 == pytest.approx(0.5**0.5)
    assert float(made().mean_length(length)[2]) * 1e6 == pytest.approx(1.0, abs=1e-3)
    assert made(spherical=False, flat=1 / D).firm(length).tolist() == pytest.approx([1 / D] * 3)
    assert made(spherical=False, flat=1 / D).mean_length(length).tolist() == pytest.approx([1 / D] * 3)


@pytest.mark.parametrize("size", [1, 3, N])
def test_blocks_of_targets_are_the_whole(size) -> None:
    m, h = made(), states()
    prior, outside = m.prior * states(2)[:, 0], torch.rand(N, R, generator=torch.Generator().manual_seed(3))
    around = company(LINKS, m.link * GATES, (AGENT, GROUP), N)
    whole, beyond = drive(m, h, outside, prior, around)
    meeting, out = meet(m, h, outside, around), torch.empty_like(h)
    for place, local in enumerate(around.blocks(N, size)):
        part = slice(place * size, min((place + 1) * size, N))
        force, rest = drive(m, h, outside, prior[part], local, part, meeting=meeting, out=out[part])
        assert torch.allclose(force, whole[part], atol=1e-6)
        assert torch.allclose(rest, beyond[part], atol=1e-6)
    assert torch.allclose(out, whole, atol=1e-6)


def test_sparse_product_adds_in_place() -> None:
    around, h = company(LINKS, GATES, None, N), states()
    into = torch.ones(N, R, D)
    assert spmm(around.influence, h, into) is into
    assert torch.allclose(into - 1.0, spmm(around.influence, h), atol=1e-6)


def test_sparse_product_adds_to_memory_that_is_not_contiguous() -> None:
    around, h = company(LINKS, GATES, None, N), states()
    into = torch.ones(D, R, N).permute(2, 1, 0)
    assert spmm(around.influence, h, into) is into
    assert torch.allclose(into - 1.0, spmm(around.influence, h), atol=1e-6)


def test_sparse_product_without_the_private_routine_is_the_same(monkeypatch) -> None:
    around, h = company(LINKS, GATES, None, N), states()
    expected = spmm(around.influence, h, torch.ones(N, R, D)), spmm(around.influence, h[..., 0])
    monkeypatch.setattr(mechanism_module, "csr_matvecs", None)
    found = spmm(around.influence, h, torch.ones(N, R, D)), spmm(around.influence, h[..., 0])
    assert all(torch.allclose(*pair, atol=1e-6) for pair in zip(found, expected, strict=True))
