r"""Forecasts from counted outcomes alone: class frequencies, and transitions from the last outcome.

Counts are smoothed by one outcome spread like the marginal, so that no class is impossible:

.. math:: p_c = \frac{n_c + 1}{n + C}, \qquad p_{c \mid y} = \frac{n_{yc} + p_c}{n_y + 1}
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int
from sphunc.baselines.baseline import Baseline, Document, Tensors
from sphunc.baselines.holdout import HoldoutScheme, Targets, targets_of
from sphunc.forecasting import TrainingSchema
from sphunc.hypergraph import TemporalHypergraph

Outcomes = Int[Tensor, "time agent"]
Table = Float[Tensor, "row class"]


def last_outcome(y: Outcomes, mask: Bool[Tensor, "time agent"]) -> Outcomes:
    """Return the last outcome up to each time, -1 where there was none.

    Args:
        y: outcomes.
        mask: True where one was observed.
    """
    steps = torch.arange(len(y), device=y.device).unsqueeze(1)
    when = torch.where(mask, steps, -1).cummax(0).values
    return torch.where(when >= 0, y.gather(0, when.clamp(min=0)), -1)


def marginal(outcomes: Int[Tensor, " row"], num_classes: int) -> Float[Tensor, " class"]:
    """Smoothed frequencies of the classes.

    Args:
        outcomes: classes, in any order.
        num_classes: C.
    """
    counts = torch.bincount(outcomes, minlength=num_classes).double()
    return ((counts + 1.0) / (len(outcomes) + num_classes)).float()


def transitions(
    before: Int[Tensor, " row"], after: Int[Tensor, " row"], shares: Float[Tensor, " class"]
) -> Float[Tensor, "class class"]:
    """Smoothed frequencies of the classes that follow each class.

    Args:
        before: classes.
        after: the class that followed each of them.
        shares: marginal frequencies.
    """
    C = len(shares)
    counts = torch.bincount(before * C + after, minlength=C * C).view(C, C).to(shares.dtype)
    return (counts + shares) / (counts.sum(1, keepdim=True) + 1.0)


class FrequencyTable(Baseline):
    """A table of probabilities by last outcome; nothing is tuned, stopped or calibrated.

    Attributes:
        table_: a row per class, and a last one for agents without a past, ``[C + 1, C]``; counted
            on all outcomes that may be read.
        validation_: NLL of the validation outcomes, by a table of the training outcomes alone.
    """

    table_: Table

    @abstractmethod
    def count(self, last: Outcomes, targets: Targets, num_classes: int) -> Table:
        """Return the table.

        Args:
            last: last outcome of each agent up to each time, -1 for none.
            targets: outcomes that count.
            num_classes: C.
        """

    def _learn(self, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema) -> None:
        assert data.y is not None
        last = last_outcome(data.y, data.y_mask)
        training = self.count(last, targets_of(data, self.horizon, scheme.train), schema.outputs)
        validation = targets_of(data, self.horizon, scheme.validation or scheme.train)
        probabilities = training[last[validation.mask], validation.outcome[validation.mask]]
        self.validation_ = -float(probabilities.log().mean())
        self.table_ = self.count(last, targets_of(data, self.horizon, scheme.all_origins), schema.outputs)

    def _forecast(self, past: TemporalHypergraph) -> Mapping[str, Tensor]:
        if past.y is None:
            return {"probabilities": self.table_[-1].expand(past.num_nodes, -1)}
        return {"probabilities": self.table_[last_outcome(past.y, past.y_mask)[-1]]}

    def _state(self) -> tuple[Document, Tensors]:
        return {}, {"table": self.table_}

    def _restore(self, document: Document, tensors: Tensors) -> None:
        self.table_ = tensors["table"]


class Majority(FrequencyTable):
    """Class frequencies, the same for all agents."""

    name = "majority"

    def count(self, last: Outcomes, targets: Targets, num_classes: int) -> Table:
        """Count the outcomes; all rows are equal.

        Args:
            last: not used.
            targets: outcomes that count.
            num_classes: C.
        """
        return marginal(targets.outcome[targets.mask], num_classes).repeat(num_classes + 1, 1)


class Persistence(FrequencyTable):
    """Classes that follow the last outcome; class frequencies where none was observed."""

    name = "persistence"

    def count(self, last: Outcomes, targets: Targets, num_classes: int) -> Table:
        """Count transitions.

        Args:
            last: last outcome of each agent up to each time, -1 for none.
            targets: outcomes that count.
            num_classes: C.
        """
        shares = marginal(targets.outcome[targets.mask], num_classes)
        known = targets.mask & (last >= 0)
        after_each = transitions(last[known], targets.outcome[known], shares)
        return torch.cat([after_each, shares.unsqueeze(0)])
