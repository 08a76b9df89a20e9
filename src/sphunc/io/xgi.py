"""xgi hypergraphs both ways: time in the edge attribute ``timestamp``, weights in ``incidence_weights``."""

from __future__ import annotations

from typing import Any

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.extras import load_extra
from sphunc.io.faults import FaultLog
from sphunc.io.hif import from_hif, to_hif
from sphunc.io.hif_schema import check_hif

WEIGHTS = "incidence_weights"


def to_xgi(data: TemporalHypergraph) -> Any:
    """Return an ``xgi.Hypergraph`` with every group as an edge; :func:`from_xgi` gives ``data`` back."""
    xgi = load_extra("xgi", "xgi")
    content = to_hif(data)
    weights: dict[Any, dict[Any, float]] = {}
    hypergraph = xgi.Hypergraph()
    for record in content["nodes"]:
        hypergraph.add_node(record["node"], **record.get("attrs", {}))
    members: dict[Any, list[Any]] = {record["edge"]: [] for record in content["edges"]}
    for record in content["incidences"]:
        members[record["edge"]].append(record["node"])
        if "weight" in record:
            weights.setdefault(record["edge"], {})[record["node"]] = record["weight"]
    for record in content["edges"]:
        edge = record["edge"]
        extra = {WEIGHTS: [list(pair) for pair in weights[edge].items()]} if edge in weights else {}
        hypergraph.add_edge(members[edge], idx=edge, **record["attrs"], **extra)
    for key, value in content["metadata"].items():
        hypergraph[key] = value
    return hypergraph


def from_xgi(hypergraph: Any) -> TemporalHypergraph:
    """Build the data object from an ``xgi.Hypergraph``; times are read as :func:`sphunc.read_hif` does."""
    load_extra("xgi", "xgi")
    content = {
        "metadata": dict(hypergraph._net_attr),  # the only way to all of them at once
        "nodes": [{"node": node, "attrs": dict(hypergraph.nodes[node])} for node in hypergraph.nodes],
        "edges": [{"edge": edge, "attrs": _attrs(hypergraph.edges[edge])} for edge in hypergraph.edges],
        "incidences": [record for edge in hypergraph.edges for record in _incidences(hypergraph, edge)],
    }
    log = FaultLog()
    check_hif(content, "xgi", log)
    log.raise_if_any()
    return from_hif(content, "xgi")


def _attrs(attrs: Any) -> dict[str, Any]:
    return {key: value for key, value in attrs.items() if key != WEIGHTS}


def _incidences(hypergraph: Any, edge: Any) -> list[dict[str, Any]]:
    weights = dict(hypergraph.edges[edge].get(WEIGHTS, []))
    return [
        {"edge": edge, "node": node, **({"weight": weights[node]} if node in weights else {})}
        for node in hypergraph.edges.members(edge)
    ]
