r"""SphereNet (Liu et al., ICLR 2022): messages along edges, by distance, angle and torsion.

Re-implementation from the published equations. With :math:`e_{ji}` the state of the edge j -> i and
k another neighbour of j (geometry in :mod:`~sphunc.baselines.networks.spherenet.geometry`, R, A, T
in :mod:`~sphunc.baselines.networks.spherenet.basis`):

.. math::
    e_{ji} &= \mathrm{swish}(W [x_i \| x_j \| \mathrm{swish}(W_0 R(d_{ji}))]) \\
    q_{kj} &= \mathrm{swish}(W_\downarrow [\mathrm{swish}(W_b e_{kj}) \odot W_R R(d_{kj})]) \\
    s_{ji} &= \mathrm{swish}\big(W_\uparrow \textstyle\sum_k q_{kj} \odot W_A A(d_{kj}, \theta)
              \odot W_T T(d_{kj}, \theta, \varphi)\big) \\
    e_{ji} &\leftarrow \mathrm{Res}(\mathrm{swish}(W\,\mathrm{Res}(\mathrm{swish}(W_a e_{ji})
              + s_{ji})) + e_{ji}),
    \quad \mathrm{Res}(u) = u + \mathrm{swish}(W u) \\
    g_{ji} &= W_g R(d_{ji}) \odot e_{ji}

and the state of an agent is :math:`W_x x_i + \sum_l \mathrm{MLP}_l(\sum_j g_{ji}^{(l)})`.

What is lost. SphereNet is made for molecules: positions are physical, invariance under rotation is
a law, and a complete account of the geometry is its reward. Here there are no positions, so they
are made from features,

.. math:: p_i = \tfrac12\, \Pi x_i / \sqrt{1 + \|\Pi x_i\|^2} \in \mathbb R^3, \qquad c = 1,

with :math:`\Pi` starting at the first three principal components and then learned. All agents lie
in a ball of diameter c, so that no pair is cut off. This row therefore tests triplet angular
messages on a learned projection to three dimensions, not the contribution of SphereNet; most of the
features' geometry does not fit into three dimensions.

Further deviations

- Neighbours are co-members at the same time, at most ``neighbours`` of them: those sharing most
  groups first, then the nearest features. An agent therefore takes part in at most ``neighbours``
  squared triplets as their middle. Being a neighbour is not made mutual: there may be an edge j ->
  i without i -> j, as a radius graph would not have it.
- The reference of a torsion is never k itself. The published code keeps it, and rounding then wins
  the minimum.
- The projection learns through R only: angles and torsions have no gradient at collinear points,
  and A and T pass none. Distances are at least 0.05 c.
- R, A and T are divided by their root mean square in training, as initial weights are made for
  inputs of size 1: with their own sizes, up to tens, states of agents were a hundred times those of
  other systems.
- T pairs each harmonic with the radial functions of its own degree. There are 6 radial functions in
  R and 3 in A and T, degrees and width are smaller, one residual layer stands for two. Each basis
  goes through rank 8, as published.
- Atom types become linear maps of the inputs; the sum over the molecule is dropped; an agent keeps
  its own embedding, so that one who meets nobody has a state. Memory and read-out are those of the
  shared network over time.

Native influence: the mean over times and blocks of :math:`\|g_{ji}\|`, directed.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Float, Links
from sphunc.baselines.baseline import InfluenceBaseline
from sphunc.baselines.influence import accumulate
from sphunc.baselines.networks.spherenet.basis import bessel_basis, radial_basis, real_harmonics
from sphunc.baselines.networks.spherenet.geometry import (
    Neighbours,
    Positions,
    distances,
    neighbours_in,
    triplet_angles,
)
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import Count, NetworkSettings, SearchSpace
from sphunc.baselines.temporal import Encoding, LinkScores, SpatialEncoder, drop, linear

LEAST_DISTANCE = 0.05
RADIAL = 6
TRIPLET_RADIAL = 3
RANK = 8
swish = nn.functional.silu

EdgeStates = Float[Tensor, "edge width"]
Bases = tuple[Float[Tensor, "edge radial"], Float[Tensor, "triplet angular"], Float[Tensor, "triplet torsional"]]
"""R of every edge, A and T of every triplet."""


class SphereNetSettings(NetworkSettings):
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


def expand_geometry(p: Positions, near: Neighbours, frequency: Float[Tensor, " radial"], degrees: int) -> Bases:
    """Expand distances, angles and torsions of a set of points in their bases (cut-off 1).

    Args:
        p: positions.
        near: edges and triplets.
        frequency: of the radial sines.
        degrees: of the harmonics.
    """
    distance = distances(p, near.edges, LEAST_DISTANCE)
    theta, phi = triplet_angles(p, near)
    feeding = near.triplets[0]
    radial_part = bessel_basis(distance.detach(), degrees, TRIPLET_RADIAL)[feeding]
    harmonics = real_harmonics(theta, phi, degrees)
    zonal = harmonics[:, [degree * (degree + 1) for degree in range(degrees)]]
    degree_of = [degree for degree in range(degrees) for _ in range(2 * degree + 1)]
    angular = (radial_part * zonal.unsqueeze(-1)).flatten(1)
    torsional = (radial_part[:, degree_of] * harmonics.unsqueeze(-1)).flatten(1)
    return radial_basis(distance, frequency), angular, torsional


def root_mean_squares(bases: Bases) -> Float[Tensor, " basis"]:
    """Root mean square of the entries of each basis; 1 where it has none."""
    sizes = torch.ones(len(bases), device=bases[0].device)
    for place, basis in enumerate(bases):
        if basis.numel():
            sizes[place] = basis.square().mean().sqrt()
    return sizes


def into_ball(q: Positions) -> Positions:
    r"""Bring points into the open ball of diameter 1: :math:`q / (2 \sqrt{1 + \|q\|^2})`."""
    return q / (2 * (1 + q.square().sum(-1, keepdim=True)).sqrt())


def principal_axes(x: Float[Tensor, "row feature"]) -> Float[Tensor, "3 feature"]:
    """First three principal axes over their deviations, largest entry positive; 0 if missing."""
    rows = x.double()
    values, vectors = torch.linalg.eigh(rows.T @ rows / max(len(x), 1))
    axes = vectors.flip(1).T[:3]
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    scale = values.flip(0)[:3].clamp(min=torch.finfo(torch.float32).eps).rsqrt()
    axes = axes * largest.sign() * scale.unsqueeze(1)
    return nn.functional.pad(axes, (0, 0, 0, 3 - len(axes))).to(x.dtype)


class Bottleneck(nn.Module):
    """Linear map of a basis through rank 8.

    Args:
        inputs: functions of the basis.
        outputs: units.
        generator: source of the initial weights.
    """

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.narrow = linear(inputs, RANK, generator, bias=False)
        self.wide = linear(RANK, outputs, generator, bias=False)

    def forward(self, basis: Float[Tensor, "*batch basis"]) -> Float[Tensor, "*batch width"]:
        """Map the basis to one weight per unit."""
        # One product with the small matrix of both: two thin ones take twice the time.
        return nn.functional.linear(basis, self.wide.weight @ self.narrow.weight)


class InteractionBlock(nn.Module):
    """New states of all edges from the triplets that end in them.

    Args:
        settings: of SphereNet.
        generator: source of the initial weights.
    """

    def __init__(self, settings: SphereNetSettings, generator: Generator) -> None:
        super().__init__()
        width = settings.width
        triplet = settings.triplet
        self.own = linear(width, width, generator)
        self.sent = linear(width, width, generator)
        self.joined = linear(width, width, generator)
        self.before = linear(width, width, generator)
        self.after = linear(width, width, generator)
        self.down = linear(width, triplet, generator)
        self.up = linear(triplet, width, generator)
        self.radial = Bottleneck(RADIAL, width, generator)
        self.angular = Bottleneck(settings.degrees * TRIPLET_RADIAL, triplet, generator)
        self.torsional = Bottleneck(settings.degrees**2 * TRIPLET_RADIAL, triplet, generator)

    def forward(self, e: EdgeStates, bases: Bases, near: Neighbours) -> EdgeStates:
        """Return the new state of every edge.

        Args:
            e: states of the edges.
            bases: R, A and T.
            near: edges and triplets.
        """
        radial, angular, torsional = bases
        feeding, fed = near.triplets
        q = swish(self.down(swish(self.sent(e)) * self.radial(radial)))
        weighted = q.index_select(0, feeding) * self.angular(angular) * self.torsional(torsional)
        s = swish(self.up(torch.zeros_like(q).index_add(0, fed, weighted)))
        new = swish(self.own(e)) + s
        new = new + swish(self.before(new))
        new = swish(self.joined(new)) + e
        return new + swish(self.after(new))


class OutputBlock(nn.Module):
    """From edges to the agents they point at: gate by distance, sum, two layers.

    Args:
        width: units.
        generator: source of the initial weights.
    """

    def __init__(self, width: int, generator: Generator) -> None:
        super().__init__()
        self.gate = linear(RADIAL, width, generator, bias=False)
        self.hidden = linear(width, width, generator)
        self.out = linear(width, width, generator, bias=False)

    def forward(self, g: EdgeStates, target: Tensor, nodes: int) -> Float[Tensor, "node width"]:
        """Return what each agent makes of its messages.

        Args:
            g: gated messages.
            target: agent at a time that each points at.
            nodes: agents at times.
        """
        total = g.new_zeros(nodes, g.shape[1]).index_add(0, target, g)
        return self.out(swish(self.hidden(total)))


class SphereNetEncoder(SpatialEncoder):
    """Owns the projection to positions, the frequencies and the weights of the blocks.

    Args:
        num_inputs: P.
        num_features: F, what positions are projected from.
        settings: of SphereNet.
        generator: source of the initial weights.
    """

    influence_kind = "mean length of the message"
    sizes: Tensor

    def __init__(self, num_inputs: int, num_features: int, settings: SphereNetSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.settings = settings
        width = settings.width
        self.num_features = num_features
        self.position = linear(num_features, 3, generator, bias=False)
        self.frequency = nn.Parameter(math.pi * torch.arange(1, RADIAL + 1))
        self.register_buffer("sizes", torch.ones(3))
        self.embed = linear(num_inputs, width, generator)
        self.keep = linear(num_inputs, width, generator)
        self.distance = linear(RADIAL, width, generator)
        self.first = linear(3 * width, width, generator)
        self.blocks = nn.ModuleList(InteractionBlock(settings, generator) for _ in range(settings.blocks))
        self.outputs = nn.ModuleList(OutputBlock(width, generator) for _ in range(settings.blocks + 1))

    def prepare(self, panel: Panel) -> None:
        """Start the projection at the principal components, and the bases at size 1."""
        self.position.weight.copy_(principal_axes(panel.features[panel.present]))
        self.sizes.fill_(1.0)
        self.sizes.copy_(root_mean_squares(self.bases(panel)))

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own neighbours.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        bases = self.bases(panel)
        near = self.neighbours(panel)
        x = drop(panel.flat, self.settings.dropout, generator)
        state = self.keep(x)
        for g, output in zip(self.messages(x, bases, near), self.outputs, strict=True):
            state = state + output(g, near.edges[1], len(x))
        return Encoding(state)

    def influence(self, panel: Panel, candidates: Links) -> LinkScores:
        """Mean over times and blocks of the length of the message from source to target.

        Args:
            panel: all times that may be read.
            candidates: links, source and target.
        """
        near = self.neighbours(panel)
        messages = self.messages(panel.flat, self.bases(panel), near)
        length = torch.stack([g.norm(dim=-1) for g in messages]).mean(0)
        pairs = near.edges % panel.num_agents
        return accumulate(pairs, length, candidates, panel.num_agents) / panel.num_times

    def neighbours(self, panel: Panel) -> Neighbours:
        """Edges and triplets of a panel."""
        return neighbours_in(panel, self.settings.neighbours)

    def bases(self, panel: Panel) -> Bases:
        """R, A and T at the projected positions, over their sizes in training."""
        p = into_ball(self.position(panel.flat[:, : self.num_features]))
        near = self.neighbours(panel)
        radial, angular, torsional = expand_geometry(p, near, self.frequency, self.settings.degrees)
        return radial / self.sizes[0], angular / self.sizes[1], torsional / self.sizes[2]

    def messages(self, x: Float[Tensor, "node input"], bases: Bases, near: Neighbours) -> list[EdgeStates]:
        """Gated messages of all edges, before the first block and after each.

        Args:
            x: inputs of agents at times.
            bases: R, A and T.
            near: edges and triplets.
        """
        source, target = near.edges
        embedded = self.embed(x)
        by_distance = swish(self.distance(bases[0]))
        ends = [embedded.index_select(0, target), embedded.index_select(0, source)]
        e = swish(self.first(torch.cat([*ends, by_distance], -1)))
        messages = []
        for depth, output in enumerate(self.outputs):
            assert isinstance(output, OutputBlock)
            if depth > 0:
                e = self.blocks[depth - 1](e, bases, near)
            messages.append(output.gate(bases[0]) * e)
        return messages


class SphereNet(InfluenceBaseline):
    """SphereNet on positions projected from features; see the module for what is lost."""

    name = "spherenet"
    Settings = SphereNetSettings
    Encoder = SphereNetEncoder
    needs_features = True
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 32, 64),
        "dropout": (0.1, 0.3, 0.5),
        "blocks": (1, 2),
        "neighbours": (3, 8),
    }
