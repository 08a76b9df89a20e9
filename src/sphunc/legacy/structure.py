"""The influence structure that acts in forecasts: learned from features, placed on the agents of any data by id."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from sphunc._typing import Bool, Float, Links, Tensor
from sphunc.causal import InfluenceGraph, discover
from sphunc.causal.inputs import SHORTEST
from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph, comembers
from sphunc.legacy.knowledge import Knowledge
from sphunc.legacy.signal import lasting_components

GRAPH_TENSORS = (
    "links",
    "probability",
    "raw_probability",
    "strength",
    "deviation",
    "lag",
    "most_probable",
    "entropy",
    "prior_entropy",
    "best_mass",
    "draws",
    "bits",
)


WHY_NONE = (
    "fewer than 3 times, a single agent, no group of two, nobody who is seen at two times, nothing that changes, or no "
    "link that is not forbidden"
)
"""What leaves a structure empty."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Links with their gates, and the posterior they come from.

    Attributes:
        links: ``[2, K]`` source and target.
        gates: posterior mean of each coefficient ``[K]``: probability (as enumerated) times strength, 0 at a
            lag above 1.
        graph: the posterior; None where no structure can be learned.
    """

    links: Tensor
    gates: Tensor
    graph: InfluenceGraph | None

    @property
    def confidence(self) -> float:
        """Identification confidence, 0 without a structure."""
        return 0.0 if self.graph is None else self.graph.confidence


def no_structure(device: torch.device | str = "cpu") -> Structure:
    """Return the structure without links."""
    links = torch.zeros(2, 0, dtype=torch.long, device=device)
    return Structure(links, torch.zeros(0, device=device), None)


def learn_structure(
    projected: Float[Tensor, "time agent dim"],
    data: TemporalHypergraph,
    *,
    max_lag: int | None,
    seed: int,
    calibrate: bool = False,
    diagnose: bool = False,
    knowledge: Knowledge | None = None,
) -> Structure:
    """Posterior over links from the projected features of the times in ``data``; none when there is too little to see.

    Fewer than 3 times, a single agent, no group of two, nobody seen twice, or states that never change leave the
    structure empty; so does ``knowledge`` that forbids all links. Links that it requires need no group.
    """
    told = {} if knowledge is None else knowledge.links(data.node_ids)
    told = {name: links.to(projected.device) for name, links in told.items() if links is not None}
    too_little = projected.shape[0] < SHORTEST or projected.shape[1] < 2
    if too_little or not _has_candidates(data, told):
        return no_structure(projected.device)
    try:
        graph = discover(
            lasting_components(projected.detach().double(), data.present.to(projected.device)),
            data=data,
            max_lag=max_lag,
            message_map="weigh",
            seed=seed,
            calibrate=calibrate,
            diagnose=diagnose,
            forbidden=told.get("forbidden"),
            required=told.get("required"),
        )
    except DataError:  # states that never change: nothing to explain, hence nothing to learn
        return no_structure(projected.device)
    return of_graph(graph, projected.dtype)


def _has_candidates(data: TemporalHypergraph, told: Mapping[str, Tensor]) -> bool:
    if "required" in told:
        return True
    if "forbidden" not in told:
        return bool((data.hyperedge_size > 1).any())
    forbidden = set(map(tuple, told["forbidden"].mT.tolist()))
    return any(pair not in forbidden for pair in map(tuple, comembers(data).mT.tolist()))


def of_graph(graph: InfluenceGraph, dtype: torch.dtype = torch.float32) -> Structure:
    """Return the structure whose gates are the posterior means of the graph's coefficients.

    Gates stay those of the enumeration when probabilities are calibrated: the network was trained with such gates.
    They are 0 at a lag above 1, which the step does not act with, and the graph's notes say so.
    """
    gates = torch.where(acts(graph), graph.raw_probability * graph.strength, 0.0)
    return Structure(graph.links, gates.to(dtype), _with_note(graph))


def acts(graph: InfluenceGraph) -> Bool[Tensor, " link"]:
    """True for links from yesterday to today, the only ones that the structural step acts with."""
    return graph.lag <= 1


def _with_note(graph: InfluenceGraph) -> InfluenceGraph:
    late = ~acts(graph)
    found = int((late & (graph.probability > 0.5)).sum())
    note = (
        f"{int(late.sum())} candidate links, {found} of them above probability 0.5, are at a lag above 1: forecasts "
        "and what-if answers act with yesterday only, and leave them out (max_lag=1 looks for links that act)"
    )
    has_to_say = bool(late.any()) and note not in graph.notes
    return replace(graph, notes=(*graph.notes, note)) if has_to_say else graph


def place(structure: Structure, known: Sequence[Hashable], agents: Sequence[Hashable]) -> tuple[Links, Tensor]:
    """Links and gates on other agents: matched by id; links of agents who are not there are left out.

    Args:
        structure: over the agents ``known``.
        known: ids that the structure was learned on.
        agents: ids of the data to forecast; new ones have no links.
    """
    if tuple(known) == tuple(agents):
        return structure.links, structure.gates
    _warn_of_other_types(structure, known, agents)
    position = {agent: i for i, agent in enumerate(agents)}
    table = torch.tensor([position.get(agent, -1) for agent in known], dtype=torch.long, device=structure.links.device)
    moved = table[structure.links] if len(known) else structure.links
    there = (moved >= 0).all(0)
    return moved[:, there], structure.gates[there]


def _warn_of_other_types(structure: Structure, known: Sequence[Hashable], agents: Sequence[Hashable]) -> None:
    """Say so when links are lost because the same ids came as numbers here and as text there."""
    learned_ids, given_ids = set(known), set(agents)
    if not structure.links.numel() or learned_ids == given_ids:
        return
    written = {str(agent): agent for agent in known if agent not in given_ids}
    new = [agent for agent in agents if agent not in learned_ids]
    same = [(written[str(agent)], agent) for agent in new if str(agent) in written]
    if same:
        learned, given = same[0]
        warnings.warn(
            f"{len(new)} of the {len(agents)} agents of the data are not known, so that they have no learned links; "
            f"{len(same)} of them would be known if ids had the type they were learned with, such as {learned!r} "
            f"({type(learned).__name__}) for {given!r} ({type(given).__name__}); read both data with ids of one type",
            UserWarning,
            stacklevel=4,
        )


def structure_state(structure: Structure) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return a structure as a JSON document and tensors; agent ids are not among them."""
    tensors = {"links": structure.links, "gates": structure.gates}
    if structure.graph is None:
        return {"graph": None}, tensors
    graph = structure.graph
    tensors |= {f"graph.{name}": getattr(graph, name) for name in GRAPH_TENSORS}
    words = {
        "calibrated": graph.calibrated,
        "fit": {key: float(value) for key, value in graph.fit.items()},
        "diagnostics": {key: float(value) for key, value in graph.diagnostics.items()},
        "notes": list(graph.notes),
    }
    return {"graph": words}, tensors


def structure_from(
    document: Mapping[str, Any], tensors: Mapping[str, Tensor], agents: tuple[Hashable, ...], device: torch.device | str
) -> Structure:
    """Return the structure of :func:`structure_state` over ``agents``."""
    words = document["graph"]
    graph = None
    if words is not None:
        values = {name: tensors[f"graph.{name}"].to(device) for name in GRAPH_TENSORS}
        graph = InfluenceGraph(agents=agents, **values, **{**words, "notes": tuple(words["notes"])})
    return Structure(tensors["links"].to(device), tensors["gates"].to(device), graph)
