import numpy as np
import pytest
import torch

from sphunc.baselines import InfluenceScores, influence_scores
from sphunc.baselines.influence import accumulate, look_up
from sphunc.discovery import discover
from sphunc.errors import ArgumentError, ArgumentTypeError

LINKS = torch.tensor([[0, 1, 2], [1, 0, 0]])


def scores() -> InfluenceScores:
    return InfluenceScores(LINKS, torch.tensor([0.1, 0.3, 0.2]), ("a", "b", "c"), "made up")


def test_strongest_first_with_the_users_ids() -> None:
    assert scores().top(2).rows() == [("b", "a", pytest.approx(0.3)), ("c", "a", pytest.approx(0.2))]
    assert scores().top(np.int64(2)).equals(scores().top(2))
    with pytest.raises(ArgumentTypeError, match="count=True must be a whole number, got bool"):
        scores().top(True)
    assert repr(scores()) == "InfluenceScores(3 agents, 3 links, made up)"


def test_candidates_that_a_system_does_not_score_get_zero() -> None:
    wanted = torch.tensor([[2, 2, 1], [0, 1, 0]])
    assert influence_scores(scores(), wanted).score.tolist() == pytest.approx([0.2, 0.0, 0.3])
    assert look_up(LINKS[:, :0], torch.zeros(0), wanted, 3).tolist() == [0.0, 0.0, 0.0]


def test_repeated_pairs_are_summed() -> None:
    pairs = torch.tensor([[0, 0, 2], [1, 1, 1]])
    assert accumulate(pairs, torch.tensor([1.0, 2.0, 4.0]), LINKS, 3).tolist() == [3.0, 0.0, 0.0]


def test_an_influence_graph_gives_its_probabilities() -> None:
    latents = torch.randn(8, 3, 4, generator=torch.Generator().manual_seed(0))
    graph = discover(torch.nn.functional.normalize(latents, dim=-1), candidates=LINKS)
    read = influence_scores(graph, LINKS)
    by_link = {tuple(link): p for link, p in zip(graph.links.mT.tolist(), graph.probability.tolist(), strict=True)}
    assert read.score.tolist() == pytest.approx([by_link[tuple(link)] for link in LINKS.mT.tolist()])


def test_what_scores_no_links_is_refused() -> None:
    with pytest.raises(ArgumentError, match="influence is a int, which scores no links"):
        influence_scores(3)
    with pytest.raises(ArgumentError, match="3 scores ask for"):
        InfluenceScores(LINKS[:, :2], torch.zeros(3), ("a",), "")
