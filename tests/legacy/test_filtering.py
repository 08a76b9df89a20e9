"""The filter: evidence of one time after another, and what is told of outcomes only after what was believed."""

import pytest
import torch

from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.filtering import filter_beliefs, roll
from sphunc.legacy.step import Step

TIMES, AGENTS, DIM = 4, 5, 6
LINKS, GATES = torch.tensor([[0, 1], [2, 3]]), torch.tensor([0.5, -0.3])
NOBODY_MEETS = [None] * TIMES


def make_step() -> Step:
    return Step(SphUncConfig(dim=DIM))


def looks() -> torch.Tensor:
    made = 5.0 * torch.randn(TIMES, AGENTS, DIM, generator=torch.Generator().manual_seed(0))
    made[:, 4] = 0.0  # never seen
    made[1, 0] = 0.0
    return made


def seen(evidence: torch.Tensor) -> torch.Tensor:
    return (evidence != 0).any(-1)


@torch.no_grad()
def test_filter_against_the_equations_written_out() -> None:
    step, given = make_step(), looks()
    got = filter_beliefs(step, given, None, seen(given), NOBODY_MEETS, LINKS, GATES, 1)
    u, prior, count = torch.zeros(AGENTS, DIM), torch.zeros(AGENTS, DIM), torch.zeros(AGENTS)
    for time in range(TIMES):
        eta = prior + given[time]
        m = step.mean(eta)
        u = step.lasting(u, m, step.mean(prior), count, seen(given)[time])
        count = count + seen(given)[time]
        prior = step.strength * step.drive(m, u, None, LINKS, GATES)
        torch.testing.assert_close(got.beliefs[time], eta)
        torch.testing.assert_close(got.ahead[time], prior)
        torch.testing.assert_close(got.lasting[time], u)
    assert got.states is got.ahead


@torch.no_grad()
def test_outcomes_are_told_after_what_was_believed_and_then_count() -> None:
    step, given, heard = make_step(), looks(), []
    said = torch.randn(TIMES, AGENTS, DIM, generator=torch.Generator().manual_seed(1))

    def tell(time: int, belief: torch.Tensor) -> torch.Tensor:
        heard.append((time, belief.clone()))
        return said[time]

    everybody = torch.ones(TIMES, AGENTS, dtype=torch.bool)
    got = filter_beliefs(step, given, tell, everybody, NOBODY_MEETS, LINKS, GATES, 1)
    assert [time for time, _ in heard] == list(range(TIMES))
    for time, before in heard:
        prior = got.ahead[time - 1] if time else torch.zeros(AGENTS, DIM)
        torch.testing.assert_close(before, prior + given[time])
        torch.testing.assert_close(got.evidence[time], given[time] + said[time])
        torch.testing.assert_close(got.beliefs[time], prior + given[time] + said[time])
    silent = filter_beliefs(step, given, lambda time, belief: torch.zeros_like(belief), *_rest(given))
    without = filter_beliefs(step, given, None, *_rest(given))
    torch.testing.assert_close(silent.ahead, without.ahead)


def _rest(given: torch.Tensor) -> tuple:
    return seen(given), NOBODY_MEETS, LINKS, GATES, 1


@pytest.mark.parametrize("horizon", [2, 3])
@torch.no_grad()
def test_states_are_read_as_many_steps_on_as_asked(horizon: int) -> None:
    step, given = make_step(), looks()
    got = filter_beliefs(step, given, None, seen(given), NOBODY_MEETS, LINKS, GATES, horizon)
    last = roll(step, got.ahead[-1], got.lasting[-1], None, LINKS, GATES, horizon)
    assert len(last) == horizon
    torch.testing.assert_close(got.states[-1], last[-1])
    one_more = step.strength * step(last[-1], got.lasting[-1], None, LINKS, GATES)
    torch.testing.assert_close(
        roll(step, got.ahead[-1], got.lasting[-1], None, LINKS, GATES, horizon + 1)[-1], one_more
    )


@torch.no_grad()
def test_who_was_never_seen_has_no_prior_of_its_own() -> None:
    step, given = make_step(), looks()
    got = filter_beliefs(step, given, None, seen(given), NOBODY_MEETS, LINKS, GATES, 1)
    assert got.lasting[-1][4].abs().max() == 0
    assert got.ahead[:, 4].abs().max() == 0
