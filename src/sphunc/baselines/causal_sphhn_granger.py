r"""The Granger mask of Causal-SphHN: who is heard across time, decided once before training.

For each candidate j of a target i, the F test of :math:`b` in :math:`z_{i,t+1} = c_i + a z_{i,t} + b z_{j,t}`, pooled
over the leading principal components z of the features, whitened; then Benjamini and Hochberg's choice.
"""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b

import torch

from sphunc._typing import Bool, Float, Int, Links, Tensor
from sphunc.causal.peers import false_discovery, granger

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
    return granger(z.cpu(), candidates.cpu(), conditional=False)[1].to(x.device)


def granger_mask(p_value: Float[Tensor, " link"], rate: float) -> Bool[Tensor, " link"]:
    """Links of the mask, at a false discovery rate."""
    if not len(p_value):
        return torch.zeros(0, dtype=torch.bool, device=p_value.device)
    return false_discovery(p_value.cpu(), rate).to(p_value.device)


def digests(agents: tuple[Hashable, ...]) -> Int[Tensor, " agent"]:
    """A number of 63 bits per id, the same in every process, by which agents are found again in other data.

    7 and "7" are two agents; 7 and numpy's 7 are one.
    """
    return torch.tensor([_digest(agent) for agent in agents], dtype=torch.long)


def _digest(agent: Hashable) -> int:
    text = f"{isinstance(agent, str)} {agent}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def place_links(links: Links, agents: Int[Tensor, " agent"]) -> Int[Tensor, "2 placed"]:
    """Turn links between digests into links between positions in ``agents``; links of absent agents are left out."""
    if not len(agents):
        return links[:, :0]
    known, order = agents.sort()
    place = torch.searchsorted(known, links).clamp(max=len(known) - 1)
    there = (known[place] == links).all(0)
    return order[place][:, there]
