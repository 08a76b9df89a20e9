"""Which links may exist at all: the candidate list, what a user forbids or requires, and its table per target."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Int, Links
from sphunc.errors import ArgumentError

FEW_SLOTS = 2000
"""Padded columns up to which a batch costs little more than its overhead, however much of them is padding."""


@dataclass(frozen=True, eq=False)
class CandidateLinks:
    """Directed links that may exist, unique and sorted by target, then source.

    Attributes:
        links: ``[2, K]``, row 0 source, row 1 target.
        required: True where the user says that the link exists, ``[K]``.
        num_agents: N.
    """

    links: Tensor
    required: Tensor
    num_agents: int

    @property
    def counts(self) -> Int[Tensor, " agent"]:
        """Candidates per target."""
        return torch.bincount(self.links[1], minlength=self.num_agents)

    def table(self, targets: Int[Tensor, " batch"]) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, "batch slot"]]:
        """Return the sources of each target, and their positions in the link list, padded with -1.

        Args:
            targets: agents whose candidates are wanted.
        """
        counts = self.counts
        starts = torch.cumsum(counts, 0) - counts
        width = int(counts[targets].max()) if len(targets) else 0
        offset = torch.arange(width, device=targets.device)
        position = torch.where(offset < counts[targets, None], starts[targets, None] + offset, -1)
        source = torch.where(position < 0, -1, self.links[0][position.clamp(min=0)])
        return source, position


def candidate_links(
    candidates: Tensor,
    agents: Sequence[Hashable],
    forbidden: Tensor | None = None,
    required: Tensor | None = None,
) -> CandidateLinks:
    """Join candidates and required links, take out the forbidden ones, and sort.

    Args:
        candidates: ``[2, K]`` rows source and target.
        agents: ids, for the messages.
        forbidden: ``[2, K]`` links that do not exist.
        required: ``[2, K]`` links that exist.

    Example:
        >>> candidate_links(torch.tensor([[1, 2, 1], [0, 0, 0]]), range(3)).links.tolist()
        [[1, 2], [0, 0]]
    """
    keys = link_keys(candidates, len(agents), "candidates")
    required_keys = keys[:0]
    forbidden_keys = keys[:0]
    if required is not None:
        required_keys = link_keys(required, len(agents), "required")
    if forbidden is not None:
        forbidden_keys = link_keys(forbidden, len(agents), "forbidden")
    _check_no_contradiction(required_keys, forbidden_keys, agents)
    keys = torch.unique(torch.cat([keys, required_keys]))
    keys = keys[~torch.isin(keys, forbidden_keys)]
    if not keys.numel():
        raise ArgumentError(
            "candidates has no link left to judge (0 links after removing the forbidden ones); "
            "pass pairs (source, target) in candidates, or data whose groups have at least two members"
        )
    links = torch.stack([keys % len(agents), keys // len(agents)])
    return CandidateLinks(links, torch.isin(keys, required_keys), len(agents))


def link_keys(links: Tensor, num_agents: int, name: str) -> Int[Tensor, " link"]:
    """Number every link by target * N + source, after checking that both ends are known and differ.

    Args:
        links: ``[2, K]``, row 0 source, row 1 target.
        num_agents: N.
        name: of the argument, for the error.
    """
    if links.ndim != 2 or links.shape[0] != 2:
        raise ArgumentError(f"{name} has shape {tuple(links.shape)}; give [2, K] with rows source and target")
    bad = (links < 0) | (links >= num_agents)
    if bool(bad.any()):
        row, column = bad.nonzero()[0].tolist()
        raise ArgumentError(
            f"{name}[{row}, {column}] names agent {int(links[row, column])}, but the latents have {num_agents} agents "
            f"(0 ... {num_agents - 1})"
        )
    loops = (links[0] == links[1]).nonzero().flatten()
    if loops.numel():
        raise ArgumentError(
            f"{name}[:, {int(loops[0])}] links agent {int(links[0, loops[0]])} to itself; "
            "an agent's own past is always in the model, leave such pairs out"
        )
    return links[1].long() * num_agents + links[0].long()


def all_pairs(num_agents: int) -> Links:
    """Every ordered pair of different agents, sorted by target, then source."""
    target, source = torch.meshgrid(torch.arange(num_agents), torch.arange(num_agents), indexing="ij")
    differ = (source != target).flatten()
    return torch.stack([source.flatten()[differ], target.flatten()[differ]])


def batches_by_width(
    counts: Int[Tensor, " agent"], targets: Int[Tensor, " target"], slots: int, most: int
) -> list[Int[Tensor, " batch"]]:
    """Split targets into batches of similar numbers of candidates.

    Args:
        counts: candidates of every agent.
        targets: agents to split; those without candidates are left out.
        slots: most padded candidate columns per batch.
        most: most targets per batch.
    """
    order = targets[torch.argsort(counts[targets], stable=True)]
    order = order[counts[order] > 0]
    width = counts[order].tolist()
    batches = []
    start = 0
    for stop in range(1, len(width) + 1):
        if (
            stop == len(width)
            or stop - start >= most
            or (stop + 1 - start) * width[stop] > slots
            or ((stop + 1 - start) * width[stop] > FEW_SLOTS and width[stop] > 1.5 * width[start] + 4)
        ):
            batches.append(order[start:stop])
            start = stop
    return batches


def _check_no_contradiction(required: Tensor, forbidden: Tensor, agents: Sequence[Hashable]) -> None:
    both = required[torch.isin(required, forbidden)]
    if both.numel():
        source = agents[int(both[0]) % len(agents)]
        target = agents[int(both[0]) // len(agents)]
        raise ArgumentError(
            f"link {source} -> {target} is both required and forbidden ({both.numel()} such links); "
            "take it out of one of the two lists"
        )
