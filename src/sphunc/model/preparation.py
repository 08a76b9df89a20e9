"""From data to what the model reads: winsorised features, standardised numbers, agents in an order of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.forecasting import TrainingSchema, canonical_order
from sphunc.hypergraph import Incidence, TemporalHypergraph, robust_limits, winsorise
from sphunc.model.inputs import ModelInputs, read_inputs


@dataclass(frozen=True, eq=False)
class Preparation:
    """What training data decided about how data is read.

    Attributes:
        limits: lowest and highest value of each feature ``[2, F]``.
        centre: mean of the numbers ``[K]``; 0 for classes.
        scale: deviation of the numbers ``[K]``; 1 for classes.
    """

    limits: Float[Tensor, "2 feature"]
    centre: Float[Tensor, " output"]
    scale: Float[Tensor, " output"]


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Data as the model reads it.

    Attributes:
        inputs: with agents in canonical order.
        order: position in the data of each agent of ``inputs`` ``[N]``.
        warnings: one sentence for each feature that was winsorised.
    """

    inputs: ModelInputs
    order: Int[Tensor, " agent"]
    warnings: tuple[str, ...]

    def restore(self, values: Tensor) -> Tensor:
        """Bring rows from canonical order back into that of the data.

        Args:
            values: one row per agent of ``inputs``.
        """
        restored = torch.empty_like(values)
        restored[self.order] = values
        return restored


def learn_preparation(data: TemporalHypergraph, schema: TrainingSchema) -> Preparation:
    """Learn limits of features, and centre and scale of numbers.

    Args:
        data: training data.
        schema: of it.
    """
    limits = robust_limits(data)
    centre = torch.zeros(schema.outputs, dtype=torch.float64)
    scale = torch.ones(schema.outputs, dtype=torch.float64)
    if schema.numeric and data.y is not None and bool(data.y_mask.any()):
        observed = data.y[data.y_mask].double().cpu()
        centre = observed.mean(0)
        spread = observed.std(0, correction=0)
        scale = torch.where(spread > 0, spread, 1.0)
    return Preparation(limits, centre, scale)


def prepare(data: TemporalHypergraph, schema: TrainingSchema, preparation: Preparation) -> PreparedData:
    """Turn data into what the model reads.

    Args:
        data: with features and outcomes in the order that was learned.
        schema: of the training data.
        preparation: learned from it.
    """
    data, warnings = winsorise(data, preparation.limits)
    inputs = read_inputs(data, len(schema.classes), schema.outputs)
    if schema.numeric:
        centre = preparation.centre.to(inputs.y)
        scale = preparation.scale.to(inputs.y)
        inputs = replace(inputs, y=(inputs.y - centre) / scale * inputs.y_mask.unsqueeze(-1))
    order = torch.tensor(canonical_order(data.node_ids), dtype=torch.long, device=data.device)
    return PreparedData(_reordered(inputs, order), order, warnings)


def _reordered(inputs: ModelInputs, order: Int[Tensor, " agent"]) -> ModelInputs:
    number = torch.empty_like(order)
    number[order] = torch.arange(len(order), device=order.device)
    return replace(
        inputs,
        x=inputs.x[:, order],
        x_mask=inputs.x_mask[:, order],
        y=inputs.y[:, order],
        y_mask=inputs.y_mask[:, order],
        groups=tuple(_renumbered(group, number) for group in inputs.groups),
    )


def _renumbered(groups: Incidence, number: Int[Tensor, " agent"]) -> Incidence:
    """Renumber the agents, and sort memberships as if they had been read in this order: sums add up to the bit."""
    agent = number[groups.agent]
    by_agent = torch.argsort(agent, stable=True)
    rows = by_agent[torch.argsort(groups.group[by_agent], stable=True)]
    return Incidence(agent[rows], groups.group[rows], groups.weight[rows], groups.num_agents, groups.num_groups)


def places(agents: tuple, learned: tuple, order: Int[Tensor, " agent"]) -> Int[Tensor, " agent"]:
    """Position of each agent, in canonical order, among those learned (in their canonical order); -1 if unseen.

    Args:
        agents: ids of the data, in its order.
        learned: ids of the training data, in its order.
        order: of the agents of the data.
    """
    known = {learned[k]: place for place, k in enumerate(canonical_order(learned))}
    found = [known.get(agents[k], -1) for k in order.tolist()]
    return torch.tensor(found, dtype=torch.long, device=order.device)
