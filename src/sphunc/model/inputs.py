"""The tensors of a stretch of time that a model reads: features, outcomes, groups; in double
precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.hypergraph import Incidence, TemporalHypergraph, incidence_at


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """What is known of N agents at T times.

    Attributes:
        x: features, 0 where not observed ``[T, N, F]``.
        x_mask: True where a feature was observed ``[T, N, F]``.
        y: outcomes: indicators of the class, or numbers, 0 where not observed ``[T, N, C]``.
        y_mask: True where the outcome was observed ``[T, N]``.
        groups: memberships at each time.
        num_classes: C for classes, 0 for numbers.
    """

    x: Float[Tensor, "time agent feature"]
    x_mask: Bool[Tensor, "time agent feature"]
    y: Float[Tensor, "time agent output"]
    y_mask: Bool[Tensor, "time agent"]
    groups: tuple[Incidence, ...]
    num_classes: int

    @property
    def num_times(self) -> int:
        """T."""
        return self.x.shape[0]

    @property
    def num_agents(self) -> int:
        """N."""
        return self.x.shape[1]

    @property
    def num_outputs(self) -> int:
        """C classes, or K numbers."""
        return self.y.shape[2]

    @property
    def is_numeric(self) -> bool:
        """True when outcomes are numbers."""
        return self.num_classes == 0

    @property
    def labels(self) -> Int[Tensor, "time agent"]:
        """Class of every outcome ``[T, N]``; 0 where not observed."""
        return self.y.argmax(-1)

    @property
    def observed(self) -> Bool[Tensor, "time agent"]:
        """True where any feature of an agent was observed ``[T, N]``."""
        return self.x_mask.any(-1)

    def until(self, origin: int) -> ModelInputs:
        """Return all that is known at time index ``origin``."""
        end = origin + 1
        return ModelInputs(
            self.x[:end],
            self.x_mask[:end],
            self.y[:end],
            self.y_mask[:end],
            self.groups[:end],
            self.num_classes,
        )

    def hide_outcomes(self, hidden: Bool[Tensor, "time agent"]) -> ModelInputs:
        """Return the same inputs with some outcomes not observed."""
        y_mask = self.y_mask & ~hidden
        return replace(self, y=self.y * y_mask.unsqueeze(-1), y_mask=y_mask)


def read_inputs(data: TemporalHypergraph, num_classes: int, num_outputs: int) -> ModelInputs:
    """Turn data into the tensors that the model reads.

    Args:
        data: features and classes in the order that was learned.
        num_classes: C for classes, 0 for numbers.
        num_outputs: C classes, or K numbers.
    """
    shape = (data.num_times, data.num_nodes, num_outputs)
    y = torch.zeros(shape, dtype=torch.float64, device=data.device)
    if data.y is not None and num_classes:
        y = torch.nn.functional.one_hot(data.y, num_classes).double()
    elif data.y is not None:
        y = data.y.double()
    groups: Sequence[Incidence] = [incidence_at(data, t) for t in range(data.num_times)]
    return ModelInputs(
        x=torch.where(data.x_mask, data.x.double(), 0.0),
        x_mask=data.x_mask,
        y=y * data.y_mask.unsqueeze(-1),
        y_mask=data.y_mask,
        groups=tuple(groups),
        num_classes=num_classes,
    )
