r"""SphereNet (Liu et al., ICLR 2022): messages along edges, weighted by distance, angle and torsion of triplets.

Re-implementation from the published equations. With :math:`e_{ji}` the state of the edge j -> i and k another neighbour
of j (geometry in :mod:`~sphunc.baselines.spherenet_geometry`, R, A, T in :mod:`~sphunc.baselines.spherenet_basis`):

.. math::
    e_{ji} &= \mathrm{swish}(W [x_i \| x_j \| \mathrm{swish}(W_0 R(d_{ji}))]) \\
    q_{kj} &= \mathrm{swish}(W_\downarrow [\mathrm{swish}(W_b e_{kj}) \odot W_R R(d_{kj})]) \\
    s_{ji} &= \mathrm{swish}\big(W_\uparrow \textstyle\sum_k q_{kj} \odot W_A A(d_{kj}, \theta) \odot
              W_T T(d_{kj}, \theta, \varphi)\big) \\
    e_{ji} &\leftarrow \mathrm{Res}(\mathrm{swish}(W\,\mathrm{Res}(\mathrm{swish}(W_a e_{ji}) + s_{ji})) + e_{ji}),
    \quad \mathrm{Res}(u) = u + \mathrm{swish}(W u) \\
    g_{ji} &= W_g R(d_{ji}) \odot e_{ji}

and the state of an agent is :math:`W_x x_i + \sum_l \mathrm{MLP}_l(\sum_j g_{ji}^{(l)})`.

What is lost. SphereNet is made for molecules: positions are physical, invariance under rotation is a law, and a
complete account of the geometry is its reward. Here there are no positions, so they are made from features,

.. math:: p_i = \tfrac12\, \Pi x_i / \sqrt{1 + \|\Pi x_i\|^2} \in \mathbb R^3, \qquad c = 1,

with :math:`\Pi` starting at the first three principal components and then learned. All agents lie in a ball of diameter
c, so that no pair is cut off. This row therefore tests triplet angular messages on a learned projection to three
dimensions, not the contribution of SphereNet; most of the features' geometry does not fit into three dimensions.

Further deviations

- Neighbours are co-members at the same time, at most ``neighbours`` of them: those sharing most groups first, then the
  nearest features. An agent therefore takes part in at most ``neighbours`` squared triplets as their middle. Being a
  neighbour is not made mutual: i may hear j without j hearing i, as a radius graph would not have it.
- The reference of a torsion is never k itself. The published code keeps it, and rounding then wins the minimum.
- The projection learns through R only: angles and torsions have no gradient at collinear points, and A and T pass none.
  Distances are at least 0.05 c.
- R, A and T are divided by their root mean square in training, as initial weights are made for inputs of size 1: with
  their own sizes, up to tens, states of agents were a hundred times those of other systems.
- T pairs each harmonic with the radial functions of its own degree. There are 6 radial functions in R and 3 in A and T,
  degrees and width are smaller, one residual layer stands for two. Each basis goes through rank 8, as published.
- Atom types become linear maps of the inputs; the sum over the molecule is dropped; an agent keeps its own embedding,
  so that one who meets nobody has a state. Memory and read-out are the wrapper's.

Native influence: the mean over times and blocks of :math:`\|g_{ji}\|`, directed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Links
from sphunc.baselines.influence import accumulate
from sphunc.baselines.network import Encoding, SpatialEncoder, drop, linear
from sphunc.baselines.panel import Panel
from sphunc.baselines.peer import InfluencePeer, PeerSettings
from sphunc.baselines.settings import Count
from sphunc.baselines.spherenet_basis import bessel_basis, radial_basis, real_harmonics
from sphunc.baselines.spherenet_geometry import Neighbours, neighbours_in, separation, triplet_angles

LEAST_DISTANCE = 0.05
RADIAL = 6
TRIPLET_RADIAL = 3
RANK = 8
swish = nn.functional.silu


@dataclass(frozen=True)
class SphereNetSettings(PeerSettings):
    """Settings of SphereNet.

    Attributes:
        width: units of an edge.
        blocks: interaction blocks.
        neighbours: most neighbours of an agent at a time.
        degrees: degrees of the harmonics, 0 ... degrees - 1.
        triplet: units of a triplet.
    """

    width: Count = 64
    blocks: Count = 2
    neighbours: Count = 8
    degrees: Count = 3
    triplet: Count = 16


@dataclass(frozen=True, eq=False)
class Geometry:
    """Bases of a panel: R of every edge ``[E, 6]``, A and T of every triplet ``[P, ...]``."""

    near: Neighbours
    radial: Float[Tensor, "edge radial"]
    angular: Float[Tensor, "triplet angular"]
    torsional: Float[Tensor, "triplet torsional"]

    def sizes(self) -> Float[Tensor, " basis"]:
        """Root mean square of the entries of each basis; 1 where it has none."""
        bases = (self.radial, self.angular, self.torsional)
        return torch.stack([basis.square().mean().sqrt() if basis.numel() else basis.new_ones(()) for basis in bases])

    def over(self, sizes: Float[Tensor, " basis"]) -> Geometry:
        """Return the same with each basis divided by a size."""
        radial, angular, torsional = sizes.unbind()
        return Geometry(self.near, self.radial / radial, self.angular / angular, self.torsional / torsional)


def into_ball(q: Float[Tensor, "node 3"]) -> Float[Tensor, "node 3"]:
    r"""Bring points into the open ball of diameter 1: :math:`q / (2 \sqrt{1 + \|q\|^2})`."""
    return q / (2 * (1 + q.square().sum(-1, keepdim=True)).sqrt())


def measure(
    p: Float[Tensor, "node 3"], near: Neighbours, frequency: Float[Tensor, " radial"], degrees: int
) -> Geometry:
    """Expand distances, angles and torsions of a set of points in their bases (cut-off 1)."""
    distance = separation(p, near.edges, LEAST_DISTANCE)
    theta, phi = triplet_angles(p, near)
    feeding = near.triplets[0]
    shape = bessel_basis(distance.detach(), degrees, TRIPLET_RADIAL)[feeding]
    harmonics = real_harmonics(theta, phi, degrees)
    zonal = harmonics[:, [degree * (degree + 1) for degree in range(degrees)]]
    degree_of = [degree for degree in range(degrees) for _ in range(2 * degree + 1)]
    angular = (shape * zonal.unsqueeze(-1)).flatten(1)
    torsional = (shape[:, degree_of] * harmonics.unsqueeze(-1)).flatten(1)
    return Geometry(near, radial_basis(distance, frequency), angular, torsional)


def principal_axes(x: Float[Tensor, "row feature"]) -> Float[Tensor, "3 feature"]:
    """The first three principal axes over their deviations, largest entry positive; 0 where there are fewer."""
    values, vectors = torch.linalg.eigh(x.double().T @ x.double() / max(len(x), 1))
    axes = vectors.flip(1).T[:3]
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    scale = values.flip(0)[:3].clamp(min=torch.finfo(torch.float32).eps).rsqrt()
    axes = axes * largest.sign() * scale.unsqueeze(1)
    return nn.functional.pad(axes, (0, 0, 0, 3 - len(axes))).to(x.dtype)


class Bottleneck(nn.Module):
    """Linear map of a basis through rank 8."""

    def __init__(self, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.narrow = linear(inputs, RANK, generator, bias=False)
        self.wide = linear(RANK, outputs, generator, bias=False)

    def forward(self, basis: Float[Tensor, "*batch basis"]) -> Float[Tensor, "*batch width"]:
        """Map the basis to one weight per unit."""
        # One product with the small matrix of both: two thin products over all triplets cost twice the time.
        return nn.functional.linear(basis, self.wide.weight @ self.narrow.weight)


class Block(nn.Module):
    """One interaction block: new states of all edges from the triplets that end in them."""

    def __init__(self, settings: SphereNetSettings, generator: torch.Generator) -> None:
        super().__init__()
        width, triplet, degrees = settings.width, settings.triplet, settings.degrees
        self.own, self.sent, self.joined, self.before, self.after = (linear(width, width, generator) for _ in range(5))
        self.down, self.up = linear(width, triplet, generator), linear(triplet, width, generator)
        self.radial = Bottleneck(RADIAL, width, generator)
        self.angular = Bottleneck(degrees * TRIPLET_RADIAL, triplet, generator)
        self.torsional = Bottleneck(degrees**2 * TRIPLET_RADIAL, triplet, generator)

    def forward(self, e: Float[Tensor, "edge width"], geometry: Geometry) -> Float[Tensor, "edge width"]:
        """Return the new state of every edge."""
        feeding, fed = geometry.near.triplets
        q = swish(self.down(swish(self.sent(e)) * self.radial(geometry.radial)))
        weighted = q.index_select(0, feeding) * self.angular(geometry.angular) * self.torsional(geometry.torsional)
        s = swish(self.up(q.new_zeros(q.shape).index_add(0, fed, weighted)))
        new = swish(self.own(e)) + s
        new = new + swish(self.before(new))
        new = swish(self.joined(new)) + e
        return new + swish(self.after(new))


class Output(nn.Module):
    """From edges to the agents they point at: gate by distance, sum, two layers."""

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.gate = linear(RADIAL, width, generator, bias=False)
        self.hidden, self.out = linear(width, width, generator), linear(width, width, generator, bias=False)

    def gated(self, e: Float[Tensor, "edge width"], geometry: Geometry) -> Float[Tensor, "edge width"]:
        """Messages g of all edges."""
        return self.gate(geometry.radial) * e

    def forward(self, g: Float[Tensor, "edge width"], geometry: Geometry, nodes: int) -> Float[Tensor, "node width"]:
        """Return what each agent makes of its messages."""
        total = g.new_zeros(nodes, g.shape[1]).index_add(0, geometry.near.edges[1], g)
        return self.out(swish(self.hidden(total)))


class SphereNetEncoder(SpatialEncoder):
    """Owns the projection to positions, the frequencies and the weights of the blocks."""

    influence_kind = "mean length of the message"
    sizes: Tensor

    def __init__(self, num_inputs: int, num_features: int, settings: SphereNetSettings, generator: torch.Generator):
        super().__init__()
        width = settings.width
        self.width, self.settings, self.num_features = width, settings, num_features
        self.position = linear(num_features, 3, generator, bias=False)
        self.frequency = nn.Parameter(math.pi * torch.arange(1, RADIAL + 1))
        self.register_buffer("sizes", torch.ones(3))
        self.embed, self.keep = linear(num_inputs, width, generator), linear(num_inputs, width, generator)
        self.distance, self.begin = linear(RADIAL, width, generator), linear(3 * width, width, generator)
        self.blocks = nn.ModuleList(Block(settings, generator) for _ in range(settings.blocks))
        self.outputs = nn.ModuleList(Output(width, generator) for _ in range(settings.blocks + 1))

    def prepare(self, panel: Panel) -> None:
        """Start the projection at the principal components of the training features, and bases at size 1."""
        self.position.weight.copy_(principal_axes(panel.features[panel.present]))
        self.sizes.fill_(1.0)
        self.sizes.copy_(self._geometry(panel).sizes())

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Encode every time on its own neighbours."""
        geometry = self._geometry(panel)
        x = drop(panel.flat, self.settings.dropout, generator)
        state = self.keep(x)
        for g, output in zip(self._messages(x, geometry), self.outputs, strict=True):
            state = state + output(g, geometry, len(x))
        return Encoding(state)

    def influence(self, panel: Panel, candidates: Links) -> Float[Tensor, " link"]:
        """Mean over times and blocks of the length of the message from source to target."""
        geometry = self._geometry(panel)
        messages = self._messages(panel.flat, geometry)
        length = torch.stack([g.norm(dim=-1) for g in messages]).mean(0)
        return (
            accumulate(geometry.near.edges % panel.num_agents, length, candidates, panel.num_agents) / panel.num_times
        )

    def _geometry(self, panel: Panel) -> Geometry:
        near = neighbours_in(panel, self.settings.neighbours)
        p = into_ball(self.position(panel.flat[:, : self.num_features]))
        return measure(p, near, self.frequency, self.settings.degrees).over(self.sizes)

    def _messages(self, x: Tensor, geometry: Geometry) -> list[Tensor]:
        source, target = geometry.near.edges
        atom, near = self.embed(x), swish(self.distance(geometry.radial))
        e = swish(self.begin(torch.cat([atom.index_select(0, end) for end in (target, source)] + [near], -1)))
        messages = [self.outputs[0].gated(e, geometry)]  # pyright: ignore[reportCallIssue]
        for block, output in zip(self.blocks, self.outputs[1:], strict=True):
            e = block(e, geometry)
            messages.append(output.gated(e, geometry))  # pyright: ignore[reportCallIssue]
        return messages


class SphereNet(InfluencePeer):
    """SphereNet on positions projected from features; see the module for equations and for what is lost."""

    name = "spherenet"
    Settings = SphereNetSettings
    needs_features = True
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 32, 64),
        "dropout": (0.1, 0.3, 0.5),
        "blocks": (1, 2),
        "neighbours": (3, 8),
    }
    settings: SphereNetSettings

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make the untrained blocks."""
        return SphereNetEncoder(num_inputs, num_features, self.settings, generator)
