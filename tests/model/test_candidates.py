"""Candidate parents against pairs counted in loops; forbidden, required, large groups, nobody."""

from itertools import permutations

import pytest
import torch

from sphunc.hypergraph.incidence import Incidence
from sphunc.model.candidates import LARGEST_GROUP, MOST_CANDIDATES, make_candidates, meeting_scores


def meeting(agents, *groups):
    agent = torch.tensor([i for members in groups for i in members], dtype=torch.long)
    group = torch.tensor([e for e, members in enumerate(groups) for _ in members], dtype=torch.long)
    return Incidence(agent, group, torch.ones(len(agent), dtype=torch.float64), agents, len(groups))


TIMES = (
    meeting(6, [0, 1, 2], [2, 3], [5]),
    meeting(6, [0, 1], [1, 2, 3, 4]),
    meeting(6),
)


def pairs(links):
    target, slot = links.is_candidate.nonzero(as_tuple=True)
    return set(zip(links.source[target, slot].tolist(), target.tolist(), strict=True))


def test_scores_are_those_of_pairs_counted_in_loops():
    expected = torch.zeros(6, 6, dtype=torch.float64)
    for groups in ([[0, 1, 2], [2, 3], [5]], [[0, 1], [1, 2, 3, 4]]):
        for members in groups:
            for source, target in permutations(members, 2):
                expected[target, source] += 1 / (len(members) - 1)
    found = torch.from_numpy(meeting_scores(TIMES, 0).toarray())
    found.fill_diagonal_(0)
    torch.testing.assert_close(found, expected)


def test_candidates_are_all_who_met_most_frequent_first():
    links = make_candidates(TIMES, 0)
    met = {(0, 1), (0, 2), (1, 2), (2, 3), (1, 3), (1, 4), (2, 4), (3, 4)}
    assert pairs(links) == met | {(b, a) for a, b in met}
    assert links.source[1, 0] == 0  # 0.5 + 1, against 0.5 + 1/3 and 1/3
    assert not links.is_candidate[5].any()
    assert links.probability.abs().sum() == 0


def test_forbidden_pairs_are_left_out_and_required_ones_are_in():
    links = make_candidates(TIMES, 0, forbidden=[(0, 1)], required=[(5, 0)])
    found = pairs(links)
    assert (0, 1) not in found
    assert (1, 0) in found
    assert links.source[0, 0] == 5
    assert (5, 0) in found


def test_a_required_pair_that_met_is_one_candidate():
    links = make_candidates(TIMES, 0, required=[(0, 1), (0, 1)])
    sources = links.source[1][links.is_candidate[1]].tolist()
    assert sources.count(0) == 1
    assert sources[0] == 0


def test_nobody_met():
    assert make_candidates((meeting(4), meeting(4, [0], [1])), 0) is None
    assert make_candidates((meeting(2, [0, 1]),), 0, forbidden=[(0, 1), (1, 0)]) is None
    assert pairs(make_candidates((meeting(4),), 0, required=[(3, 1)])) == {(3, 1)}


@pytest.mark.parametrize("size", [100, LARGEST_GROUP + 100])
def test_large_groups_give_at_most_sixty_candidates(size):
    links = make_candidates((meeting(size, range(size)),), 0)
    count = links.is_candidate.sum(1)
    assert links.is_candidate.shape == (size, MOST_CANDIDATES)
    assert count.max() <= MOST_CANDIDATES
    assert count.min() > 45
    assert all(source != target for source, target in pairs(links))
    again = make_candidates((meeting(size, range(size)),), 0)
    assert torch.equal(links.source, again.source)


def test_order_of_agents_changes_who_is_called_what_and_nothing_else():
    order = torch.tensor([3, 1, 5, 0, 4, 2])  # the agent at place k is called order[k]
    mixed = [Incidence(order[one.agent], one.group, one.weight, 6, one.num_groups) for one in TIMES]
    plain = {(int(order[source]), int(order[target])) for source, target in pairs(make_candidates(TIMES, 0))}
    assert pairs(make_candidates(mixed, 0)) == plain
