"""From a fitted model and data to a system that can be asked "what if"."""

from __future__ import annotations

from collections.abc import Hashable

from sphunc.forecasting import TrainingSchema
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions.dowhy import Ask
from sphunc.interventions.effects import Effect
from sphunc.interventions.resolve import EntityIndex
from sphunc.interventions.values import Plan
from sphunc.interventions.what_if import System, counterfactual, intervene
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


def asker(
    system: System,
    *,
    horizon: int,
    samples: int,
    structures: int | None = None,
    seed: int = 0,
    with_future: bool = False,
) -> Ask:
    """Return a function that answers plans, for several questions that differ by their interventions alone.

    Beliefs and forecasts at the origin are made once. :mod:`sphunc.interventions.dowhy` has the questions.

    Args:
        system: model and data.
        horizon: steps, H.
        samples: S of each arm.
        structures: of which so many are drawn; None chooses.
        seed: of everything random.
        with_future: answer counterfactuals, which abduct from what was observed after the origin.
    """
    origin = system.at_origin(with_future=with_future)
    answer = counterfactual if with_future else intervene

    def ask(plan: Plan) -> Effect:
        return answer(system, plan, horizon=horizon, samples=samples, structures=structures, seed=seed, origin=origin)

    return ask


def groups_at(data: TemporalHypergraph, time: int) -> tuple[Hashable, ...]:
    """Ids of the groups that meet at a time, in the order of its memberships.

    Args:
        data: with groups.
        time: time index.
    """
    met = (data.hyperedge_time == time).nonzero().flatten()
    return tuple(data.hyperedge_ids[edge] for edge in met.tolist())
