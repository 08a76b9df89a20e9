"""Links that act in place of those that a model learned: known ones, or none at all."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sphunc._typing import Links
from sphunc.causal.action import some_names
from sphunc.causal.interventions import plain_scalar
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph

HOW = "make it with sphunc.known_links(links, strengths, data), or sphunc.no_links()"


@dataclass(frozen=True, eq=False)
class Scenario:
    """Links that act, in place of those that the model learned; made by :func:`known_links` and :func:`no_links`.

    Attributes:
        links: ``[2, K]`` source and target, indices into the agents of the data.
        strengths: of each structure ``[Q, K]``.
        gates: what acts in the forecast, their mean or nearly so ``[K]``.
        order: structures by the strata of each agent's parents that they come from ``[Q, N]``; None if they have none.
    """

    links: Links
    strengths: Tensor
    gates: Tensor
    order: Tensor | None = None

    @property
    def is_single_draw(self) -> bool:
        """True for one structure out of those that may be: nothing shows what not knowing which one it is adds."""
        return len(self.strengths) == 1 and self.order is not None


def known_links(links: Any, strengths: Any, data: TemporalHypergraph | None = None) -> Scenario:
    """Return the scenario of one structure that is known.

    Args:
        links: with ``data``, pairs (source, target) of ids; without, indices into the agents of the data ``[2, K]``,
            as those of ``model.influence()`` and of simulated worlds.
        strengths: of each link ``[K]``, in units of those that a model learns, ``model.influence().to_frame()``.
        data: whose ids the pairs name; the same that the question is asked of.

    Example:
        >>> import sphunc
        >>> data = sphunc.simulate("snare", agents=40, times=5, seed=0).data
        >>> sphunc.known_links([("a00", "a07")], [0.5], data).links.tolist()
        [[0], [7]]
    """
    placed = _indices(links) if data is None else _named(links, data.node_ids)
    values = _strengths(strengths, placed.shape[1])
    scenario = Scenario(placed, values.unsqueeze(0), values)
    _check_links(scenario)
    return scenario


def no_links() -> Scenario:
    """Return the scenario in which nobody influences anybody, other than by groups."""
    return known_links(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0))


def check_scenario(scenario: Any, agents: int) -> None:
    """Refuse a scenario that does not fit data with so many agents."""
    if not isinstance(scenario, Scenario):
        raise ArgumentTypeError(f"scenario must be a Scenario, got {type(scenario).__name__}; {HOW}")
    K, Q = scenario.links.shape[1], len(scenario.strengths)
    if scenario.strengths.shape != (Q, K) or scenario.gates.shape != (K,) or not Q:
        shapes = f"{tuple(scenario.strengths.shape)} and gates {tuple(scenario.gates.shape)}"
        raise ArgumentError(f"scenario has {K} links, but strengths of shape {shapes}; {HOW}")
    _check_links(scenario)
    if K and not 0 <= int(scenario.links.min()) <= int(scenario.links.max()) < agents:
        wrong = int(scenario.links.max() if int(scenario.links.min()) >= 0 else scenario.links.min())
        raise ArgumentError(
            f"scenario links agent {wrong}, but the data have {agents} agents, 0 to {agents - 1}; name agents by their "
            "ids: sphunc.known_links([(source, target)], strengths, data)"
        )


def _check_links(scenario: Scenario) -> None:
    if not bool(scenario.strengths.isfinite().all()):
        raise ArgumentError("strengths has an entry that is not finite; give a number for every link")
    pairs = [tuple(pair) for pair in scenario.links.T.tolist()]
    if len(set(pairs)) < len(pairs):
        twice = next(pair for pair in pairs if pairs.count(pair) > 1)
        raise ArgumentError(f"links has {twice} twice, as indices of source and target; give every link one strength")


def _indices(links: Any) -> Tensor:
    try:
        placed = torch.as_tensor(links).cpu()
    except (TypeError, ValueError, RuntimeError):
        placed = torch.zeros(0)
    if placed.ndim != 2 or len(placed) != 2 or placed.is_floating_point() or placed.dtype == torch.bool:
        raise ArgumentTypeError(
            "links must be indices [2, K] of sources and targets; to name agents by their ids, write "
            "known_links([(source, target), ...], strengths, data)"
        )
    return placed.long()


def _named(links: Any, agents: tuple[Hashable, ...]) -> Tensor:
    place = {agent: index for index, agent in enumerate(agents)}
    pairs = list(links) if isinstance(links, Iterable) and not isinstance(links, str | bytes | Mapping) else [links]
    placed = [[_placed(end, place) for end in _ends(pair)] for pair in pairs]
    return torch.tensor(placed, dtype=torch.long).reshape(-1, 2).T


def _ends(pair: Any) -> Iterable[Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ArgumentTypeError(f"links has {pair!r}; with data, give pairs of ids: [(source, target), ...]")
    return pair


def _placed(agent: Any, place: Mapping[Hashable, int]) -> int:
    agent = plain_scalar(agent)
    if not isinstance(agent, Hashable) or agent not in place:
        raise ArgumentError(f"links names agent {agent!r}, which is not in the data; it has {some_names(list(place))}")
    return place[agent]


def _strengths(strengths: Any, links: int) -> Tensor:
    try:
        values = torch.as_tensor(strengths, dtype=torch.float32).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentTypeError(f"strengths must be numbers, one per link; got {strengths!r}") from None
    if values.shape != (links,):
        raise ArgumentError(
            f"strengths has shape {tuple(values.shape)} for {links} links; give a number for every link"
        )
    return values
