"""From a fitted model and data to a system that can be asked "what if"."""

from __future__ import annotations

from collections.abc import Hashable

from sphunc.forecasting.schema import TrainingSchema
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions.resolve import EntityIndex
from sphunc.interventions.what_if import System
from sphunc.model.fitting import FittedModel
from sphunc.model.preparation import Preparation, places, prepare


def system_of(
    model: FittedModel,
    data: TemporalHypergraph,
    schema: TrainingSchema,
    preparation: Preparation,
    origin: int,
) -> System:
    """Prepare data for questions from one of its times.

    Args:
        model: what was learned.
        data: with features and outcomes in the order that was learned; times after the origin are for counterfactuals.
        schema: of the training data.
        preparation: learned from it.
        origin: time index.
    """
    groups = tuple(groups_at(data, time) for time in range(data.num_times))
    prepared = prepare(data, schema, preparation)
    numbers = 0
    centre = None
    scale = None
    if schema.numeric:
        numbers = schema.outputs
        centre = preparation.centre
        scale = preparation.scale
    entities = EntityIndex(
        agents=data.node_ids,
        classes=schema.classes,
        groups=groups[origin],
        times=data.times[: origin + 1],
        dim=model.num_axes,
        numbers=numbers,
    )
    return System(
        model=model,
        inputs=prepared.inputs,
        origin=origin,
        entities=entities,
        times=data.times,
        order=prepared.order,
        place=places(data.node_ids, schema.agents, prepared.order),
        group_ids=groups,
        outcome_names=schema.outcomes,
        centre=centre,
        scale=scale,
    )


def groups_at(data: TemporalHypergraph, time: int) -> tuple[Hashable, ...]:
    """Ids of the groups that meet at a time, in the order of its memberships.

    Args:
        data: with groups.
        time: time index.
    """
    met = (data.hyperedge_time == time).nonzero().flatten()
    return tuple(data.hyperedge_ids[edge] for edge in met.tolist())
