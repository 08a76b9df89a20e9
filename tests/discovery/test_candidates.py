import pytest
import torch

from sphunc.discovery.candidates import all_pairs, batches_by_width, candidate_links, link_keys
from sphunc.errors import ArgumentError


def test_links_are_unique_sorted_by_target_and_without_forbidden_ones():
    given = torch.tensor([[2, 1, 1, 0], [0, 0, 0, 1]])
    links = candidate_links(given, range(3), forbidden=torch.tensor([[2], [0]]), required=torch.tensor([[2], [1]]))
    assert links.links.tolist() == [[1, 0, 2], [0, 1, 1]]
    assert links.required.tolist() == [False, False, True]
    assert links.counts.tolist() == [1, 2, 0]


def test_table_is_padded_with_minus_one():
    links = candidate_links(torch.tensor([[1, 2, 0], [0, 0, 1]]), range(3))
    sources, position = links.table(torch.tensor([0, 1]))
    assert sources.tolist() == [[1, 2], [0, -1]]
    assert position.tolist() == [[0, 1], [2, -1]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (torch.zeros(3, 2, dtype=torch.long), r"candidates has shape \(3, 2\)"),
        (torch.tensor([[5], [0]]), r"candidates\[0, 0\] names agent 5"),
        (torch.tensor([[1], [1]]), "links agent 1 to itself"),
    ],
)
def test_bad_links_are_named(given, words):
    with pytest.raises(ArgumentError, match=words):
        link_keys(given, 3, "candidates")


def test_contradictions_name_ids():
    pair = torch.tensor([[0], [1]])
    with pytest.raises(ArgumentError, match="link ann -> bob is both required and forbidden"):
        candidate_links(pair, ("ann", "bob"), forbidden=pair, required=pair)


def test_nothing_left_is_refused():
    pair = torch.tensor([[0], [1]])
    with pytest.raises(ArgumentError, match="no link left"):
        candidate_links(pair, range(2), forbidden=pair)


def test_all_pairs_has_every_pair_once():
    pairs = all_pairs(4)
    assert pairs.shape == (2, 12)
    assert len({tuple(pair) for pair in pairs.T.tolist()}) == 12
    assert bool((pairs[0] != pairs[1]).all())


def test_batches_hold_every_target_once_within_the_budget():
    counts = torch.tensor([0, 3, 50, 2, 3, 40, 7])
    batches = batches_by_width(counts, torch.arange(7), slots=60, most=2)
    assert sorted(torch.cat(batches).tolist()) == [1, 2, 3, 4, 5, 6]
    assert all(len(batch) <= 2 for batch in batches)
    assert all(len(batch) == 1 or len(batch) * int(counts[batch].max()) <= 60 for batch in batches)
