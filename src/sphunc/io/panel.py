"""Features, outcomes and links as records of agents, for formats that know only agents and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from sphunc.hypergraph import TemporalHypergraph


def panel_to_nodes(data: TemporalHypergraph) -> list[dict[str, Any]]:
    """Return per agent ``features`` {time index: values, None where not observed} and ``outcomes`` {time index: value}.

    Times at which nothing was seen are left out.
    """
    nodes: list[dict[str, Any]] = [{} for _ in range(data.num_nodes)]
    seen = data.x_mask.any(-1)
    for t, n in seen.nonzero().tolist():
        cells = zip(data.x[t, n].tolist(), data.x_mask[t, n].tolist(), strict=True)
        nodes[n].setdefault("features", {})[str(t)] = [value if known else None for value, known in cells]
    if data.y is not None:
        for t, n in data.y_mask.nonzero().tolist():
            nodes[n].setdefault("outcomes", {})[str(t)] = data.y[t, n].tolist()
    return nodes


def panel_from_nodes(
    data: TemporalHypergraph, records: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]
) -> TemporalHypergraph:
    """Return ``data`` with the features, outcomes and links that :func:`panel_to_nodes` and ``facts`` describe."""
    T, N, names = data.num_times, data.num_nodes, tuple(facts.get("features", ()))
    x, x_mask = torch.zeros(T, N, len(names)), torch.zeros(T, N, len(names), dtype=torch.bool)
    y = _empty_outcomes(T, N, facts)
    y_mask = torch.zeros(T, N, dtype=torch.bool)
    place = {one: i for i, one in enumerate(data.node_ids)}
    for record in records if facts else ():
        n, attrs = place[record["node"]], record.get("attrs", {})
        for t, values in attrs.get("features", {}).items():
            x[int(t), n] = torch.tensor([0.0 if value is None else value for value in values])
            x_mask[int(t), n] = torch.tensor([value is not None for value in values])
        if y is not None:
            _fill(y, y_mask, n, attrs.get("outcomes", {}))
    return replace(
        data,
        x=x,
        x_mask=x_mask,
        y=y,
        y_mask=y_mask,
        feature_names=names,
        class_names=tuple(facts.get("classes", ())),
        outcome_names=tuple(facts.get("outcome_names", ())),
        **_links(place, facts),
    )


def _fill(y: torch.Tensor, y_mask: torch.Tensor, n: int, outcomes: Mapping[str, Any]) -> None:
    for t, value in outcomes.items():
        y[int(t), n] = torch.tensor(value, dtype=y.dtype)
        y_mask[int(t), n] = True


def _empty_outcomes(T: int, N: int, facts: Mapping[str, Any]) -> torch.Tensor | None:
    if "outcomes" not in facts:
        return None
    return torch.zeros(T, N, facts["outcomes"]) if facts["outcomes"] else torch.zeros(T, N, dtype=torch.int64)


def _links(place: Mapping[Any, int], facts: Mapping[str, Any]) -> dict[str, Any]:
    links = facts.get("influence")
    if links is None:
        return {}
    rows = [[place[one] for one in links[role]] for role in ("source", "target")]
    return {"influence": torch.tensor(rows, dtype=torch.int64).reshape(2, -1), "influence_kind": links["kind"]}
