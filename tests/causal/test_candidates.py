import pytest
import torch

from sphunc.causal.candidates import all_pairs, batches_by_width, candidate_links
from sphunc.errors import ArgumentError

PAIRS = torch.tensor([[1, 2, 1, 0], [0, 0, 0, 2]])


def test_links_are_unique_and_sorted_by_target():
    links = candidate_links(PAIRS, 3, required=torch.tensor([[0], [1]]))
    assert links.links.tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    assert links.required.tolist() == [False, False, True, False]


def test_table_pads_with_minus_one():
    source, position = candidate_links(PAIRS, 3).table(torch.tensor([0, 2, 1]))
    assert source.tolist() == [[1, 2], [0, -1], [-1, -1]]
    assert position.tolist() == [[0, 1], [2, -1], [-1, -1]]


def test_batches_cover_agents_with_candidates_once():
    counts = torch.tensor([3, 0, 50, 4, 3, 60])
    found = torch.cat(batches_by_width(counts, 100))
    assert sorted(found.tolist()) == [0, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"candidates": torch.tensor([[7], [0]])}, r"candidates\[0, 0\] names agent 7, but the latents have 3 agents"),
        ({"candidates": torch.tensor([[1], [1]])}, "links agent 1 to itself"),
        ({"candidates": torch.zeros(3, 2, dtype=torch.long)}, r"candidates has shape \(3, 2\)"),
        ({"candidates": PAIRS, "forbidden": PAIRS}, "candidates has no link left"),
        ({"candidates": PAIRS, "forbidden": PAIRS, "required": PAIRS[:, :1]}, "1 -> 0 is both required and forbidden"),
        ({"candidates": PAIRS, "required": torch.tensor([[0], [9]])}, r"required\[1, 0\] names agent 9"),
    ],
)
def test_bad_lists_are_refused(given, message):
    with pytest.raises(ArgumentError, match=message):
        candidate_links(num_agents=3, **given)


def test_all_pairs_have_no_loops():
    pairs = all_pairs(4)
    assert pairs.shape == (2, 12)
    assert bool((pairs[0] != pairs[1]).all())
