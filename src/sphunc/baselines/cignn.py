r"""CI-GNN (Zheng et al., 2024): a causal and a non-causal latent part, and a graph masked by the causal one.

Re-implementation from the published equations at the level of agents. A graph autoencoder gives

.. math::
    z_i = \mu_i + \sigma_i \odot \varepsilon_i = [\alpha_i \| \beta_i], \qquad
    \mu = \hat A\, \mathrm{ReLU}(\hat A X W_1) W_\mu, \quad \log\sigma = \hat A\, \mathrm{ReLU}(\hat A X W_1) W_\sigma

over the co-members of each time (:math:`\hat A` normalised with self-loops), a decoder :math:`\hat x_i`, and the causal
part masks the edges along which a graph isomorphism network classifies:

.. math::
    m_{ji} = \mathrm{sigmoid}(\alpha_i^\top M \alpha_j / \sqrt{|\alpha|} + b), \qquad
    h_i \leftarrow \mathrm{LN}\big(\mathrm{MLP}((1 + \epsilon) h_i + \tfrac{1}{|N_i|} \textstyle\sum_j m_{ji} h_j)\big)

.. math:: L = \mathrm{NLL} + \lambda_x L_{VAE} + \lambda_\beta I(\alpha; \beta) - \lambda_y I(\alpha; Y \mid \beta)

with the information terms of :mod:`~sphunc.baselines.cignn_information` on at most 128 labelled agents per step.

Deviations

- The original classifies graphs; here each agent at each time is classified, without pooling, and the edges j -> i run
  from co-members at the origin t to the outcome at t + 1: a lag of one. "Granger" in the original means conditional
  predictive information, not a lag. With ``edges="met"`` they run from everybody whom i met so far; the groups of now
  are then lost among all others.
- M is free, so that the mask has a direction; M = I, the start, is the original symmetric score. One sigmoid, not the
  three nested ones of the published code, which squeeze all masks into (0.62, 0.68). Causal parts of co-members are
  alike, and all masks would begin near 1: the offset b begins where their mean score is 0.
- One stage instead of two: in the published second stage the information terms hold no trainable parameter. Here they
  reach the encoder in every step.
- The information terms read the means of the latent: on samples, as published, noise alone raises the biased estimate
  of I(alpha; Y | beta), and training inflates sigma instead of learning. Outside training the mean is used throughout.
- The class kernel is Kronecker's. Bandwidth is the mean distance. L_VAE is divided by the number of inputs; the
  reconstruction of the adjacency is left out, as in the code.
- The encoder has a ReLU between its layers, where the published one is linear, and :math:`\lambda_\beta, \lambda_y` are
  0.01 and 0.1, where the published first stage has 0.001 and 0.01: there nothing else teaches the encoder, here the NLL
  does too. Parts of 24 and 8 and a width of 32 stand for 56 and 8 and 128.
- Mean instead of sum over neighbours and layer instead of batch normalisation, as degrees differ by two orders.
- At most ``EDGES`` edges in all, and at least 4 per agent: those sharing most groups, then the nearest in features.

Native influence: the mean over times of the score inside the sigmoid, directed; masks near 1 would tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Int, Links
from sphunc.baselines.cignn_information import class_kernel, gaussian_kernel, information_terms
from sphunc.baselines.network import Encoding, SpatialEncoder, drop, linear
from sphunc.baselines.pairs import closest, pair_counts, pairs_so_far, per_panel
from sphunc.baselines.panel import Panel
from sphunc.baselines.peer import InfluencePeer, PeerSettings
from sphunc.baselines.settings import Count, Weight
from sphunc.baselines.targets import Targets

EDGES = 2**18
FEWEST_NEIGHBOURS = 4
SAMPLES = 128
LARGEST_LOG_SIGMA = 3.0


@dataclass(frozen=True)
class CIGNNSettings(PeerSettings):
    """Settings of CI-GNN.

    Attributes:
        width: units of the classifier and of the encoder.
        layers: masked layers of the classifier.
        edges: along which it classifies: from co-members "now", or from all "met" so far.
        causal: size of the causal part.
        other: size of the non-causal part.
        reconstruction: weight of the autoencoder.
        redundancy: weight of the information that the two parts share.
        relevance: weight of what the causal part tells about the outcome, given the other.
    """

    width: Count = 32
    layers: Count = 2
    edges: Literal["now", "met"] = "now"
    causal: Count = 24
    other: Count = 8
    reconstruction: Weight = 0.05
    redundancy: Weight = 0.01
    relevance: Weight = 0.1


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Normalised adjacency with self-loops: entries on the pairs, and on the diagonal."""

    pairs: Int[Tensor, "2 pair"]
    entries: Float[Tensor, " pair"]
    diagonal: Float[Tensor, " node"]

    def __matmul__(self, x: Float[Tensor, "node dim"]) -> Float[Tensor, "node dim"]:
        source, target = self.pairs
        sent = x.index_select(0, source) * self.entries.unsqueeze(-1)
        return (x * self.diagonal.unsqueeze(-1)).index_add(0, target, sent)


