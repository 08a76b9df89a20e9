r"""Graph Posterior Network (Stadler et al., NeurIPS 2021): evidence for every class, spread over co-members.

Re-implementation from the published equations and the authors' repository. From a latent
:math:`z_i \in \mathbb R^H` a normalising flow per class gives densities; these are evidence, which
personalised PageRank spreads over co-members:

.. math::
    \log \beta_{ic} &= \log p(z_i \mid c) + \log \pi_c + \tfrac H2 \log 4 \pi, \qquad
    \alpha_i = 1 + \textstyle\sum_j \Pi_{ij} \beta_j \\
    \Pi x: \; x^{(k+1)} &= (1 - \gamma) P x^{(k)} + \gamma x, \qquad p_{ic} = \alpha_{ic} / \alpha_{i0},
    \quad \alpha_{i0} = \textstyle\sum_c \alpha_{ic}

Trained by the uncertain cross-entropy :math:`\psi(\alpha_{i0}) - \psi(\alpha_{iy})` minus a small
multiple of the entropy of the Dirichlet. P averages over the members of groups, then over groups
(the authors' graph has its normalised adjacency), in ten steps.

Epistemic is the vacuity :math:`C / \alpha_{i0}`; aleatoric the expected entropy of the class
probabilities under the Dirichlet, over log C.

Deviations

- Teleport :math:`\gamma` is 0.5 in place of 0.1, which takes nine tenths of the evidence from
  others: right for citation networks, where neighbours share their class, wrong for groups at large.
- z is read from the memory of the shared network over time, and batch statistics are not used: a
  layer norm keeps z on the scale of the flows.
- :math:`\pi` counts the outcomes of the training panel. Radial flows: 6 in place of 10.
- Flows learn with everything else from the first epoch (published: five epochs of their own).
- p is tempered as that of every baseline; the two parts are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Float
from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.holdout import Targets
from sphunc.baselines.networks.graphs import mean_of_members, node_degrees, segment_mean
from sphunc.baselines.panel import Panel, count_inputs
from sphunc.baselines.settings import Count, NetworkSettings, Rate, SearchSpace, Share, Weight
from sphunc.baselines.temporal import (
    Encoding,
    ForecastNetwork,
    LogProbabilities,
    NoMessages,
    Scalar,
    TemporalNetwork,
    parameter,
)
from sphunc.baselines.training import mean_nll
from sphunc.hypergraph import Buckets

LARGEST_LOG_EVIDENCE = 30.0
Evidence = Float[Tensor, "node class"]


class GPNSettings(NetworkSettings):
    """Settings of the Graph Posterior Network.

    Attributes:
        latent: H, units of z.
        flows: radial flows per class.
        steps: of the propagation.
        teleport: gamma, share of an agent's own evidence at every step.
        entropy_weight: of the entropy of the Dirichlet in the loss.
    """

    latent: Count = 16
    flows: Count = 6
    steps: Count = 10
    teleport: Share = 0.5
    learning_rate: Rate = 5e-3
    entropy_weight: Weight = 1e-3


class RadialFlows(nn.Module):
    r"""Densities of C classes, each a chain of radial flows from a standard normal (Rezende and Mohamed 2015).

    .. math:: f(z) = z + \beta h (z - z_0), \quad h = 1 / (a + |z - z_0|), \quad \beta = -a + \mathrm{softplus}(b)

    Args:
        settings: gives H and the number of flows.
        num_classes: C.
        generator: source of the initial weights.
    """

    def __init__(self, settings: GPNSettings, num_classes: int, generator: Generator) -> None:
        super().__init__()
        shape = (settings.flows, num_classes)
        self.centre = parameter((*shape, settings.latent), settings.latent**-0.5, generator)
        self.log_width = parameter(shape, settings.latent**-0.5, generator)
        self.strength = parameter(shape, settings.latent**-0.5, generator)

    def forward(self, z: Float[Tensor, "*batch latent"]) -> Float[Tensor, "*batch class"]:
        """Log density of z under every class."""
        latent = z.shape[-1]
        width = nn.functional.softplus(self.log_width)
        slope = nn.functional.softplus(self.strength) - width
        point = z.unsqueeze(-2)
        log_volume = z.new_zeros(*z.shape[:-1], self.centre.shape[1])
        for centre, a, b in zip(self.centre, width, slope, strict=True):
            away = point - centre
            radius = away.norm(dim=-1)
            h = 1.0 / (a + radius)
            log_volume = log_volume + (latent - 1) * (1.0 + b * h).log()
            log_volume = log_volume + (1.0 + b * h - b * h.square() * radius).log()
            point = point + (b * h).unsqueeze(-1) * away
        normal = -0.5 * (point.square().sum(-1) + latent * math.log(2 * math.pi))
        return normal + log_volume


def propagate(evidence: Evidence, groups: Buckets, steps: int, teleport: float) -> Evidence:
    """Personalised PageRank over co-members; an agent who meets nobody keeps its own evidence.

    Args:
        evidence: of agents at times.
        groups: groups of two or more.
        steps: of the power iteration.
        teleport: share of the own evidence.
    """
    is_alone = (node_degrees(groups) == 0).to(evidence.dtype).unsqueeze(-1)
    x = evidence
    for _ in range(steps):
        of_group = mean_of_members(x, groups)
        mean = segment_mean(of_group.index_select(0, groups.hyperedge), groups.node, len(x))
        x = (1.0 - teleport) * (mean + is_alone * x) + teleport * evidence
    return x


def uncertain_cross_entropy(alpha: Float[Tensor, "row class"], outcome: Tensor) -> Float[Tensor, " row"]:
    """Expected NLL of outcomes under Dirichlet distributions.

    Args:
        alpha: their parameters.
        outcome: classes.
    """
    of_outcome = alpha.gather(-1, outcome.unsqueeze(-1)).squeeze(-1)
    return torch.digamma(alpha.sum(-1)) - torch.digamma(of_outcome)


def expected_entropy(alpha: Float[Tensor, "row class"]) -> Float[Tensor, " row"]:
    """Mean entropy of class probabilities that follow a Dirichlet distribution, in nats."""
    total = alpha.sum(-1, keepdim=True)
    return (alpha / total * (torch.digamma(total + 1.0) - torch.digamma(alpha + 1.0))).sum(-1)


class GPNLosses(NoMessages):
    """What the network adds to the mean NLL, and the class frequencies of the training panel.

    Args:
        num_inputs: P.
        num_features: F, which tells where outcomes stand among the inputs.
        settings: of the Graph Posterior Network.
        generator: not used.
    """

    log_prior: Tensor

    def __init__(self, num_inputs: int, num_features: int, settings: GPNSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.entropy_weight = settings.entropy_weight
        self.num_features = num_features
        num_classes = (num_inputs - 3 * num_features - 1) // 2
        self.register_buffer("log_prior", torch.full((num_classes,), 1.0 / num_classes).log())

    def prepare(self, panel: Panel) -> None:
        """Count the outcomes of the training panel."""
        start = 3 * self.num_features
        counts = panel.flat[:, start : start + len(self.log_prior)].sum(0) + 1.0
        self.log_prior.copy_((counts / counts.sum()).log())

    def extra_losses(
        self, encoding: Encoding, panel: Panel, targets: Targets, generator: Generator
    ) -> tuple[Scalar, ...]:
        """Turn the mean NLL into the uncertain cross-entropy, and favour dispersed Dirichlet distributions.

        Args:
            encoding: holds alpha.
            panel: not used.
            targets: training outcomes.
            generator: not used.
        """
        alpha = encoding.extras["alpha"]
        of_targets = alpha[targets.mask]
        nll = mean_nll((alpha / alpha.sum(-1, keepdim=True)).log(), targets)
        cross_entropy = uncertain_cross_entropy(of_targets, targets.outcome[targets.mask]).mean()
        dispersion = torch.distributions.Dirichlet(of_targets, validate_args=False).entropy().mean()
        return cross_entropy - nll, -self.entropy_weight * dispersion


class GPNNetwork(ForecastNetwork):
    """Memory, latent, flows and propagation.

    Args:
        num_features: F.
        num_classes: C.
        settings: of the Graph Posterior Network.
        generator: source of the initial weights.
    """

    def __init__(self, num_features: int, num_classes: int, settings: GPNSettings, generator: Generator) -> None:
        super().__init__()
        num_inputs = count_inputs(num_features, num_classes)
        self.settings = settings
        losses = GPNLosses(num_inputs, num_features, settings, generator)
        self.spatial = losses
        self.memory = TemporalNetwork(losses, num_inputs, settings.latent, settings, generator)
        self.norm = nn.LayerNorm(settings.latent)
        self.flows = RadialFlows(settings, num_classes, generator)

    def forward(self, panel: Panel, generator: Generator | None = None) -> tuple[LogProbabilities, Encoding]:
        """Log-probabilities of the outcome ``horizon`` after every time, and the Dirichlet parameters.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        memory, encoding = self.memory.remember(panel, generator)
        z = self.norm(self.memory.readout(memory) + self.memory.skip_readout(panel.inputs))
        budget = 0.5 * self.settings.latent * math.log(4 * math.pi)
        log_evidence = self.flows(z) + self.spatial.get_buffer("log_prior") + budget
        evidence = log_evidence.clamp(-LARGEST_LOG_EVIDENCE, LARGEST_LOG_EVIDENCE).exp().flatten(0, 1)
        spread = propagate(evidence, panel.groups, self.settings.steps, self.settings.teleport)
        alpha = 1.0 + spread.view_as(log_evidence)
        log_p = (alpha / alpha.sum(-1, keepdim=True)).log()
        return log_p, Encoding(encoding.state, {"alpha": alpha})

    def uncertainty(self, encoding: Encoding) -> Mapping[str, Tensor]:
        """Vacuity and expected entropy at the last time."""
        alpha = encoding.extras["alpha"][-1]
        classes = alpha.shape[-1]
        return {
            "epistemic": classes / alpha.sum(-1),
            "aleatoric": expected_entropy(alpha) / math.log(classes),
        }


class GPN(NetworkBaseline):
    """Graph Posterior Network at every time; see the module for equations and deviations."""

    name = "gpn"
    Settings = GPNSettings
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "dropout": (0.1, 0.3, 0.5),
        "latent": (8, 16),
        "teleport": (0.1, 0.3, 0.5, 0.8),
    }

    def make_network(self, num_features: int, num_classes: int, generator: Generator) -> ForecastNetwork:
        """Make the untrained network.

        Args:
            num_features: F.
            num_classes: C.
            generator: source of the initial weights.
        """
        assert isinstance(self.settings, GPNSettings)
        return GPNNetwork(num_features, num_classes, self.settings, generator)
