"""hypergraphx ``TemporalHypergraph`` both ways: its time is the index of ours, the rest is metadata.

hypergraphx identifies a group by its members: groups that meet at the same time with the same members become one edge
there, whose metadata lists them all, and empty groups live in the metadata of the hypergraph.
"""

from __future__ import annotations

from typing import Any

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.extras import load_extra
from sphunc.io.formats.hif import from_hif, to_hif
from sphunc.io.formats.hif_schema import Record

HgxHypergraph = Any
"""A ``hypergraphx.TemporalHypergraph``; hypergraphx is optional and has no types."""


def to_hgx(data: TemporalHypergraph) -> HgxHypergraph:
    """Return a ``hypergraphx.TemporalHypergraph``; :func:`from_hgx` gives ``data`` back."""
    hgx = load_extra("hypergraphx", "hgx")
    content = to_hif(data)
    groups = {record["edge"]: {**record, "incidences": []} for record in content["edges"]}
    for record in content["incidences"]:
        groups[record["edge"]]["incidences"].append(record)

    meetings: dict[tuple[int, tuple[int | str, ...]], list[Record]] = {}
    for group, t in zip(groups.values(), data.hyperedge_time.tolist(), strict=True):
        members = tuple(record["node"] for record in group["incidences"])
        meetings.setdefault((t, members), []).append(group)
    empty = [group for group in groups.values() if not group["incidences"]]
    metadata = {"hif": content["metadata"], "empty": empty, "order": list(groups)}
    hypergraph = hgx.TemporalHypergraph(weighted=True, hypergraph_metadata=metadata)
    for record in content["nodes"]:
        hypergraph.add_node(record["node"], metadata=record.get("attrs", {}))
    for (t, members), together in meetings.items():
        if members:
            hypergraph.add_edge(members, t, metadata={"groups": together})
    return hypergraph


def from_hgx(hypergraph: HgxHypergraph) -> TemporalHypergraph:
    """Build the data object from a ``hypergraphx.TemporalHypergraph``; its integer times stay as they are."""
    load_extra("hypergraphx", "hgx")
    metadata = hypergraph.get_hypergraph_metadata()
    groups: list[Record] = list(metadata.get("empty", []))
    for i, (t, members) in enumerate(hypergraph.get_edges()):
        together = hypergraph.get_edge_metadata(members, t).get("groups")
        if not together:  # made by somebody else: the edge is a group without a name
            incidences = [{"edge": i, "node": node} for node in members]
            together = [{"edge": i, "attrs": {"timestamp": t}, "incidences": incidences}]
        groups += together
    order = {edge: i for i, edge in enumerate(metadata.get("order", []))}
    groups.sort(key=lambda group: order.get(group["edge"], len(order)))
    content = {
        "metadata": metadata.get("hif", {}),
        "nodes": [{"node": node, "attrs": hypergraph.get_node_metadata(node)} for node in hypergraph.get_nodes()],
        "edges": [{key: value for key, value in group.items() if key != "incidences"} for group in groups],
        "incidences": [record for group in groups for record in group["incidences"]],
    }
    return from_hif(content, "hypergraphx")