def normalised(pairs: Int[Tensor, "2 pair"], nodes: int) -> Adjacency:
    r""":math:`\hat A = D^{-1/2} (A + I) D^{-1/2}` of an undirected graph."""
    degree = 1.0 + torch.bincount(pairs[1], minlength=nodes)
    root = degree.rsqrt()
    return Adjacency(pairs, root[pairs[0]] * root[pairs[1]], degree.reciprocal())


def edge_score(
    alpha: Float[Tensor, "node causal"], mixing: Float[Tensor, "causal causal"], edges: Int[Tensor, "2 edge"]
) -> Float[Tensor, " edge"]:
    r"""Score :math:`\alpha_i^\top M \alpha_j / \sqrt{|\alpha|}` of every edge (row 0 source j, row 1 target i)."""
    score = ((alpha @ mixing).index_select(0, edges[1]) * alpha.index_select(0, edges[0])).sum(-1)
    return score / alpha.shape[1] ** 0.5


def masked_mean(
    h: Float[Tensor, "node dim"], mask: Float[Tensor, " edge"], edges: Int[Tensor, "2 edge"]
) -> Float[Tensor, "node dim"]:
    r""":math:`\frac{1}{|N_i|} \sum_j m_{ji} h_j`; 0 without neighbours."""
    count = torch.bincount(edges[1], minlength=len(h)).clamp(min=1).to(h.dtype)
    weighted = mask.unsqueeze(-1) * h.index_select(0, edges[0])
    return torch.zeros_like(h).index_add(0, edges[1], weighted) / count.unsqueeze(-1)


def divergence(mu: Float[Tensor, "node dim"], log_sigma: Float[Tensor, "node dim"]) -> Float[Tensor, " node"]:
    """Divergence of N(mu, sigma^2) from N(0, 1), in nats."""
    return 0.5 * (mu.square() + (2 * log_sigma).exp() - 1 - 2 * log_sigma).sum(-1)


@per_panel
def adjacency_in(panel: Panel) -> Adjacency:
    """Co-members of each time."""
    return normalised(pair_counts(panel.groups)[0], panel.groups.num_nodes)


