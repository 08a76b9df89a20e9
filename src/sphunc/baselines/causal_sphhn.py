r"""Causal-SphHN (Harit and Sun, 2025): beliefs on a sphere, angular messages in groups, a Granger mask between agents.

Reconstruction: there is no public code, and of the paper only the abstract could be read here. From it come
hyperspherical states, the Shannon entropy of a von Mises-Fisher law as uncertainty, Granger-informed subgraphs, and
angular messages that respect dispersion and direction. From the same authors' CSHT come the control of false
discoveries, attention over Granger parents only with :math:`\lambda = 10`, and re-projection after every layer. The
rest is ours.

.. math::
    h_i &= \mathrm{normalise}(W x_i + b), \qquad \kappa_i = 1 + 199\,\mathrm{sigmoid}(\sqrt D\,w^\top h_i + w_0), \qquad
    \rho_i = A_D(\kappa_i) \\
    h_i &\leftarrow \mathrm{normalise}\big(h_i + W_o\,\mathrm{dropout}(\mathrm{ReLU}(W_m m_i)) + W_c c_i\big) \\
    L &= \mathrm{NLL} + \lambda_H \,\overline{\tilde U}, \qquad
    \tilde U_i = (H_D(\kappa_i) - H_D(200)) / (H_D(1) - H_D(200))

with the messages m (co-members) and c (Granger parents) of :mod:`~sphunc.baselines.causal_sphhn_messages`. What is read
out is :math:`[\sqrt D\, h_i \| \tilde U_i]`.

Choices

- The mask is found once, before training, on the training times (:mod:`~sphunc.baselines.causal_sphhn_granger`): one
  test per candidate at lag 1, given the target's own past, on whitened principal components; panels of ten times carry
  no longer lags. Tests given all other candidates too, as CSHT has them, found fewer true links in simulated worlds.
- CSHT keeps the links of a false discovery rate of 0.01, on long series. Panels of ten times leave 0 to 6 of thousands
  at that rate, and nobody is heard. Here a link that is found at rate q and no smaller one is heard with the trust
  :math:`\tau = 1 - q`, up to ``discovery``; 0.01 gives the mask of CSHT, with trust of 0.99 and more.
- An agent that is absent counts as average in the tests. Agents are remembered by a digest of their ids; one that
  training never saw has no Granger parents. Fewer than 4 times leave the mask empty.
- The entropy term alone would drive every :math:`\kappa` to 200; its weight is small.
- One head, two layers. No aleatoric part, no fusion, no learned gates, no simulation: these are SphUnc's.

Native influence: minus the logarithm of the p-values on all that ``fit`` may see. The mask is the links above one bound
of this score, so that its links come first. (Attention says which parent is heard more, not whether there is a link.)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Int, Links
from sphunc.baselines.causal_sphhn_granger import digests, discovery_rates, granger_p_values, place_links
from sphunc.baselines.causal_sphhn_messages import dispersed_attention, over_time, parent_messages
from sphunc.baselines.network import Encoding, SpatialEncoder, drop, linear
from sphunc.baselines.pairs import agent_pairs, per_panel
from sphunc.baselines.panel import Panel
from sphunc.baselines.peer import InfluencePeer, PeerSettings
from sphunc.baselines.settings import Count, Several, Share, Weight
from sphunc.baselines.targets import Targets
from sphunc.hypergraph.buckets import Buckets
from sphunc.nn.concentration import HIGHEST, LOWEST, scaled_entropy
from sphunc.nn.projection import normalise
from sphunc.sphere import mean_resultant_length

PARENT_SHARPNESS = 10.0
INITIAL_SHARPNESS = 5.0


@dataclass(frozen=True)
class CausalSphHNSettings(PeerSettings):
    """Settings of Causal-SphHN.

    Attributes:
        width: D, dimension of the sphere.
        layers: rounds of messages.
        discovery: false discovery rate up to which links are in the Granger mask, each trusted by 1 minus its own.
        entropy: weight of the entropy of the beliefs.
    """

    width: Several = 64
    layers: Count = 2
    discovery: Share = 0.9
    entropy: Weight = 0.01


def concentration(raw: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r""":math:`\kappa = 1 + 199\,\mathrm{sigmoid}(r)`."""
    return LOWEST + (HIGHEST - LOWEST) * torch.sigmoid(raw)


@per_panel
def tests_in(panel: Panel) -> tuple[Tensor, Tensor]:
    """All pairs that met in a panel ``[2, K]``, and the p-value of each ``[K]``; one test serves all folds."""
    candidates = agent_pairs(panel.groups, panel.num_agents)
    return candidates, granger_p_values(panel.features, candidates)


@lru_cache(maxsize=8)
def _digests(agents: tuple[Hashable, ...]) -> Tensor:
    return digests(agents)


class Layer(nn.Module):
    """One round: messages of co-members and of Granger parents, then back to the sphere."""

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.member, self.out, self.parent = (linear(width, width, generator, bias=False) for _ in range(3))
        self.log_sharpness = nn.Parameter(torch.tensor(INITIAL_SHARPNESS).log())

    def forward(
        self,
        h: Float[Tensor, "node dim"],
        reliability: Float[Tensor, " node"],
        groups: Buckets,
        parents: Int[Tensor, "2 link"],
        trust: Float[Tensor, " link"],
        dropout: float,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "node dim"]:
        """Return the new directions."""
        heard = dispersed_attention(h, reliability, self.log_sharpness.exp(), groups)
        said = self.out(drop(torch.relu(self.member(heard)), dropout, generator))
        return normalise(h + said + self.parent(parent_messages(h, parents, trust, PARENT_SHARPNESS)))


class CausalSphHNEncoder(SpatialEncoder):
    """Owns the projection, the concentration head, the layers, and the Granger mask with its trust as buffers."""

    influence_kind = "-log10 p of the Granger test"
    parents: Tensor
    trust: Tensor

    def __init__(self, num_inputs: int, num_features: int, settings: CausalSphHNSettings, generator: torch.Generator):
        super().__init__()
        self.width, self.settings = settings.width + 1, settings
        self.project = linear(num_inputs, settings.width, generator)
        self.head = linear(settings.width, 1, generator)
        self.layers = nn.ModuleList(Layer(settings.width, generator) for _ in range(settings.layers))
        self.register_buffer("parents", torch.zeros(2, 0, dtype=torch.long))
        self.register_buffer("trust", torch.zeros(0))

    def prepare(self, panel: Panel) -> None:
        """Find the Granger mask on the training panel; it is kept by digests of the agents' ids."""
        candidates, p_value = tests_in(panel)
        rate = discovery_rates(p_value)
        chosen = rate <= self.settings.discovery
        self.parents = _digests(panel.agents).to(candidates.device)[candidates[:, chosen]]
        self.trust = 1 - rate[chosen].to(panel.inputs.dtype)

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Encode every time; a layer hears co-members and Granger parents at that time."""
        h = normalise(self.project(drop(panel.flat, self.settings.dropout, generator)))
        parents, trust = self.parents_in(panel)
        parents, trust = over_time(parents, panel.num_times, panel.num_agents), trust.repeat(panel.num_times)
        for layer in self.layers:
            reliability = mean_resultant_length(self.kappa(h), h.shape[1], validate=False)
            h = layer(h, reliability, panel.groups, parents, trust, self.settings.dropout, generator)
        kappa = self.kappa(h)
        entropy = scaled_entropy(kappa, h.shape[1])
        return Encoding(
            torch.cat([h * h.shape[1] ** 0.5, entropy.unsqueeze(-1)], -1), {"kappa": kappa, "entropy": entropy}
        )

    def objective(
        self,
        prediction: Float[Tensor, ""],
        encoding: Encoding,
        panel: Panel,
        targets: Targets,
        epoch: int,
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Add the mean entropy of the beliefs of agents that were seen."""
        return prediction + self.settings.entropy * encoding.extras["entropy"][panel.present.flatten()].mean()

    def influence(self, panel: Panel, candidates: Links) -> Float[Tensor, " link"]:
        """Minus the logarithm of the p-value of each candidate."""
        p_value = granger_p_values(panel.features, candidates)
        return -p_value.clamp(min=torch.finfo(p_value.dtype).tiny).log10().to(panel.inputs.dtype)

    def kappa(self, h: Float[Tensor, "node dim"]) -> Float[Tensor, " node"]:
        """Concentration of each belief."""
        return concentration(self.head(h * h.shape[1] ** 0.5).squeeze(-1))

    def parents_in(self, panel: Panel) -> tuple[Int[Tensor, "2 link"], Float[Tensor, " link"]]:
        """Links of the mask between the agents of a panel, by position, and the trust in each."""
        parents, there = place_links(self.parents, _digests(panel.agents).to(self.parents.device))
        return parents, self.trust[there]


class CausalSphHN(InfluencePeer):
    """Causal-SphHN, reconstructed; see the module for equations and choices."""

    name = "causal_sphhn"
    Settings = CausalSphHNSettings
    needs_features = True
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (32, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "discovery": (0.01, 0.5, 0.9),
        "entropy": (0.0, 0.01, 0.1),
    }
    settings: CausalSphHNSettings

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make the untrained layers with an empty mask."""
        return CausalSphHNEncoder(num_inputs, num_features, self.settings, generator)
