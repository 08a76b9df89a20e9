"""xgi hypergraphs both ways: time in the edge attribute ``timestamp``, weights in ``incidence_weights``."""

from __future__ import annotations

from typing import Any

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.extras import load_extra
from sphunc.io.formats.hif import from_hif, to_hif
from sphunc.io.formats.hif_schema import Record

WEIGHTS = "incidence_weights"
XgiHypergraph = Any
"""An ``xgi.Hypergraph``; xgi is optional and has no types."""


def to_xgi(data: TemporalHypergraph) -> XgiHypergraph:
    """Return an ``xgi.Hypergraph`` with every group as an edge; :func:`from_xgi` gives ``data`` back."""
    xgi = load_extra("xgi", "xgi")
    content = to_hif(data)
    hypergraph = xgi.Hypergraph()
    for record in content["nodes"]:
        hypergraph.add_node(record["node"], **record.get("attrs", {}))
    incidences: dict[int | str, list[Record]] = {record["edge"]: [] for record in content["edges"]}
    for record in content["incidences"]:
        incidences[record["edge"]].append(record)
    for record in content["edges"]:
        edge = record["edge"]
        attrs = dict(record["attrs"])
        members = [row["node"] for row in incidences[edge]]
        weights = [[row["node"], row["weight"]] for row in incidences[edge] if "weight" in row]
        if weights:
            attrs[WEIGHTS] = weights
        hypergraph.add_edge(members, idx=edge, **attrs)
    for key, value in content["metadata"].items():
        hypergraph[key] = value
    return hypergraph


def from_xgi(hypergraph: XgiHypergraph) -> TemporalHypergraph:
    """Build the data object from an ``xgi.Hypergraph``; times are read as :func:`sphunc.read_hif` does."""
    load_extra("xgi", "xgi")
    edges = []
    incidences = []
    for edge in hypergraph.edges:
        attrs = dict(hypergraph.edges[edge])
        weights = dict(attrs.pop(WEIGHTS, []))
        edges.append({"edge": edge, "attrs": attrs})
        for node in hypergraph.edges.members(edge):
            record = {"edge": edge, "node": node}
            if node in weights:
                record["weight"] = weights[node]
            incidences.append(record)
    content = {
        "metadata": dict(hypergraph._net_attr),  # the only way to all of them at once
        "nodes": [{"node": node, "attrs": dict(hypergraph.nodes[node])} for node in hypergraph.nodes],
        "edges": edges,
        "incidences": incidences,
    }
    return from_hif(content, "xgi")