@per_panel
def edges_in(panel: Panel, which: str) -> Tensor:
    """Edges of the classifier, within the budget of edges: from co-members "now", or from all "met" so far."""
    if which == "now":
        pairs, count = pair_counts(panel.groups)
    else:
        pairs, count = pairs_so_far(panel.groups, panel.num_times, panel.num_agents)
    most = max(EDGES // max(panel.groups.num_nodes, 1), FEWEST_NEIGHBOURS)
    return closest(pairs, count, panel.features.flatten(0, 1), most)[0]


class Layer(nn.Module):
    """Graph isomorphism layer on masked edges."""

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.inner, self.outer = linear(width, width, generator), linear(width, width, generator)
        self.norm = nn.LayerNorm(width)

    def forward(self, h: Tensor, mask: Tensor, edges: Tensor) -> Float[Tensor, "node width"]:
        """Return the new state of every node."""
        total = (1 + self.epsilon) * h + masked_mean(h, mask, edges)
        return self.norm(self.outer(torch.relu(self.inner(total))))


class CIGNNEncoder(SpatialEncoder):
    """Owns the autoencoder, the mixing matrix M and the masked classifier."""

    influence_kind = "mean score of the causal edge"

    def __init__(self, num_inputs: int, settings: CIGNNSettings, generator: torch.Generator) -> None:
        super().__init__()
        width, latent = settings.width, settings.causal + settings.other
        self.width, self.settings = width, settings
        self.hidden = linear(num_inputs, width, generator)
        self.mean, self.log_sigma = linear(width, latent, generator), linear(width, latent, generator)
        self.decode_hidden, self.decode = linear(latent, width, generator), linear(width, num_inputs, generator)
        self.mixing = nn.Parameter(torch.eye(settings.causal))
        self.offset = nn.Parameter(torch.zeros(()))
        self.embed = linear(num_inputs, width, generator)
        self.layers = nn.ModuleList(Layer(width, generator) for _ in range(settings.layers))

    def prepare(self, panel: Panel) -> None:
        """Start the offset where masks are one half on average."""
        alpha, edges = self._latent(panel)[0][:, : self.settings.causal], edges_in(panel, self.settings.edges)
        if edges.shape[1]:
            self.offset.copy_(-edge_score(alpha, self.mixing, edges).mean())

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Encode every time; the latent is sampled only with a generator."""
        mu, log_sigma = self._latent(panel)
        z = mu
        if generator is not None:
            noise = torch.randn(mu.shape, generator=generator, device=mu.device)
            z = mu + log_sigma.exp() * noise
        edges = edges_in(panel, self.settings.edges)
        mask = torch.sigmoid(edge_score(z[:, : self.settings.causal], self.mixing, edges) + self.offset)
        h = torch.relu(self.embed(drop(panel.flat, self.settings.dropout, generator)))
        for layer in self.layers:
            h = layer(h, mask, edges)
        return Encoding(h, {"mu": mu, "log_sigma": log_sigma, "z": z})

    def objective(
        self,
        prediction: Float[Tensor, ""],
        encoding: Encoding,
        panel: Panel,
        targets: Targets,
        epoch: int,
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Add reconstruction and the two information terms to the NLL."""
        shared, told = self.information(encoding, targets, generator)
        own = self.settings
        rebuilt = own.reconstruction * self._autoencoder_loss(encoding, panel)
        return prediction + rebuilt + (own.redundancy * shared - own.relevance * told).to(prediction.dtype)

    def information(
        self, encoding: Encoding, targets: Targets, generator: torch.Generator
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        r""":math:`I(\alpha; \beta)` and :math:`I(\alpha; Y \mid \beta)` in bits, on a sample of labelled agents."""
        labelled = targets.mask.flatten().nonzero().squeeze(1)
        order = torch.randperm(len(labelled), generator=generator, device=labelled.device)
        chosen = labelled[order[:SAMPLES]]
        alpha, beta = encoding.extras["mu"][chosen].split([self.settings.causal, self.settings.other], -1)
        outcome = targets.outcome.flatten()[chosen]
        return information_terms(gaussian_kernel(alpha), gaussian_kernel(beta), class_kernel(outcome))

    def influence(self, panel: Panel, candidates: Links) -> Float[Tensor, " link"]:
        """Mean over times of the score, on any pair of agents."""
        alpha = self._latent(panel)[0][:, : self.settings.causal].view(panel.num_times, panel.num_agents, -1)
        return torch.stack([edge_score(now, self.mixing, candidates) for now in alpha]).mean(0)

    def _latent(self, panel: Panel) -> tuple[Tensor, Tensor]:
        near = adjacency_in(panel)
        hidden = near @ torch.relu(near @ self.hidden(panel.flat))
        return self.mean(hidden), self.log_sigma(hidden).clamp(max=LARGEST_LOG_SIGMA)

    def _autoencoder_loss(self, encoding: Encoding, panel: Panel) -> Tensor:
        here = panel.present.flatten()
        z, x = encoding.extras["z"][here], panel.flat[here]
        error = (self.decode(torch.relu(self.decode_hidden(z))) - x).square().sum(-1)
        spread = divergence(encoding.extras["mu"][here], encoding.extras["log_sigma"][here])
        return (error + spread).mean() / panel.num_inputs


class CIGNN(InfluencePeer):
    """CI-GNN for agents; see the module for equations and deviations."""

    name = "cignn"
    Settings = CIGNNSettings
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (32, 64),
        "dropout": (0.1, 0.3, 0.5),
        "edges": ("now", "met"),
        "relevance": (0.01, 0.1, 1.0),
    }
    settings: CIGNNSettings

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make the untrained autoencoder and classifier."""
        return CIGNNEncoder(num_inputs, self.settings, generator)
