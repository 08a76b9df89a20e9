"""What is read beside states, in both arms: against sums over agents and groups written out, step by step."""

from dataclasses import fields, replace

import pytest
import torch

from sphunc.causal.arms import Comparison, compare
from sphunc.causal.beside import Beside, Offsets, View, company_means, with_offsets
from sphunc.causal.design import Moment
from sphunc.causal.reading import ClassReading, NumberReading

N, C, F, COMMON, DRAWS = 5, 3, 2, 4, 6
GROUPS = {0: (0, 1, 2), 1: (2, 3)}  # agent 2 is in both, agent 4 in none
INPUTS = 2 * (C + F) + COMMON


def members():
    pairs = [(agent, group) for group, whom in GROUPS.items() for agent in whom]
    agent, group = torch.tensor(pairs).T
    return agent, group


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def views(steps, lag=1):
    told = torch.eye(C)[torch.tensor([0, 1, 2, 0, 1])]
    told[3] = 0.0  # not seen
    x, common = drawn(N, F, seed=1), drawn(COMMON, seed=2)
    return tuple(None if h < lag else View(told if h == lag else None, x, common, members()) for h in steps)


def beside(steps, lag=1, centre=0.0, scale=1.0):
    ends = torch.full((C,), centre), torch.full((C,), scale)
    return Beside(drawn(INPUTS, C, seed=3), *ends, lag, views(steps, lag))


def none_cut(step):
    return ()


def dense(one, view, told, cut=()):
    """The equation, agent by agent."""
    own, rows = torch.cat([told, view.x], -1), []
    for i in range(N):
        means = [own[list(whom)].mean(0) for group, whom in GROUPS.items() if i in whom and group not in cut]
        around = torch.stack(means).mean(0) if means else torch.zeros(C + F)
        rows.append(torch.cat([own[i], around, view.common]) @ one.weight)
    return torch.stack(rows)


def still(logits):
    """Both arms with the same states, all samples alike."""
    factual = logits.unsqueeze(1).repeat(1, DRAWS, 1)
    return Moment(factual, factual[:0], torch.zeros(N), torch.zeros(0, dtype=torch.long))


def after(outcome, factual):
    """Both arms after a step, as far as the next one asks."""
    rest = {f.name: torch.empty(0) for f in fields(Comparison)}
    return Comparison(**{**rest, "outcome": outcome, "factual": factual})


def two_laws():
    return torch.softmax(drawn(N, C), -1), torch.softmax(drawn(N, C, seed=9), -1)


def reading(target):
    return ClassReading(torch.ones(N), None, torch.ones(C), torch.ones(N), target)


def test_company_is_that_of_groups_that_are_left() -> None:
    own = drawn(N, 2)
    torch.testing.assert_close(company_means(own, members())[2], (own[:3].mean(0) + own[2:4].mean(0)) / 2)
    left = company_means(own, members(), (0,))
    torch.testing.assert_close(left[2], own[2:4].mean(0))
    assert not left[[0, 1, 4]].any()
    assert torch.equal(left[3], company_means(own, members())[3])
    assert not company_means(own, members(), (0, 1)).any()
    assert not company_means(own, None).any()


def test_a_cut_group_is_gone_from_the_law_in_closed_form() -> None:
    one, base = beside([1]), drawn(N, C, seed=5)
    offsets = one.offsets([], lambda step: (0,) if step == 0 else ())
    told = one.views[0].told
    was, now = base + dense(one, one.views[0], told), base + dense(one, one.views[0], told, (0,))
    moment = with_offsets(still(base), offsets)
    assert moment.rows.tolist() == [0, 1, 2]
    found = compare(moment, reading(torch.softmax(was, -1)), DRAWS)
    torch.testing.assert_close(found.outcome, torch.softmax(now, -1), atol=1e-5, rtol=0.0)
    assert torch.equal(found.outcome[3:], found.factual[3:])
    assert (found.outcome - found.factual).abs().amax(1)[:3].min() > 0.01


@pytest.mark.parametrize("known", [True, False])
def test_changed_outcomes_of_a_step_tell_the_next_one(known) -> None:
    one = beside([1, 2])
    was, now = two_laws()
    now[3:] = was[3:]
    told = one.views[0].told if known else was
    if known:  # what was seen moves by as much as its law does
        one = replace(one, views=(None, replace(one.views[1], told=told)))
    offsets = one.offsets([after(now, was)], lambda step: (1,) if step == 1 else ())
    torch.testing.assert_close(offsets.factual, dense(one, one.views[1], told))
    changed = told + now - was
    torch.testing.assert_close(offsets.changed, dense(one, one.views[1], changed, (1,)))
    assert torch.equal(offsets.changed[4], offsets.factual[4])


def test_numbers_are_standardised_and_move_in_their_own_units() -> None:
    one, centre, scale = beside([1, 2], centre=2.0, scale=4.0), torch.full((C,), 2.0), torch.full((C,), 4.0)
    law = after(drawn(N, C, seed=9), drawn(N, C))
    offsets = one.offsets([law], none_cut)
    torch.testing.assert_close(offsets.factual, dense(one, one.views[1], (law.factual - 2.0) / 4.0))
    torch.testing.assert_close(offsets.changed, dense(one, one.views[1], (law.outcome - 2.0) / 4.0))
    found = compare(
        with_offsets(still(drawn(N, C)), offsets), NumberReading(centre, scale, law.factual, torch.ones(N, C)), DRAWS
    )
    torch.testing.assert_close(found.outcome, law.factual + 4.0 * (offsets.changed - offsets.factual))


def test_nothing_is_read_below_the_lag_and_what_is_seen_lies_that_far_back() -> None:
    one = beside([1, 2, 3], lag=2)
    was, now = two_laws()
    law, other, asked = after(now, was), after(was, was), []

    def cut(step):
        asked.append(step)
        return ()

    assert one.offsets([], cut) is None
    second = one.offsets([law], cut)
    assert torch.equal(second.factual, second.changed)
    third = one.offsets([law, other], cut)
    torch.testing.assert_close(third.changed, dense(one, one.views[2], now))
    assert asked == [0, 1]


def test_where_nothing_changed_both_arms_are_the_same_to_the_bit() -> None:
    one = beside([1, 2])
    law, _ = two_laws()
    offsets = one.offsets([after(law.clone(), law)], none_cut)
    assert torch.equal(*offsets)
    target = torch.softmax(drawn(N, C, seed=7), -1)
    moment = with_offsets(still(drawn(N, C)), offsets)
    assert not len(moment.rows)
    assert torch.equal(compare(moment, reading(target), DRAWS).outcome, target)


def test_offsets_reach_further_than_states_and_keep_what_states_did() -> None:
    factual, gone = drawn(N, DRAWS, C), drawn(1, DRAWS, C, seed=8)
    offsets = Offsets(drawn(N, C), drawn(N, C))
    offsets.changed[3] += 1.0
    moment = with_offsets(Moment(factual, gone, torch.zeros(N), torch.tensor([1])), offsets)
    assert moment.rows.tolist() == [1, 3]
    torch.testing.assert_close(moment.factual, factual + offsets.factual.unsqueeze(1))
    torch.testing.assert_close(moment.reached[0], gone[0] + offsets.changed[1])
    torch.testing.assert_close(moment.reached[1], factual[3] + offsets.changed[3])
    everybody = with_offsets(Moment(factual, factual + 1.0, torch.zeros(N)), offsets)
    torch.testing.assert_close(everybody.reached, factual + 1.0 + offsets.changed.unsqueeze(1))
