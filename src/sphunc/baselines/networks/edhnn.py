r"""ED-HNN (Wang et al., ICLR 2023): equivariant hypergraph diffusion.

Re-implementation from the published equations and the authors' repository (``EquivSetConv``). The
same three perceptrons serve every layer:

.. math::
    m_e = \frac{1}{|e|} \sum_{j \in e} \hat\phi(x_j), \qquad
    n_i = \frac{1}{d_i} \sum_{e \ni i} \hat\rho(x_i, m_e), \qquad
    x_i \leftarrow \mathrm{ReLU}\big(\hat\psi((1 - \alpha) n_i + \alpha x_i^{(0)})\big)

A group thus sends every member a message of its own, which no convolution does.

Deviations

- Restart alpha = 0.5 and means as in the authors' code; perceptrons of two layers, :math:`\hat\psi`
  of one; two applications (the authors tune one to eight).
- An agent who meets nobody has n = 0. Memory and read-out are those of the shared network over
  time.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Float
from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.networks.graphs import mean_of_members, segment_mean
from sphunc.baselines.networks.hgnn import LayeredSettings
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import SearchSpace, Share
from sphunc.baselines.temporal import Encoding, SpatialEncoder, drop, linear


class EDHNNSettings(LayeredSettings):
    """Settings of ED-HNN.

    Attributes:
        restart: alpha, share of the first states in every layer.
    """

    restart: Share = 0.5


class TwoLayers(nn.Module):
    """Perceptron with one hidden layer of the width of its output, normalised as in the authors' code.

    Args:
        inputs: units that enter.
        outputs: units that leave.
        generator: source of the initial weights.
    """

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.hidden = linear(inputs, outputs, generator)
        self.norm = nn.LayerNorm(outputs)
        self.out = linear(outputs, outputs, generator)

    def forward(self, x: Float[Tensor, "row input"]) -> Float[Tensor, "row output"]:
        """Map the rows."""
        return self.out(self.norm(torch.relu(self.hidden(x))))


class EDHNNEncoder(SpatialEncoder):
    """Owns the embedding and the three perceptrons.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of ED-HNN.
        generator: source of the initial weights.
    """

    def __init__(self, num_inputs: int, num_features: int, settings: EDHNNSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.settings = settings
        width = settings.width
        self.embed = linear(num_inputs, width, generator)
        self.phi = TwoLayers(width, width, generator)
        self.rho = TwoLayers(2 * width, width, generator)
        self.psi = linear(width, width, generator)

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own groups.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        groups = panel.groups
        alpha = self.settings.restart
        first = torch.relu(self.embed(drop(panel.flat, self.settings.dropout, generator)))
        x = first
        for _ in range(self.settings.layers):
            x = drop(x, self.settings.dropout, generator)
            of_group = mean_of_members(self.phi(x), groups)
            pairs = torch.cat([x.index_select(0, groups.node), of_group.index_select(0, groups.hyperedge)], -1)
            received = segment_mean(self.rho(pairs), groups.node, len(x))
            x = torch.relu(self.psi((1.0 - alpha) * received + alpha * first))
        return Encoding(x)


class EDHNN(NetworkBaseline):
    """ED-HNN at every time; see the module for equations and deviations."""

    name = "edhnn"
    Settings = EDHNNSettings
    Encoder = EDHNNEncoder
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "layers": (1, 2, 4),
    }
