"""Features, outcomes and links as records of agents, for formats that know only agents and groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.formats.hif_schema import Record


def panel_to_nodes(data: TemporalHypergraph) -> list[Record]:
    """Return per agent ``features`` {time index: values, None where not observed} and ``outcomes`` {time index: value}.

    Times at which nothing was observed are left out.
    """
    nodes: list[Record] = [{} for _ in range(data.num_nodes)]
    for t, n in data.x_mask.any(-1).nonzero().tolist():
        values = data.x[t, n].tolist()
        for i in (~data.x_mask[t, n]).nonzero().flatten().tolist():
            values[i] = None
        nodes[n].setdefault("features", {})[str(t)] = values
    if data.y is not None:
        for t, n in data.y_mask.nonzero().tolist():
            nodes[n].setdefault("outcomes", {})[str(t)] = data.y[t, n].tolist()
    return nodes


def panel_from_nodes(data: TemporalHypergraph, records: Sequence[Record], extension: Record) -> TemporalHypergraph:
    """Return ``data`` with the features, outcomes and links that were written.

    Args:
        data: agents, times and groups.
        records: one per agent, ``attrs`` as :func:`panel_to_nodes` returns them.
        extension: names of features, classes and outcomes, and the links: what ``metadata.sphunc`` holds.
    """
    shape = (data.num_times, data.num_nodes)
    names = tuple(extension.get("features", ()))
    x = torch.full((*shape, len(names)), torch.nan)
    y = _empty_outcomes(shape, extension.get("outcomes"))
    y_mask = torch.zeros(shape, dtype=torch.bool)
    place = {node: n for n, node in enumerate(data.node_ids)}
    for record in records:
        n = place[record["node"]]
        attrs = record.get("attrs", {})
        for t, values in attrs.get("features", {}).items():
            x[int(t), n] = torch.tensor([torch.nan if value is None else value for value in values])
        if y is not None:
            for t, value in attrs.get("outcomes", {}).items():
                y[int(t), n] = torch.tensor(value, dtype=y.dtype)
                y_mask[int(t), n] = True
    observed = ~x.isnan()
    influence, influence_kind = _links(place, extension.get("influence"))
    return replace(
        data,
        x=x.masked_fill(~observed, 0.0),
        x_mask=observed,
        y=y,
        y_mask=y_mask,
        feature_names=names,
        class_names=tuple(extension.get("classes", ())),
        outcome_names=tuple(extension.get("outcome_names", ())),
        influence=influence,
        influence_kind=influence_kind,
    )


def _empty_outcomes(shape: tuple[int, int], count: int | None) -> Tensor | None:
    """Return zeros for ``count`` numbers per agent, or for one class if ``count`` is 0; None if there are none."""
    if count is None:
        return None
    if count == 0:
        return torch.zeros(shape, dtype=torch.int64)
    return torch.zeros(*shape, count)


def _links(place: Mapping[Hashable, int], links: Record | None) -> tuple[Tensor | None, str]:
    if links is None:
        return None, ""
    rows = [[place[agent] for agent in links[role]] for role in ("source", "target")]
    return torch.tensor(rows, dtype=torch.int64).reshape(2, -1), links["kind"]
