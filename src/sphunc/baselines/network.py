r"""The one wrapper over time: a peer's spatial part at every time, a recurrent memory per agent, a linear read-out.

.. math::
    s_{i,t} = f_\theta(X_t, \mathcal{E}_t)_i, \qquad
    g_{i,t} = \mathrm{GRU}([s_{i,t} \| W x_{i,t}], g_{i,t-1}), \qquad
    p_{i,t} = \mathrm{softmax}(C g_{i,t} + L x_{i,t})

Peers differ in :math:`f_\theta` only. The agent's own inputs reach the memory and the read-out directly, so that no
peer loses them by smoothing: with C = 0 the wrapper is a logistic regression. An agent that was not seen keeps its
memory, and a new one begins at zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Links
from sphunc.baselines.panel import Panel
from sphunc.baselines.targets import Targets


@dataclass(frozen=True, eq=False)
class Encoding:
    """What a spatial part makes of a panel.

    Attributes:
        state: ``[T * N, W]``, node ``t * N + i`` being agent i at time t.
        extras: whatever its own objective needs (group states, latent parts, ...), by name.
    """

    state: Tensor
    extras: Mapping[str, Tensor] = field(default_factory=dict)


class SpatialEncoder(nn.Module, ABC):
    r"""The part in which peers differ: messages inside the groups of each time.

    A leaf defines :meth:`forward` and, where it has them, an objective of its own and a native influence. It owns no
    randomness: weights come from a generator at construction, dropout and sampling from the one given to ``forward``.
    """

    width: int
    directed: bool = True
    influence_kind: str = ""

    @abstractmethod
    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Encode a panel; without a generator nothing is dropped or sampled (evaluation)."""

    def prepare(self, panel: Panel) -> None:
        """Learn what is fixed before training (a projection, a bandwidth) from the training panel; store as buffers."""

    def objective(
        self,
        prediction: Float[Tensor, ""],
        encoding: Encoding,
        panel: Panel,
        targets: Targets,
        epoch: int,
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Return the loss to minimise in this epoch, given the mean NLL of the training outcomes."""
        return prediction

    def influence(self, panel: Panel, candidates: Links) -> Float[Tensor, " link"] | None:
        """Score the candidate links (source, target) natively, or return None where the system has no such notion."""
        return None


@dataclass(frozen=True, eq=False)
class Run:
    """Log-probabilities of every origin ``[T, N, C]``, and the encoding they came from."""

    log_probabilities: Tensor
    encoding: Encoding


class ForecastNetwork(nn.Module, ABC):
    """What the trainer trains: a spatial part, and a forecast from every time of a panel."""

    spatial: SpatialEncoder

    @abstractmethod
    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Run:
        """Forecast from every time of the panel; without a generator nothing is dropped or sampled."""


class NoMessages(SpatialEncoder):
    """The spatial part of a control that never looks at groups: nothing."""

    width = 0

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Return states of width 0."""
        return Encoding(panel.flat[:, :0])


class TemporalNetwork(ForecastNetwork):
    """Wraps a spatial part with memory and read-out.

    Args:
        spatial: the peer.
        num_inputs: P.
        num_classes: C.
        hidden: units of the memory.
        dropout: of what enters the memory, and of what is read out.
        generator: source of the initial weights.
    """

    def __init__(
        self,
        spatial: SpatialEncoder,
        num_inputs: int,
        num_classes: int,
        *,
        hidden: int,
        dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.spatial, self.dropout, self.hidden = spatial, dropout, hidden
        self.own = linear(num_inputs, hidden, generator)
        self.cell = gru_cell(spatial.width + hidden, hidden, generator)
        self.readout = linear(hidden, num_classes, generator)
        self.direct = linear(num_inputs, num_classes, generator)
        with torch.no_grad():
            self.direct.weight.zero_()

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Run:
        """Forecast from every time of the panel."""
        encoding = self.spatial(panel, generator)
        inputs = torch.cat([encoding.state, torch.relu(self.own(panel.flat))], -1)
        inputs = drop(inputs, self.dropout, generator).view(panel.num_times, panel.num_agents, -1)
        memory = inputs.new_zeros(panel.num_agents, self.hidden)
        states = []
        for time in range(panel.num_times):
            memory = torch.where(panel.present[time].unsqueeze(-1), self.cell(inputs[time], memory), memory)
            states.append(memory)
        logits = self.readout(drop(torch.stack(states), self.dropout, generator)) + self.direct(panel.inputs)
        return Run(torch.log_softmax(logits, -1), encoding)


def linear(inputs: int, outputs: int, generator: torch.Generator, *, bias: bool = True) -> nn.Linear:
    """Linear layer with weights of variance 1 / inputs and bias 0, drawn from ``generator``."""
    layer: Any = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)
    with torch.no_grad():
        layer.weight.normal_(0.0, max(inputs, 1) ** -0.5, generator=generator)
        if bias:
            layer.bias.zero_()
    return layer


def gru_cell(inputs: int, hidden: int, generator: torch.Generator) -> nn.GRUCell:
    """Gated recurrent unit with weights drawn from ``generator``."""
    cell: Any = nn.utils.skip_init(nn.GRUCell, inputs, hidden)
    with torch.no_grad():
        cell.weight_ih.normal_(0.0, inputs**-0.5, generator=generator)
        cell.weight_hh.normal_(0.0, hidden**-0.5, generator=generator)
        cell.bias_ih.zero_()
        cell.bias_hh.zero_()
    return cell


def parameter(shape: tuple[int, ...], deviation: float, generator: torch.Generator) -> nn.Parameter:
    """Gaussian parameter drawn from ``generator``."""
    return nn.Parameter(torch.randn(shape, generator=generator) * deviation)


def drop(x: Float[Tensor, "*shape"], share: float, generator: torch.Generator | None) -> Float[Tensor, "*shape"]:
    """Dropout with a generator of its own; without one, the identity."""
    if generator is None or share == 0.0:
        return x
    kept = torch.rand(x.shape, generator=generator, device=x.device).ge_(share)
    return x * kept.div_(1.0 - share)
