"""The structural step of beliefs, against its equation."""

import pytest
import torch

from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.step import FLAT_WEIGHT, GAINS, INITIAL_SETTLED, INITIAL_STRENGTH, LASTING, MAP_PACE, Step
from sphunc.nn.concentration import HIGHEST, LOWEST
from sphunc.nn.structural import influence_sum
from sphunc.sphere import mean_resultant_length

AGENTS, DIM = 5, 6
KEEP, PRIOR, LINK, PULL, COHESION = 0.6, 0.5, 0.8, 0.3, 0.7
NO_LINKS = torch.zeros(2, 0, dtype=torch.long)


def groups() -> tuple[torch.Tensor, torch.Tensor]:
    membership = torch.tensor([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0, 0.0]])
    spread = membership.mT / membership.sum(0).clamp(min=1).unsqueeze(-1)
    return (membership / membership.sum(1, keepdim=True)).to_sparse(), spread.to_sparse()


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make_step() -> Step:
    step = Step(SphUncConfig(dim=DIM))
    chosen = dict(
        zip(("keep", "lasting", "link", "pull", "cohesion"), (KEEP, PRIOR, LINK, PULL, COHESION), strict=True)
    )
    assert set(chosen) == set(GAINS)
    with torch.no_grad():
        for name, value in chosen.items():
            step.gains[name].fill_(value)
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
        expected = KEEP * m[i] + PRIOR * lasting[i]
        if i == 1:
            expected = expected + LINK * (0.5 * phi @ m[0] - 0.25 * phi @ m[3])
        for e in range(2):
            mean = gather[e] @ m
            expected = expected + spread[i, e] * mean * (PULL + COHESION * mean @ mean)
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
    torch.testing.assert_close(step.settled(DIM / 2 * INITIAL_SETTLED * unit), unit / 2**0.5)
    assert step.settled(torch.zeros(1, DIM)).abs().max() == 0


def test_agent_without_evidence_stays_nowhere() -> None:
    step = make_step()
    zero = torch.zeros(AGENTS, DIM)
    unseen = torch.zeros(AGENTS, dtype=torch.bool)
    lasting = step.lasting(zero, step.mean(zero), step.mean(zero), torch.zeros(AGENTS), unseen)
    assert torch.equal(lasting, zero)
    assert torch.equal(step(zero, lasting, groups(), NO_LINKS, torch.zeros(0)), zero)


def test_lonely_agent_keeps_to_itself() -> None:
    step = make_step()
    eta, lasting = draw(0, AGENTS, DIM), torch.zeros(AGENTS, DIM)
    alone = step(eta, lasting, None, NO_LINKS, torch.zeros(0))
    torch.testing.assert_close(alone, KEEP * step.mean(eta))
    torch.testing.assert_close(step(eta, lasting, groups(), NO_LINKS, torch.zeros(0))[4], alone[4])


def test_flat_geometry_does_not_bend() -> None:
    step = Step(SphUncConfig(dim=DIM, geometry="euclidean"))
    eta = draw(0, AGENTS, DIM)
    torch.testing.assert_close(step.mean(3 * eta), 3 * step.mean(eta))
    torch.testing.assert_close(step.mean(eta), eta / (DIM / 2 * FLAT_WEIGHT))
    torch.testing.assert_close(step.settled(eta), eta / (DIM / 2 * FLAT_WEIGHT))


@pytest.mark.parametrize("dim", [2, 128])
def test_strength_is_in_units_of_half_the_dimension(dim: int) -> None:
    torch.testing.assert_close(Step(SphUncConfig(dim=dim)).strength, torch.tensor(dim / 2 * INITIAL_STRENGTH))


