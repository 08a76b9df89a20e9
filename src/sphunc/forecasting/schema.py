"""Data to forecast, brought into the order of the data that was learned: same features, same
outcomes, any agents."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from sphunc._typing import Tensor
from sphunc.errors import DataError
from sphunc.forecasting.identifiers import decode_id, encode_id
from sphunc.hypergraph import TemporalHypergraph


@dataclass(frozen=True)
class TrainingSchema:
    """Agents, features and outcomes of the data that a model was fitted on.

    Attributes:
        agents: ids that training saw.
        features: names, in the order of the encoder.
        classes: names, in the order of the probabilities; empty for numbers.
        outputs: C classes, or K numbers.
        last: label of the last time.
        outcomes: names of the K numbers, in the order of the means; empty for classes.
    """

    agents: tuple[Hashable, ...]
    features: tuple[str, ...]
    classes: tuple[str, ...]
    outputs: int
    last: Any
    outcomes: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """True when outcomes are numbers."""
        return not self.classes


def schema_of(data: TemporalHypergraph) -> TrainingSchema:
    """Describe data to learn from; data without outcomes, or with a single class, is refused."""
    if data.y is None:
        raise DataError("data has no outcomes, so there is nothing to learn; give an outcomes table")
    if data.class_names and data.num_classes < 2:
        raise DataError(f"data has one class only, {data.class_names[0]!r}; give outcomes of at least two classes")
    outputs = data.num_classes or data.y.shape[-1]
    return TrainingSchema(
        data.node_ids, data.feature_names, data.class_names, outputs, data.times[-1], data.outcome_names
    )


def align(data: TemporalHypergraph, schema: TrainingSchema) -> TemporalHypergraph:
    """Return ``data`` with features, classes and numeric outcomes in the order that was learned.

    Columns are matched by name. A feature that was learned and is not there, or the other way
    round, is refused: rows in which it was not observed are fine, silence about the column is not;
    so it is with numeric outcomes. Classes may be fewer than those learned, and others may be named
    as long as they do not occur: what occurs after an origin is not in
    ``data.until_index(origin)``. Agents may be others.
    """
    data = _order_features(data, schema)
    if data.y is None and schema.numeric:  # numbers that nobody observed: their columns are still counted
        y = data.x.new_zeros(data.num_times, data.num_nodes, schema.outputs)
        return replace(data, y=y, class_names=(), outcome_names=schema.outcomes)
    if data.y is None:
        return data
    if schema.numeric and data.class_names == ():
        return _order_numbers(data, schema)
    if schema.numeric:
        raise DataError(f"the model forecasts numbers, but data has classes ({_some(data.class_names)})")
    return _order_classes(data, schema)


def _order_features(data: TemporalHypergraph, schema: TrainingSchema) -> TemporalHypergraph:
    if data.feature_names == schema.features:
        return data
    missing = [name for name in schema.features if name not in data.feature_names]
    surplus = [name for name in data.feature_names if name not in schema.features]
    if missing or surplus:
        faults = [f"misses {_some(missing)}"] * bool(missing) + [f"has {_some(surplus)} besides"] * bool(surplus)
        raise DataError(
            f"data {' and '.join(faults)}: the model learned from {len(schema.features)} features "
            f"({_some(schema.features)}); give the same columns, with empty cells where nothing was observed"
        )
    order = [data.feature_names.index(name) for name in schema.features]
    return replace(data, x=data.x[..., order], x_mask=data.x_mask[..., order], feature_names=schema.features)


def _order_numbers(data: TemporalHypergraph, schema: TrainingSchema) -> TemporalHypergraph:
    assert data.y is not None
    if data.outcome_names == schema.outcomes:
        return data
    if data.y.shape[-1] != schema.outputs or set(data.outcome_names) != set(schema.outcomes):
        count = data.y.shape[-1]
        raise DataError(
            f"data has {count} outcome{'s' * (count != 1)} per agent ({_some(data.outcome_names)}), but the model "
            f"forecasts {schema.outputs} ({_some(schema.outcomes)}); give outcomes of the same names, or none, or fit "
            "again"
        )
    order = [data.outcome_names.index(name) for name in schema.outcomes]
    return replace(data, y=data.y[..., order], outcome_names=schema.outcomes)


def _order_classes(data: TemporalHypergraph, schema: TrainingSchema) -> TemporalHypergraph:
    if data.class_names == schema.classes:
        return data
    if not data.class_names:
        raise DataError(f"the model forecasts classes ({_some(schema.classes)}), but data has numbers")
    assert data.y is not None
    occurring = [data.class_names[c] for c in data.y[data.y_mask].unique().tolist()]
    unknown = [name for name in occurring if name not in schema.classes]
    if unknown:
        raise DataError(
            f"data has the class {_some(unknown)}, which training never saw; the model knows {_some(schema.classes)}. "
            "Fit again with all classes, or leave those outcomes out"
        )
    place = {name: c for c, name in enumerate(schema.classes)}
    table: Tensor = torch.tensor([place.get(name, 0) for name in data.class_names], device=data.device)
    y = torch.where(data.y_mask, table[data.y], 0)
    return replace(data, y=y, class_names=schema.classes)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:4])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 4 else "")


def encode_schema(schema: TrainingSchema) -> dict[str, Any]:
    """Return a schema as JSON can hold it."""
    return {
        "agents": [encode_id(agent) for agent in schema.agents],
        "features": list(schema.features),
        "classes": list(schema.classes),
        "outputs": schema.outputs,
        "last": encode_id(schema.last),
        "outcomes": list(schema.outcomes),
    }


def decode_schema(document: dict[str, Any]) -> TrainingSchema:
    """Return the schema that :func:`encode_schema` wrote."""
    return TrainingSchema(
        agents=tuple(decode_id(agent) for agent in document["agents"]),
        features=tuple(document["features"]),
        classes=tuple(document["classes"]),
        outputs=document["outputs"],
        last=decode_id(document["last"]),
        outcomes=tuple(document["outcomes"]),
    )
