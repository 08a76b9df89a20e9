"""Data to forecast, brought into the order of the data that was learned: same features, same classes, any agents."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import torch

from sphunc._typing import Tensor
from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph


@dataclass(frozen=True)
class Known:
    """What a fitted model knows about its data.

    Attributes:
        agents: ids that training saw.
        features: names, in the order of the encoder.
        classes: names, in the order of the probabilities; empty for numbers.
        outputs: C classes, or K numbers.
        last: label of the last time that was seen.
    """

    agents: tuple[Hashable, ...]
    features: tuple[str, ...]
    classes: tuple[str, ...]
    outputs: int
    last: Any

    @property
    def numeric(self) -> bool:
        """True when outcomes are numbers."""
        return not self.classes


def known_of(data: TemporalHypergraph) -> Known:
    """Describe data to learn from; data without outcomes, or with a single class, is refused."""
    if data.y is None:
        raise DataError("data has no outcomes, so there is nothing to learn; give an outcomes table")
    if data.class_names and data.num_classes < 2:
        raise DataError(f"data has one class only, {data.class_names[0]!r}; give outcomes of at least two classes")
    outputs = data.num_classes or data.y.shape[-1]
    return Known(data.node_ids, data.feature_names, data.class_names, outputs, data.times[-1])


def align(data: TemporalHypergraph, known: Known) -> TemporalHypergraph:
    """Return ``data`` with features and classes in the order that was learned.

    Columns are matched by name. A feature that was learned and is not there, or the other way round, is refused: rows
    in which it was not observed are fine, silence about the column is not. Classes may be fewer than those learned.
    Agents may be others.
    """
    data = _order_features(data, known)
    if data.y is None or (known.numeric and data.class_names == ()):
        return _check_numbers(data, known)
    if known.numeric:
        raise DataError(f"the model forecasts numbers, but data has classes ({_some(data.class_names)})")
    return _order_classes(data, known)


def _order_features(data: TemporalHypergraph, known: Known) -> TemporalHypergraph:
    if data.feature_names == known.features:
        return data
    missing = [name for name in known.features if name not in data.feature_names]
    surplus = [name for name in data.feature_names if name not in known.features]
    if missing or surplus:
        faults = [f"misses {_some(missing)}"] * bool(missing) + [f"has {_some(surplus)} besides"] * bool(surplus)
        raise DataError(
            f"data {' and '.join(faults)}: the model learned from {len(known.features)} features "
            f"({_some(known.features)}); give the same columns, with empty cells where nothing was observed"
        )
    order = [data.feature_names.index(name) for name in known.features]
    return replace(data, x=data.x[..., order], x_mask=data.x_mask[..., order], feature_names=known.features)


def _check_numbers(data: TemporalHypergraph, known: Known) -> TemporalHypergraph:
    if data.y is not None and data.y.shape[-1] != known.outputs:
        raise DataError(f"data has {data.y.shape[-1]} outcomes per agent, but the model forecasts {known.outputs}")
    return data


def _order_classes(data: TemporalHypergraph, known: Known) -> TemporalHypergraph:
    if data.class_names == known.classes:
        return data
    if not data.class_names:
        raise DataError(f"the model forecasts classes ({_some(known.classes)}), but data has numbers")
    unknown = [name for name in data.class_names if name not in known.classes]
    if unknown:
        raise DataError(
            f"data has the class {_some(unknown)}, which training never saw; the model knows {_some(known.classes)}. "
            "Fit again with all classes, or leave those outcomes out"
        )
    assert data.y is not None
    table: Tensor = torch.tensor([known.classes.index(name) for name in data.class_names], device=data.device)
    y = torch.where(data.y_mask, table[data.y], 0)
    return replace(data, y=y, class_names=known.classes)


def _some(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:4])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 4 else "")
