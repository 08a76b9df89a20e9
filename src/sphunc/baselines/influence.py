"""Who influences whom, as a score per candidate link: the form in which systems are compared."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import polars as pl
import torch
from torch import Tensor

from sphunc._checks import whole_number
from sphunc._typing import Float, Int, Links, Whole
from sphunc.errors import ArgumentError

PROBABILITY = "probability of the link"
"""The one kind of score that claims more than an order."""


@runtime_checkable
class LinkProbabilities(Protocol):
    """Anything that gives links a probability, such as an :class:`~sphunc.InfluenceGraph`."""

    links: Tensor
    probability: Tensor
    agents: tuple[Hashable, ...]


@runtime_checkable
class HasInfluence(Protocol):
    """A fitted forecaster that says who influences whom."""

    def influence(self) -> object:
        """Return scores or probabilities of links."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceScores:
    """A score per directed link; only their order means something, unless ``kind`` says more.

    Attributes:
        links: ``[2, K]``, row 0 source, row 1 target.
        score: ``[K]``, larger is stronger.
        agents: the user's ids, N of them.
        kind: what the score is, in a few words.
        directed: False when both directions of a pair have the same score by construction.
    """

    links: Tensor
    score: Tensor
    agents: tuple[Hashable, ...]
    kind: str
    directed: bool = True

    def __post_init__(self) -> None:
        shape = tuple(self.links.shape)
        if shape != (2, len(self.score)):
            raise ArgumentError(f"links has shape {shape}; {len(self.score)} scores ask for [2, K]")

    def top(self, count: Whole = 10) -> pl.DataFrame:
        """The ``count`` strongest links."""
        return self.to_frame().head(whole_number("count", count, least=1))

    def to_frame(self) -> pl.DataFrame:
        """All links, the strongest first: source, target, score."""
        order = torch.argsort(self.score, descending=True, stable=True)
        source, target = self.links[:, order].tolist()
        columns = {
            "source": [self.agents[k] for k in source],
            "target": [self.agents[k] for k in target],
            "score": self.score[order].tolist(),
        }
        return pl.DataFrame(columns, strict=False)

    def __repr__(self) -> str:
        return f"InfluenceScores({len(self.agents)} agents, {len(self.score)} links, {self.kind})"


def influence_scores(influence: object, candidates: Links | None = None) -> InfluenceScores:
    """Read what a forecaster says about influence, on shared candidates.

    Args:
        influence: an :class:`InfluenceScores`, an :class:`~sphunc.InfluenceGraph` (its
            probabilities are the scores), or a fitted forecaster that has ``influence()``.
        candidates: ``[2, K]`` links to score; a link that the system does not score gets 0. None
            keeps its own.
    """
    found = influence
    if isinstance(influence, HasInfluence):
        found = influence.influence()
    if isinstance(found, LinkProbabilities):
        found = InfluenceScores(found.links, found.probability, found.agents, PROBABILITY)
    if not isinstance(found, InfluenceScores):
        raise ArgumentError(
            f"influence is a {type(influence).__name__}, which scores no links; give a forecaster "
            "with influence(), its result, or use attribute(model, data), which works on every "
            "forecaster"
        )
    if candidates is None:
        return found
    score = look_up(found.links, found.score, candidates, len(found.agents))
    return InfluenceScores(candidates, score, found.agents, found.kind, found.directed)


def look_up(
    links: Links, score: Float[Tensor, " link"], wanted: Int[Tensor, "2 wanted"], num_agents: int
) -> Float[Tensor, " wanted"]:
    """Return the score of each wanted link, 0 where it has none.

    Args:
        links: scored links, each once.
        score: of these links.
        wanted: links to look up.
        num_agents: N.
    """
    result = score.new_zeros(wanted.shape[1])
    if not links.shape[1] or not wanted.shape[1]:
        return result
    keys, order = _keys(links, num_agents).sort()
    asked = _keys(wanted, num_agents)
    place = torch.searchsorted(keys, asked).clamp(max=len(keys) - 1)
    return torch.where(keys[place] == asked, score[order[place]], result)


def accumulate(
    pairs: Int[Tensor, "2 pair"], weight: Float[Tensor, " pair"], candidates: Links, num_agents: int
) -> Float[Tensor, " link"]:
    """Sum the weights of repeated pairs, and return the sums on the candidates.

    Args:
        pairs: source and target, in any order and number.
        weight: of each pair.
        candidates: links, source and target.
        num_agents: N.
    """
    keys, place = torch.unique(_keys(pairs, num_agents), return_inverse=True)
    total = weight.new_zeros(len(keys)).index_add(0, place, weight)
    unique = torch.stack([keys // num_agents, keys % num_agents])
    return look_up(unique, total, candidates, num_agents)


def _keys(links: Tensor, num_agents: int) -> Int[Tensor, " link"]:
    return links[0].long() * num_agents + links[1].long()