def test_concentration_grows_with_the_length_and_stays_in_its_range() -> None:
    step = Step(SphUncConfig(dim=DIM))
    lengths = torch.logspace(-3, 8, 60)
    states = torch.cat([torch.zeros(1, DIM), lengths.unsqueeze(-1) * torch.nn.functional.normalize(draw(0, 60, DIM))])
    kappa = step.concentration(states)
    assert kappa[0] == LOWEST
    assert (kappa.diff() >= 0).all()
    assert kappa[-1] == HIGHEST
    # Far from its upper end the cap adds one: what a state of length one stands for is its sureness.
    sureness = float(step.sureness)
    middle = (sureness * lengths) < 100
    torch.testing.assert_close(kappa[1:][middle], 1 + sureness * lengths[middle])


def walk(step: Step, m: torch.Tensor, expected: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """The persistent prior after the times of ``m``, as the network asks for it."""
    prior, count = torch.zeros_like(m[0]), (seen.cumsum(0) - seen.long()).float()
    for time in range(len(m)):
        prior = step.lasting(prior, m[time], expected[time], count[time], seen[time])
    return prior


def innovations() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Means of beliefs, what was expected, and who was seen: agent 0 always, 3 late, 4 never."""
    m, expected = draw(5, 6, AGENTS, DIM), draw(6, 6, AGENTS, DIM)
    seen = torch.rand(6, AGENTS, generator=torch.Generator().manual_seed(7)) < 0.6
    seen[:, 0], seen[:3, 3], seen[3:, 3], seen[:, 4] = True, False, True, False
    return torch.where(seen.unsqueeze(-1), m, expected), expected, seen


def test_persistent_prior_equals_its_recursion() -> None:
    step = Step(SphUncConfig(dim=DIM))
    m, expected, seen = innovations()
    got = walk(step, m, expected, seen)
    for i in range(AGENTS):
        u, n = torch.zeros(DIM), 0
        for time in range(len(m)):
            if not seen[time, i]:
                continue
            if n == 0:
                u = LASTING["first"] * m[time, i]
            else:
                u = u + LASTING["pace"] / (LASTING["patience"] + n) * (m[time, i] - expected[time, i])
            n += 1
        torch.testing.assert_close(got[i], u)


def test_first_sight_of_an_agent_is_taken_whole_however_late_it_comes() -> None:
    step = Step(SphUncConfig(dim=DIM))
    m, expected, seen = innovations()
    torch.testing.assert_close(walk(step, m[:4], expected[:4], seen[:4])[3], LASTING["first"] * m[3, 3])


def test_agent_never_seen_has_no_prior_whatever_others_do_to_it() -> None:
    step = Step(SphUncConfig(dim=DIM))
    m, expected, seen = innovations()
    assert m[:, 4].abs().min() > 0
    assert torch.equal(walk(step, m, expected, seen)[4], torch.zeros(DIM))


def test_agent_without_evidence_today_does_not_move() -> None:
    step = Step(SphUncConfig(dim=DIM))
    prior, m = draw(0, AGENTS, DIM), draw(1, AGENTS, DIM)
    unseen = torch.zeros(AGENTS, dtype=torch.bool)
    assert torch.equal(step.lasting(prior, m, m, torch.arange(1.0, AGENTS + 1), unseen), prior)


def test_order_of_agents_does_not_matter_to_the_prior() -> None:
    step = Step(SphUncConfig(dim=DIM))
    m, expected, seen = innovations()
    order = torch.tensor([3, 0, 4, 2, 1])
    mixed = walk(step, m[:, order], expected[:, order], seen[:, order])
    assert torch.equal(mixed, walk(step, m, expected, seen)[order])


def test_the_prior_learns_from_the_first_sight_and_from_what_was_not_expected() -> None:
    step = Step(SphUncConfig(dim=DIM))
    walk(step, *innovations()).square().sum().backward()
    assert all(step.logs[name].grad.abs() > 0 for name in LASTING)


def test_links_reach_only_their_targets() -> None:
    values = draw(4, AGENTS, DIM)
    reached = influence_sum(values, torch.tensor([[2], [4]]), torch.tensor([1.0]))
    assert reached[:4].abs().max() == 0
