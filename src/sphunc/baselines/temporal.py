r"""The network over time that all baselines share, around a spatial encoder of their own.

.. math::
    s_{i,t} = f_\theta(X_t, \mathcal{E}_t)_i, \qquad
    g_{i,t} = \mathrm{GRU}([s_{i,t} \| W x_{i,t}], g_{i,t-1}), \qquad
    p_{i,t} = \mathrm{softmax}(C g_{i,t} + L x_{i,t})

Baselines differ in :math:`f_\theta` only. The agent's own inputs reach the memory and the read-out
directly, so that no encoder loses them by smoothing: with C = 0 this is a logistic regression. An
agent that is absent keeps its memory, and a new one starts at zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Float, Links
from sphunc.baselines.holdout import Targets
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import NetworkSettings
from sphunc.errors import CheckpointError

Scalar = Float[Tensor, ""]
LinkScores = Float[Tensor, " link"]
LogProbabilities = Float[Tensor, "time agent class"]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Output of a spatial encoder.

    Attributes:
        state: ``[T * N, W]``, node ``t * N + i`` being agent i at time t.
        extras: what its own losses need (group states, latent variables, ...), by name.
    """

    state: Tensor
    extras: Mapping[str, Tensor] = field(default_factory=dict)


class SpatialEncoder(nn.Module, ABC):
    """The part in which baselines differ: messages inside the groups of each time.

    A leaf defines :meth:`forward` and, where it has them, losses of its own and a native influence.
    It owns no randomness: weights come from a generator at construction, dropout and sampling from
    the one given to ``forward``.

    Args:
        num_inputs: P, inputs per agent and time.
        num_features: F, the first of these are the standardised features.
        settings: of the baseline.
        generator: source of the initial weights.
    """

    width: int
    directed: bool = True
    influence_kind: str = ""

    def __init__(self, num_inputs: int, num_features: int, settings: NetworkSettings, generator: Generator) -> None:
        super().__init__()
        self.width = settings.width

    @abstractmethod
    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode a panel.

        Args:
            panel: T times.
            generator: of dropout and sampling; None (evaluation) does neither.
        """

    def prepare(self, panel: Panel) -> None:
        """Learn what is fixed before training (a projection, a mask) from the training panel."""

    def extra_losses(
        self, encoding: Encoding, panel: Panel, targets: Targets, generator: Generator
    ) -> tuple[Scalar, ...]:
        """Weighted losses that are added to the mean NLL of the training outcomes, one by one.

        Args:
            encoding: of the panel.
            panel: training times.
            targets: training outcomes.
            generator: source of randomness.
        """
        return ()

    def influence(self, panel: Panel, candidates: Links) -> LinkScores | None:
        """Native score of the candidate links, or None where the system has no such notion.

        Args:
            panel: all times that may be read.
            candidates: links, source and target.
        """
        return None


class NoMessages(SpatialEncoder):
    """The spatial encoder of a control that reads no groups: states of width 0."""

    def __init__(self, num_inputs: int, num_features: int, settings: NetworkSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.width = 0

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Return states of width 0.

        Args:
            panel: T times.
            generator: not used.
        """
        return Encoding(panel.flat[:, :0])


class ForecastNetwork(nn.Module, ABC):
    """What is trained: a spatial encoder, and a forecast from every time of a panel."""

    spatial: SpatialEncoder

    @abstractmethod
    def forward(self, panel: Panel, generator: Generator | None = None) -> tuple[LogProbabilities, Encoding]:
        """Log-probabilities of the outcome ``horizon`` after every time, and the encoding.

        Args:
            panel: T times.
            generator: of dropout and sampling; None (evaluation) does neither.
        """

    def uncertainty(self, encoding: Encoding) -> Mapping[str, Tensor]:
        """Parts of the uncertainty of the last time, "epistemic" and "aleatoric", of a network that has them."""
        return {}


