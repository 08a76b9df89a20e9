r"""The Granger mask of Causal-SphHN: who is heard across time, decided once before training.

For each candidate j of a target i, the F test of :math:`b` in :math:`z_{i,t+1} = c_i + a z_{i,t} + b z_{j,t}`, pooled
over the leading principal components z of the features, whitened; then the rate of false discoveries (Benjamini and
Hochberg) at which each link would just be chosen: :math:`q_{(k)} = \min_{l \ge k} p_{(l)} K / l`.
"""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b

import torch

from sphunc._typing import Bool, Float, Int, Links, Tensor
from sphunc.baselines.links.granger import pairwise_granger

COMPONENTS = 8
FEWEST_TIMES = 4


def leading_components(x: Float[Tensor, "time agent feature"]) -> Float[Tensor, "time agent component"]:
    """At most 8 principal components of the features, each of variance 1, in float64."""
    rows = x.double().flatten(0, 1)
    rows = rows - rows.mean(0)
    values, vectors = torch.linalg.eigh(rows.T @ rows / max(len(rows), 1))
    carries = values > values[-1].clamp(min=torch.finfo(x.dtype).tiny) * torch.finfo(x.dtype).eps
    values, vectors = values[carries].flip(0)[:COMPONENTS], vectors[:, carries].flip(1)[:, :COMPONENTS]
    return (rows @ vectors / values.sqrt()).view(*x.shape[:2], -1)


def granger_p_values(x: Float[Tensor, "time agent feature"], candidates: Links) -> Float[Tensor, " link"]:
    """p-value of each candidate link; 1 where there are fewer than 4 times or the features do not vary."""
    z = leading_components(x)
    if not candidates.shape[1] or len(z) < FEWEST_TIMES or not z.shape[2]:
        return torch.ones(candidates.shape[1], dtype=torch.double, device=x.device)
    return pairwise_granger(z.cpu(), candidates.cpu())[1].to(x.device)


def discovery_rates(p_value: Float[Tensor, " link"]) -> Float[Tensor, " link"]:
    """Return the least rate at which Benjamini and Hochberg choose each link."""
    order = torch.argsort(p_value)
    rank = torch.arange(1, len(p_value) + 1, dtype=p_value.dtype, device=p_value.device)
    stepped = (p_value[order] * len(p_value) / rank).flip(0)
    return torch.empty_like(p_value).index_copy(0, order, stepped.cummin(0).values.flip(0))


def digests(agents: tuple[Hashable, ...]) -> Int[Tensor, " agent"]:
    """A number of 63 bits per id, the same in every process, by which agents are found again in other data.

    7 and "7" are two agents; 7 and numpy's 7 are one.
    """
    return torch.tensor([_digest(agent) for agent in agents], dtype=torch.long)


def _digest(agent: Hashable) -> int:
    text = f"{isinstance(agent, str)} {agent}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def place_links(links: Links, agents: Int[Tensor, " agent"]) -> tuple[Int[Tensor, "2 placed"], Bool[Tensor, " link"]]:
    """Turn links between digests into links between positions in ``agents``; links of absent agents are left out.

    Returns:
        The links that could be placed, and which of ``links`` these are.
    """
    if not len(agents):
        return links[:, :0], torch.zeros(links.shape[1], dtype=torch.bool, device=links.device)
    known, order = agents.sort()
    place = torch.searchsorted(known, links).clamp(max=len(known) - 1)
    there = (known[place] == links).all(0)
    return order[place][:, there], there
