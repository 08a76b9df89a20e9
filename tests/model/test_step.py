"""The structural step of beliefs, against its equation."""

import pytest
import torch

from sphunc.model.config import SphUncConfig
from sphunc.model.step import MAP_PACE, Step
from sphunc.nn.structural import influence_sum
from sphunc.sphere import mean_resultant_length

AGENTS, DIM = 5, 6
NO_LINKS = torch.zeros(2, 0, dtype=torch.long)


def groups() -> tuple[torch.Tensor, torch.Tensor]:
    membership = torch.tensor([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0, 0.0]])
    spread = membership.mT / membership.sum(0).clamp(min=1).unsqueeze(-1)
    return (membership / membership.sum(1, keepdim=True)).to_sparse(), spread.to_sparse()


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make_step() -> Step:
    step = Step(SphUncConfig(dim=DIM))
    with torch.no_grad():
        step.gains["cohesion"].fill_(0.7)
        step.change.copy_(draw(9, DIM, DIM))
    return step


def test_step_equals_its_equation() -> None:
    step = make_step()
    eta, lasting = 5 * draw(0, AGENTS, DIM), draw(1, AGENTS, DIM)
    links, gates = torch.tensor([[0, 3], [1, 1]]), torch.tensor([0.5, -0.25])
    got = step(eta, lasting, groups(), links, gates)
    m = step.mean(eta)
    phi = torch.eye(DIM) + MAP_PACE * step.change
    gather, spread = (matrix.to_dense() for matrix in groups())
    for i in range(AGENTS):
        expected = 0.6 * m[i] + 0.5 * lasting[i]
        if i == 1:
            expected = expected + 0.5 * phi @ m[0] - 0.25 * phi @ m[3]
        for e in range(2):
            mean = gather[e] @ m
            expected = expected + spread[i, e] * mean * (0.3 + 0.7 * mean @ mean)
        torch.testing.assert_close(got[i], expected)


def test_rotation_of_all_vectors_rotates_the_step() -> None:
    step = Step(SphUncConfig(dim=DIM))
    turn = torch.linalg.qr(draw(3, DIM, DIM))[0]
    eta, lasting = draw(0, AGENTS, DIM), draw(1, AGENTS, DIM)
    links, gates = torch.tensor([[0], [1]]), torch.tensor([0.5])
    here = step(eta, lasting, groups(), links, gates) @ turn
    torch.testing.assert_close(step(eta @ turn, lasting @ turn, groups(), links, gates), here, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("dim", "bound"), [(2, 4e-2), (8, 1e-2), (64, 1e-3), (128, 1e-3), (1024, 1e-3)])
def test_mean_is_near_the_exact_ratio(dim: int, bound: float) -> None:
    step = Step(SphUncConfig(dim=dim))
    kappa = torch.logspace(-2, 2.5, 40, dtype=torch.float64)
    eta = torch.zeros(40, dim, dtype=torch.float64)
    eta[:, 0] = kappa
    assert (step.mean(eta)[:, 0] - mean_resultant_length(kappa, dim)).abs().max() < bound


def test_settled_state_is_a_direction_once_there_is_enough() -> None:
    step = Step(SphUncConfig(dim=DIM))
    eta = draw(0, AGENTS, DIM)
    unit = torch.nn.functional.normalize(eta, dim=-1)
    torch.testing.assert_close(step.settled(1e5 * unit), unit)
    torch.testing.assert_close(step.settled(20.0 * unit), unit / 2**0.5)
    assert step.settled(torch.zeros(1, DIM)).abs().max() == 0


def test_agent_without_evidence_stays_nowhere() -> None:
    step = make_step()
    zero = torch.zeros(AGENTS, DIM)
    assert torch.equal(step(zero, step.lasting(zero), groups(), NO_LINKS, torch.zeros(0)), zero)


def test_lonely_agent_keeps_to_itself() -> None:
    step = make_step()
    eta, lasting = draw(0, AGENTS, DIM), torch.zeros(AGENTS, DIM)
    alone = step(eta, lasting, None, NO_LINKS, torch.zeros(0))
    torch.testing.assert_close(alone, 0.6 * step.mean(eta))
    torch.testing.assert_close(step(eta, lasting, groups(), NO_LINKS, torch.zeros(0))[4], alone[4])


def test_flat_geometry_does_not_bend() -> None:
    step = Step(SphUncConfig(dim=DIM, geometry="euclidean"))
    eta = draw(0, AGENTS, DIM)
    torch.testing.assert_close(step.mean(3 * eta), 3 * step.mean(eta))


def test_links_reach_only_their_targets() -> None:
    values = draw(4, AGENTS, DIM)
    reached = influence_sum(values, torch.tensor([[2], [4]]), torch.tensor([1.0]))
    assert reached[:4].abs().max() == 0
