r"""Causal-SphHN (Harit and Sun, 2025): beliefs on a sphere, angular messages, a Granger mask.

Reconstruction: there is no public code, and of the paper only the abstract could be read here. From
it come hyperspherical states, the Shannon entropy of a von Mises-Fisher distribution as
uncertainty, Granger-informed subgraphs, and angular messages that respect dispersion and direction.
From the same authors' CSHT come the control of false discoveries, attention over Granger parents
only with :math:`\lambda = 10`, and re-projection after every layer. The rest is ours.

.. math::
    h_i &= \mathrm{normalise}(W x_i + b), \qquad
    \kappa_i = 1 + 199\,\mathrm{sigmoid}(\sqrt D\,w^\top h_i + w_0), \qquad
    \rho_i = A_D(\kappa_i) \\
    h_i &\leftarrow \mathrm{normalise}\big(h_i
        + W_o\,\mathrm{dropout}(\mathrm{ReLU}(W_m m_i)) + W_c c_i\big) \\
    L &= \mathrm{NLL} + \lambda_H \,\overline{\tilde U}, \qquad
    \tilde U_i = (H_D(\kappa_i) - H_D(200)) / (H_D(1) - H_D(200))

with messages m of co-members and c of Granger parents,

.. math::
    m_i = \frac{1}{|E_i|} \sum_{e \ni i} \sum_{j \in e \setminus i} \alpha^e_{ij} h_j, \qquad
    \alpha^e_{ij} \propto \exp(\kappa_a h_i^\top h_j)\, \rho_j

.. math:: c_i = \sum_{j \to i} \tau_{ij} \beta_{ij} h_j, \qquad
          \beta_{ij} \propto \exp(\lambda\, h_i^\top h_j)

A dispersed belief, of small mean resultant length :math:`\rho_j`, has less weight. The sum over
:math:`j \to i` runs over the Granger parents of i only, and :math:`\tau_{ij}` is the trust in a
link. All states are those at the origin t: for the outcome at t + 1, which is forecast, they are
the past of a Granger test at lag 1. The read-out gets :math:`[\sqrt D\, h_i \| \tilde U_i]`.

The mask: for each candidate j of a target i, the F test of :math:`b` in :math:`z_{i,t+1} = c_i + a
z_{i,t} + b z_{j,t}`, pooled over the leading principal components z of the features, whitened; then
the false discovery rate q at which each link would just be chosen.

Choices

- The mask is found once, before training, on the training times: one test per candidate at lag 1,
  given the target's own past; panels of ten times carry no longer lags. Tests given all other
  candidates too, as CSHT has them, found fewer true links in simulated worlds.
- CSHT keeps the links of a false discovery rate of 0.01, on long series. Panels of ten times leave
  0 to 6 of thousands at that rate, and no parent has any weight. Here a link that is found at rate
  q and no smaller one has the trust :math:`\tau = 1 - q`, up to ``discovery``; 0.01 gives the mask
  of CSHT, with trust of 0.99 and more.
- An agent that is absent counts as average in the tests. Agents are remembered by a digest of their
  ids; one that is not in training has no Granger parents. Fewer than 4 times leave the mask empty.
- The entropy term alone would drive every :math:`\kappa` to 200; its weight is small.
- One head, two layers. No aleatoric part, no fusion, no learned gates, no simulation: these are
  SphUnc's.

Native influence: minus the logarithm of the p-values on all that ``fit`` may read. The mask is the
links above one bound of this score, so that its links come first. (Attention says which parent
weighs more, not whether there is a link.)
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from hashlib import blake2b
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Bool, Float, Int, Links
from sphunc.baselines.baseline import InfluenceBaseline
from sphunc.baselines.holdout import Targets
from sphunc.baselines.links import false_discovery_rates, pairwise_granger
from sphunc.baselines.networks.graphs import (
    NodePairs,
    NodeStates,
    PairWeights,
    WeightedGraph,
    agent_pairs,
    segment_softmax,
)
from sphunc.baselines.panel import Panel, per_panel
from sphunc.baselines.settings import Count, NetworkSettings, SearchSpace, Several, Share, Weight
from sphunc.baselines.temporal import (
    Encoding,
    LinkScores,
    Scalar,
    SpatialEncoder,
    drop,
    linear,
)
from sphunc.hypergraph import Buckets
from sphunc.nn import HIGHEST_CONCENTRATION, LOWEST_CONCENTRATION, normalise, scaled_entropy
from sphunc.sphere import mean_resultant_length

PARENT_SHARPNESS = 10.0
INITIAL_SHARPNESS = 5.0
COMPONENTS = 8
FEWEST_TIMES = 4

NodeScalars = Float[Tensor, " node"]
Features = Float[Tensor, "time agent feature"]


class CausalSphHNSettings(NetworkSettings):
    """Settings of Causal-SphHN.

    Attributes:
        width: D, dimension of the sphere.
        layers: rounds of messages.
        discovery: false discovery rate up to which links are in the Granger mask, each trusted by 1
            minus its own.
        entropy: weight of the entropy of the beliefs.
    """

    width: Several = 64
    layers: Count = 2
    discovery: Share = 0.9
    entropy: Weight = 0.01


def leading_components(x: Features) -> Float[Tensor, "time agent component"]:
    """At most 8 principal components of the features, each of variance 1, in float64."""
    rows = x.double().flatten(0, 1)
    rows = rows - rows.mean(0)
    values, vectors = torch.linalg.eigh(rows.T @ rows / max(len(rows), 1))
    limits = torch.finfo(x.dtype)
    varies = values > values[-1].clamp(min=limits.tiny) * limits.eps
    largest = values[varies].flip(0)[:COMPONENTS]
    axes = vectors[:, varies].flip(1)[:, :COMPONENTS]
    return (rows @ axes / largest.sqrt()).view(*x.shape[:2], -1)


def granger_p_values(x: Features, candidates: Links) -> Float[Tensor, " link"]:
    """p-value of each candidate link; 1 with fewer than 4 times or features that do not vary.

    Args:
        x: standardised features.
        candidates: links, source and target.
    """
    z = leading_components(x)
    if not candidates.shape[1] or len(z) < FEWEST_TIMES or not z.shape[2]:
        return torch.ones(candidates.shape[1], dtype=torch.double, device=x.device)
    _, p_value = pairwise_granger(z.cpu(), candidates.cpu())
    return p_value.to(x.device)


@per_panel
def tests_in(panel: Panel) -> tuple[Links, Float[Tensor, " link"]]:
    """All pairs that met in a panel, and the p-value of each; one test serves all folds."""
    candidates = agent_pairs(panel.groups, panel.num_agents)
    return candidates, granger_p_values(panel.features, candidates)


@lru_cache(maxsize=8)
def digests(agents: tuple[Hashable, ...]) -> Int[Tensor, " agent"]:
    """A number of 63 bits per id, by which agents are found again in other data and processes.

    7 and "7" are two agents; 7 and numpy's 7 are one.
    """
    numbers = []
    for agent in agents:
        text = f"{isinstance(agent, str)} {agent}".encode()
        numbers.append(int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1)
    return torch.tensor(numbers, dtype=torch.long)


def place_links(links: Links, agents: Int[Tensor, " agent"]) -> tuple[Int[Tensor, "2 placed"], Bool[Tensor, " link"]]:
    """Turn links between digests into links between positions; those of absent agents are left out.

    Args:
        links: source and target, as digests.
        agents: digest of each position.

    Returns:
        The links that could be placed, and which of ``links`` these are.
    """
    if not len(agents):
        return links[:, :0], torch.zeros(links.shape[1], dtype=torch.bool, device=links.device)
    known, order = agents.sort()
    place = torch.searchsorted(known, links).clamp(max=len(known) - 1)
    is_there = (known[place] == links).all(0)
    return order[place][:, is_there], is_there


def dispersed_attention(h: NodeStates, reliability: NodeScalars, sharpness: Scalar, groups: Buckets) -> NodeStates:
    r"""Message :math:`m_i` of the other members, by angle and concentration; 0 for a node alone.

    Args:
        h: directions.
        reliability: :math:`\rho_j` in (0, 1].
        sharpness: :math:`\kappa_a`.
        groups: groups of two or more.
    """
    rows = [h.new_zeros(0, h.shape[1])]
    log_reliability = reliability.log()
    for members in groups.rectangles():
        flat = members.flatten()
        states = h.index_select(0, flat).view(*members.shape, -1)
        weight = log_reliability.index_select(0, flat).view(-1, 1, members.shape[1])
        score = sharpness * (states @ states.mT) + weight
        itself = torch.eye(members.shape[1], dtype=torch.bool, device=h.device)
        score = score.masked_fill(itself, -torch.inf)
        rows.append((score.softmax(-1) @ states).flatten(0, 1))
    messages = torch.cat(rows) * groups.share.unsqueeze(-1).to(h.dtype)
    return torch.zeros_like(h).index_add(0, groups.node, messages)


def parent_weights(h: NodeStates, parents: NodePairs, scale: float) -> PairWeights:
    r"""Attention :math:`\beta_{ij}` of each link, a softmax over the parents of a target.

    Args:
        h: directions.
        parents: source and target of each link.
        scale: :math:`\lambda`.
    """
    source, target = parents
    score = scale * (h.index_select(0, target) * h.index_select(0, source)).sum(-1)
    return segment_softmax(score.unsqueeze(-1), target, len(h)).squeeze(-1)


def parent_messages(h: NodeStates, parents: NodePairs, trust: PairWeights, scale: float) -> NodeStates:
    r"""Messages :math:`c_i`; 0 for a node without parents.

    Args:
        h: directions.
        parents: source and target of each link.
        trust: :math:`\tau` of each link.
        scale: :math:`\lambda`.
    """
    weight = trust * parent_weights(h, parents, scale)
    return WeightedGraph(parents, weight).add_messages(torch.zeros_like(h), h)


def over_time(links: Links, times: int, agents: int) -> Int[Tensor, "2 repeated"]:
    """Repeat links between agents at every time; time varies slowest.

    Args:
        links: between agents.
        times: T.
        agents: N; agent i at time t becomes node t * N + i.
    """
    shift = agents * torch.arange(times, device=links.device)
    return (links[:, None, :] + shift[None, :, None]).flatten(1)


def concentration(raw: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r""":math:`\kappa = 1 + 199\,\mathrm{sigmoid}(r)`."""
    width = HIGHEST_CONCENTRATION - LOWEST_CONCENTRATION
    return LOWEST_CONCENTRATION + width * torch.sigmoid(raw)


class CausalSphHNLayer(nn.Module):
    """One round: messages of co-members and of Granger parents, then back to the sphere.

    Args:
        width: D.
        dropout: share dropped from the messages of co-members while training.
        generator: source of the initial weights.
    """

    def __init__(self, width: int, dropout: float, generator: Generator) -> None:
        super().__init__()
        self.dropout = dropout
        self.member = linear(width, width, generator, bias=False)
        self.out = linear(width, width, generator, bias=False)
        self.parent = linear(width, width, generator, bias=False)
        self.log_sharpness = nn.Parameter(torch.tensor(INITIAL_SHARPNESS).log())

    def forward(
        self,
        h: NodeStates,
        reliability: NodeScalars,
        groups: Buckets,
        parents: NodePairs,
        trust: PairWeights,
        generator: Generator | None = None,
    ) -> NodeStates:
        """Return the new directions.

        Args:
            h: directions.
            reliability: mean resultant length of each belief.
            groups: groups of two or more.
            parents: Granger links, source and target.
            trust: in each of them.
            generator: of dropout; None (evaluation) drops nothing.
        """
        members = dispersed_attention(h, reliability, self.log_sharpness.exp(), groups)
        moved = h + self.out(drop(torch.relu(self.member(members)), self.dropout, generator))
        messages = parent_messages(h, parents, trust, PARENT_SHARPNESS)
        return normalise(moved + self.parent(messages))


class CausalSphHNEncoder(SpatialEncoder):
    """Owns the projection, the concentration head, the layers, and the Granger mask as buffers.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of Causal-SphHN.
        generator: source of the initial weights.
    """

    influence_kind = "-log10 p of the Granger test"
    parents: Tensor
    trust: Tensor

    def __init__(self, num_inputs: int, num_features: int, settings: CausalSphHNSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.settings = settings
        self.width = settings.width + 1  # the direction, and the entropy of the belief
        self.project = linear(num_inputs, settings.width, generator)
        self.head = linear(settings.width, 1, generator)
        self.layers = nn.ModuleList(
            CausalSphHNLayer(settings.width, settings.dropout, generator) for _ in range(settings.layers)
        )
        self.register_buffer("parents", torch.zeros(2, 0, dtype=torch.long))
        self.register_buffer("trust", torch.zeros(0))

    def prepare(self, panel: Panel) -> None:
        """Find the Granger mask on the training panel; it is kept by digests of the agents' ids."""
        candidates, p_value = tests_in(panel)
        rate = false_discovery_rates(p_value)
        chosen = rate <= self.settings.discovery
        self.parents = digests(panel.agents).to(candidates.device)[candidates[:, chosen]]
        self.trust = 1 - rate[chosen].to(panel.inputs.dtype)

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time; messages come from co-members and Granger parents at that time.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        h = normalise(self.project(drop(panel.flat, self.settings.dropout, generator)))
        dim = h.shape[1]
        links, trust = self.parents_in(panel)
        parents = over_time(links, panel.num_times, panel.num_agents)
        trust = trust.repeat(panel.num_times)
        for layer in self.layers:
            reliability = mean_resultant_length(self.kappa(h), dim, validate=False)
            h = layer(h, reliability, panel.groups, parents, trust, generator)
        kappa = self.kappa(h)
        entropy = scaled_entropy(kappa, dim)
        state = torch.cat([h * dim**0.5, entropy.unsqueeze(-1)], -1)
        return Encoding(state, {"kappa": kappa, "entropy": entropy})

    def extra_losses(
        self, encoding: Encoding, panel: Panel, targets: Targets, generator: Generator
    ) -> tuple[Scalar, ...]:
        """The weighted mean entropy of the beliefs about agents that were observed.

        Args:
            encoding: of the panel.
            panel: training times.
            targets: not used.
            generator: not used.
        """
        entropy = encoding.extras["entropy"][panel.present.flatten()]
        return (self.settings.entropy * entropy.mean(),)

    def influence(self, panel: Panel, candidates: Links) -> LinkScores:
        """Minus the logarithm of the p-value of each candidate.

        Args:
            panel: all times that may be read.
            candidates: links, source and target.
        """
        p_value = granger_p_values(panel.features, candidates)
        smallest = torch.finfo(p_value.dtype).tiny
        return -p_value.clamp(min=smallest).log10().to(panel.inputs.dtype)

    def kappa(self, h: NodeStates) -> NodeScalars:
        """Concentration of each belief."""
        return concentration(self.head(h * h.shape[1] ** 0.5).squeeze(-1))

    def parents_in(self, panel: Panel) -> tuple[Links, Float[Tensor, " link"]]:
        """Links of the mask between the agents of a panel, by position, and the trust in each."""
        agents = digests(panel.agents).to(self.parents.device)
        parents, is_there = place_links(self.parents, agents)
        return parents, self.trust[is_there]


class CausalSphHN(InfluenceBaseline):
    """Causal-SphHN, reconstructed; see the module for equations and choices."""

    name = "causal_sphhn"
    Settings = CausalSphHNSettings
    Encoder = CausalSphHNEncoder
    needs_features = True
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (32, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "discovery": (0.01, 0.5, 0.9),
        "entropy": (0.0, 0.01, 0.1),
    }
