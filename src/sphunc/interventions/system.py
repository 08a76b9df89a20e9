"""A fitted model with the data that a question is asked about."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sphunc._typing import Float, Int, Tensor
from sphunc.forecasting import TrainingSchema
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions.resolve import EntityIndex
from sphunc.interventions.simulation import Origin
from sphunc.model import FittedModel, ModelInputs, Preparation, places, prepare


@dataclass(frozen=True, eq=False)
class System:
    """A fitted model with the data that questions are asked about, from one origin.

    Attributes:
        model: what was learned.
        inputs: features, groups and outcomes (numbers standardised) of the data.
        origin: time index from which is simulated.
        entities: what a user may name; agents in the order of the data.
        times: labels of all times of the data.
        order: position in the data of each agent of ``inputs``.
        place: position of each agent of ``inputs`` among those learned, -1 for unseen ones; None where they are the
            same.
        group_ids: ids of the groups of each time.
        outcome_names: of numbers.
        centre: mean that numbers were standardised by ``[M]``; None for classes.
        scale: deviation that numbers were standardised by ``[M]``; None for classes.
    """

    model: FittedModel
    inputs: ModelInputs
    origin: int
    entities: EntityIndex
    times: tuple[Any, ...]
    order: Int[Tensor, " agent"]
    place: Int[Tensor, " agent"] | None = None
    group_ids: tuple[tuple[Hashable, ...], ...] = ()
    outcome_names: tuple[str, ...] = ()
    centre: Float[Tensor, " number"] | None = None
    scale: Float[Tensor, " number"] | None = None

    @cached_property
    def past(self) -> Origin:
        """What an intervention starts from: only what is known at the origin counts. Shared by all questions."""
        return Origin(self.model, self.inputs.until(self.origin), self.origin, self.place, self.group_ids)

    @cached_property
    def observed_future(self) -> Origin:
        """What a counterfactual starts from: it abducts from what was observed after the origin."""
        return Origin(self.model, self.inputs, self.origin, self.place, self.group_ids)


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
