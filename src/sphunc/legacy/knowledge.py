"""What a user knows about links: those that cannot exist, and those that do, by the ids of agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import torch

from sphunc._typing import Int, Tensor
from sphunc.causal.posterior import CAP
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph

Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class Knowledge:
    """Links ``(source, target)`` by the ids of agents.

    Attributes:
        forbidden: links that do not exist.
        required: links that exist.
    """

    forbidden: tuple[Pair, ...] = ()
    required: tuple[Pair, ...] = ()

    def links(self, agents: Sequence[Hashable]) -> dict[str, Int[Tensor, "2 link"] | None]:
        """Return both as indices ``[2, K]`` into ``agents``, None where nothing is known of these."""
        position = {agent: i for i, agent in enumerate(agents)}
        return {"forbidden": _placed(self.forbidden, position), "required": _placed(self.required, position)}


def check_knowledge(data: TemporalHypergraph, forbidden: object, required: object, *, scm: bool = True) -> Knowledge:
    """Take links of the agents of ``data``, each once; refuse what cannot be.

    Args:
        data: to learn from.
        forbidden: links that do not exist, as pairs (source, target).
        required: links that exist.
        scm: whether links act at all.
    """
    known = Knowledge(_pairs("forbidden", forbidden, data), _pairs("required", required, data))
    both = [pair for pair in known.required if pair in set(known.forbidden)]
    if both:
        raise ArgumentError(
            f"the link {both[0]!r} is both forbidden and required ({len(both)} such links); take it out of one of them"
        )
    if known.required and not scm:
        raise ArgumentError("required names links, but scm is False, so that none acts; leave one of them out")
    target, count = Counter(pair[1] for pair in known.required).most_common(1)[0] if known.required else (None, 0)
    if count > CAP:
        raise ArgumentError(
            f"required names {count} sources of agent {target!r}; at most {CAP} of one target are taken"
        )
    return known


def _pairs(name: str, given: object, data: TemporalHypergraph) -> tuple[Pair, ...]:
    if given is None:
        return ()
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ArgumentTypeError(f"{name}={given!r} must be pairs (source, target) of ids, such as [('a01', 'a02')]")
    own = {agent: agent for agent in data.node_ids}
    return tuple(dict.fromkeys(_pair(name, one, own) for one in given))


def _pair(name: str, one: object, own: dict[Hashable, Hashable]) -> Pair:
    if not isinstance(one, tuple | list) or len(one) != 2:
        raise ArgumentTypeError(f"{name} has {one!r}; give pairs (source, target) of ids, such as [('a01', 'a02')]")
    source, target = one
    for agent in (source, target):
        if not isinstance(agent, Hashable) or agent not in own:
            some = ", ".join(repr(known) for known in list(own)[:3])
            raise ArgumentError(
                f"{name} has the link {(source, target)!r}, but {agent!r} is no agent of the data; its {len(own)} "
                f"agents begin {some}"
            )
    if source == target:
        raise ArgumentError(
            f"{name} links agent {source!r} to itself; its own past always counts, leave such pairs out"
        )
    return own[source], own[target]


def _placed(pairs: tuple[Pair, ...], position: dict[Hashable, int]) -> Tensor | None:
    there = [(position[s], position[t]) for s, t in pairs if s in position and t in position]
    return torch.tensor(there).mT if there else None