class TemporalNetwork(ForecastNetwork):
    """Memory and read-out around a spatial encoder.

    Args:
        spatial: the encoder.
        num_inputs: P.
        num_classes: C.
        settings: gives the units of the memory, and the dropout of what enters it and is read out.
        generator: source of the initial weights.
    """

    def __init__(
        self,
        spatial: SpatialEncoder,
        num_inputs: int,
        num_classes: int,
        settings: NetworkSettings,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.spatial = spatial
        self.dropout = settings.dropout
        self.hidden = settings.hidden
        self.own = linear(num_inputs, self.hidden, generator)
        self.cell = gru_cell(spatial.width + self.hidden, self.hidden, generator)
        self.readout = linear(self.hidden, num_classes, generator)
        self.skip_readout = linear(num_inputs, num_classes, generator)
        nn.init.zeros_(self.skip_readout.weight)

    def forward(self, panel: Panel, generator: Generator | None = None) -> tuple[LogProbabilities, Encoding]:
        """Log-probabilities of the outcome ``horizon`` after every time, and the encoding.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        read, encoding = self.remember(panel, generator)
        logits = self.readout(read) + self.skip_readout(panel.inputs)
        return torch.log_softmax(logits, -1), encoding

    def remember(
        self, panel: Panel, generator: Generator | None = None
    ) -> tuple[Float[Tensor, "time agent hidden"], Encoding]:
        """Memories after every time, some of their units dropped, and the encoding.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        encoding = self.spatial(panel, generator)
        inputs = torch.cat([encoding.state, torch.relu(self.own(panel.flat))], -1)
        inputs = drop(inputs, self.dropout, generator).view(panel.num_times, panel.num_agents, -1)
        memory = inputs.new_zeros(panel.num_agents, self.hidden)
        memories = []
        for time in range(panel.num_times):
            updated = self.cell(inputs[time], memory)
            memory = torch.where(panel.present[time].unsqueeze(-1), updated, memory)
            memories.append(memory)
        return drop(torch.stack(memories), self.dropout, generator), encoding


def linear(inputs: int, outputs: int, generator: Generator, *, bias: bool = True) -> nn.Linear:
    """Linear layer with weights of variance 1 / inputs and bias 0.

    Args:
        inputs: columns of the weight.
        outputs: rows of the weight.
        generator: source of the weights.
        bias: whether there is one.
    """
    # Made empty, as torch would draw weights from its global generator.
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")
    nn.init.normal_(layer.weight, 0.0, max(inputs, 1) ** -0.5, generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def gru_cell(inputs: int, hidden: int, generator: Generator) -> nn.GRUCell:
    """Gated recurrent unit with weights of variance 1 / inputs and 1 / hidden, and bias 0.

    Args:
        inputs: units of the input.
        hidden: units of the memory.
        generator: source of the weights.
    """
    cell = nn.GRUCell(inputs, hidden, device="meta").to_empty(device="cpu")
    nn.init.normal_(cell.weight_ih, 0.0, inputs**-0.5, generator=generator)
    nn.init.normal_(cell.weight_hh, 0.0, hidden**-0.5, generator=generator)
    nn.init.zeros_(cell.bias_ih)
    nn.init.zeros_(cell.bias_hh)
    return cell


def parameter(shape: tuple[int, ...], deviation: float, generator: Generator) -> nn.Parameter:
    """Gaussian parameter.

    Args:
        shape: of the parameter.
        deviation: standard deviation of its entries.
        generator: source of the entries.
    """
    return nn.Parameter(torch.randn(shape, generator=generator) * deviation)


def drop(x: Float[Tensor, "*shape"], share: float, generator: Generator | None) -> Float[Tensor, "*shape"]:
    """Dropout with a generator of its own; without one, the identity.

    Args:
        x: any tensor.
        share: of the entries that are set to 0; the others are scaled up.
        generator: source of randomness, or None.
    """
    if generator is None or share == 0.0:
        return x
    kept = torch.rand(x.shape, generator=generator, device=x.device).ge_(share)
    return x * kept.div_(1.0 - share)


def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Put saved weights into a network; a buffer may have another length than a fresh one.

    Args:
        network: as its constructor made it.
        weights: by name, as ``state_dict`` gives them.
    """
    for name, buffer in list(network.named_buffers()):
        if name in weights:
            home, _, leaf = name.rpartition(".")
            copy = weights[name].detach().clone().to(buffer.device)
            network.get_submodule(home).register_buffer(leaf, copy)
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as error:
        first = " ".join(str(error).split())[:300]
        raise CheckpointError(f"the saved weights do not fit the saved settings: {first}") from None
