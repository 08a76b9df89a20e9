"""hypergraphx ``TemporalHypergraph`` both ways: its time is the index of ours, the rest is metadata.

hypergraphx identifies a group by its members: groups that meet at the same time with the same members become one edge
there, whose metadata lists them all, and empty groups live in the metadata of the hypergraph.
"""

from __future__ import annotations

from typing import Any

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.extras import load_extra
from sphunc.io.faults import FaultLog
from sphunc.io.hif import from_hif, to_hif
from sphunc.io.hif_schema import check_hif


def to_hgx(data: TemporalHypergraph) -> Any:
    """Return a ``hypergraphx.TemporalHypergraph``; :func:`from_hgx` gives ``data`` back."""
    hgx = load_extra("hypergraphx", "hgx")
    content = to_hif(data)
    members: dict[Any, list[dict[str, Any]]] = {record["edge"]: [] for record in content["edges"]}
    for record in content["incidences"]:
        members[record["edge"]].append(record)
    meetings: dict[tuple[int, tuple[Any, ...]], list[dict[str, Any]]] = {}
    empty = []
    for record, t in zip(content["edges"], data.hyperedge_time.tolist(), strict=True):
        rows = members[record["edge"]]
        record = {**record, "incidences": rows}
        if rows:
            meetings.setdefault((t, tuple(row["node"] for row in rows)), []).append(record)
        else:
            empty.append(record)
    metadata = {"hif": content["metadata"], "empty": empty, "order": list(members)}
    result = hgx.TemporalHypergraph(weighted=True, hypergraph_metadata=metadata)
    for record in content["nodes"]:
        result.add_node(record["node"], metadata=record.get("attrs", {}))
    for (t, nodes), records in meetings.items():
        result.add_edge(nodes, t, metadata={"groups": records})
    return result


def from_hgx(hypergraph: Any) -> TemporalHypergraph:
    """Build the data object from a ``hypergraphx.TemporalHypergraph``; its integer times stay as they are."""
    load_extra("hypergraphx", "hgx")
    metadata = hypergraph.get_hypergraph_metadata()
    edges = list(metadata.get("empty", []))
    for i, (t, nodes) in enumerate(hypergraph.get_edges()):
        known = hypergraph.get_edge_metadata(nodes, t).get("groups")
        edges.extend(known or [_foreign(i, t, nodes)])
    order = {edge: i for i, edge in enumerate(metadata.get("order", []))}
    edges.sort(key=lambda record: order.get(record["edge"], len(order)))
    content = {
        "metadata": metadata.get("hif", {}),
        "nodes": [{"node": node, "attrs": hypergraph.get_node_metadata(node)} for node in hypergraph.get_nodes()],
        "edges": [{key: value for key, value in record.items() if key != "incidences"} for record in edges],
        "incidences": [row for record in edges for row in record["incidences"]],
    }
    log = FaultLog()
    check_hif(content, "hypergraphx", log)
    log.raise_if_any()
    return from_hif(content, "hypergraphx")


def _foreign(i: int, t: int, nodes: Any) -> dict[str, Any]:
    rows = [{"edge": i, "node": node} for node in nodes]
    return {"edge": i, "attrs": {"timestamp": t}, "incidences": rows}
