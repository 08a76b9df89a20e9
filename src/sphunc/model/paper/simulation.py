r"""Interventional simulation: the structural equations drawn forward by Monte Carlo, and H_causal.

A sample is one structure, each link drawn with its posterior probability, and one path of exogenous
noise. The state at the origin is what the features of the origin encode. The outcome at each step
is read from the mean of the structural assignment given the sampled states before it, as a forecast
reads it: without intervention and with all links certain, the first step of every sample is the
forecast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from sphunc._typing import Bool, Float, Tensor
from sphunc.errors import ArgumentError
from sphunc.model.paper.equations import draw_cosine, draw_state, on_manifold
from sphunc.model.paper.inputs import PaperInputs, replicate_groups, replicate_links
from sphunc.model.paper.network import PaperNetwork

BATCH = 2**22
"""Numbers of states that are simulated at once: 16 MB in float32."""


@torch.no_grad()
def simulate(
    network: PaperNetwork,
    inputs: PaperInputs,
    *,
    horizon: int,
    samples: int,
    seed: int,
    hold: Mapping[int, Tensor] | None = None,
) -> tuple[Float[Tensor, "sample horizon agent outcome"], Float[Tensor, " agent"]]:
    r"""Draw outcomes after :math:`do(h^\star)` (``eq:scm_structural`` with replaced assignments).

    The concentration of the noise and the total uncertainty of every agent are those of the factual
    origin. Two calls with one seed draw the same structures and the same noise.

    Args:
        network: in evaluation mode.
        inputs: what is known up to the origin, their last time.
        horizon: steps.
        samples: S.
        seed: of structures and noise.
        hold: direction :math:`h^\star` of each held agent ``[D]``, from the origin on.

    Returns:
        Class probabilities or means of numbers per sample and step, and the variance of
        standardised numbers given the state ``[N]`` (0 for classes).
    """
    output = network(inputs)
    device = inputs.x.device
    N = inputs.num_agents
    dim = network.config.dim
    held, directions = _held_states(hold, inputs.num_agents, network)
    generator = torch.Generator(device=device).manual_seed(seed)

    # States up to the origin; what is held is held from the origin on.
    start = _lagged_states(network, output.directions)
    start[0] = torch.where(held.unsqueeze(-1), directions, start[0])
    persistent = network.persistent_bias(output.directions, inputs.present)[-1]
    kappa = output.kappa[-1]
    aleatoric = output.aleatoric[-1]
    total = output.total[-1]
    probability = network.probability[inputs.link_rows]
    coefficient = network.coefficient[inputs.link_rows]

    parts = []
    for batch in torch.arange(samples).split(max(1, BATCH // max(1, N * dim))):
        B = len(batch)
        # Stage 1: draw a structure per sample.
        draws = torch.rand(B, len(probability), generator=generator, device=device)
        factors = ((draws < probability).unsqueeze(-1) * coefficient).flatten(0, 1)
        links = replicate_links(inputs.links, N, B)
        groups = replicate_groups(inputs.last_groups, B)
        bias = persistent.repeat(B, 1)
        lagged = [state.repeat(B, 1) for state in start]
        # Stage 2: propagate, read outcomes, draw the next states.
        steps = []
        for _ in range(horizon):
            mean = network.transition(lagged, bias, groups, links, factors).view(B, N, dim)
            mean = torch.where(held.unsqueeze(-1), directions, mean)
            read_out = network.read(mean)
            if network.numeric:
                values, _ = network.number_distribution(read_out, aleatoric, total)
            else:
                values = network.class_distribution(read_out, aleatoric, total).exp()
            steps.append(values)
            cosine = draw_cosine(kappa, dim, B, generator)
            normal = torch.randn(mean.shape, generator=generator, device=device)
            drawn = draw_state(mean, kappa.expand(B, N), cosine, normal, network.config.geometry)
            drawn = torch.where(held.unsqueeze(-1), directions, drawn)
            lagged = [drawn.flatten(0, 1), *lagged[:-1]]
        parts.append(torch.stack(steps, 1))
    variance = torch.zeros_like(total)
    if network.numeric:
        _, scaled = network.number_distribution(output.read_out[-1], aleatoric, total)
        variance = (scaled / network.outcome_deviation.square())[:, 0]
    return torch.cat(parts), variance


def _lagged_states(network: PaperNetwork, h: Tensor) -> list[Tensor]:
    """States at the origin and the times before it, one per lag; zero before the first time."""
    zero = torch.zeros_like(h[-1])
    lags = range(network.config.max_lag)
    return [h[-1 - lag] if lag < len(h) else zero for lag in lags]


def _held_states(
    hold: Mapping[int, Tensor] | None, num_agents: int, network: PaperNetwork
) -> tuple[Bool[Tensor, " agent"], Float[Tensor, "agent dim"]]:
    weight = network.weight
    held = torch.zeros(num_agents, dtype=torch.bool, device=weight.device)
    directions = torch.zeros(num_agents, network.config.dim, device=weight.device)
    for agent, value in (hold or {}).items():
        if not 0 <= agent < num_agents:
            raise ArgumentError(
                f"hold names agent {agent}, but there are {num_agents}; indices run from 0 to {num_agents - 1}"
            )
        if value.shape != (network.config.dim,):
            raise ArgumentError(
                f"hold gives agent {agent} a tensor of shape {tuple(value.shape)}; give a direction of "
                f"shape ({network.config.dim},)"
            )
        held[agent] = True
        directions[agent] = on_manifold(value.to(directions), network.config.geometry)
    return held, directions


def class_entropy(
    probabilities: Float[Tensor, "sample *batch class"],
) -> Float[Tensor, "*batch"]:
    r"""Interventional entropy of a class outcome, ``eq:causal_uncertainty``, in nats.

    .. math:: H(\bar p) + \frac{1}{2S} \sum_c \mathrm{Var}_s(p_{sc}) / \bar p_c

    The second term removes the bias of the plug-in estimate to first order in 1/S; the result is at
    most log C.

    Args:
        probabilities: of each sample.
    """
    S = len(probabilities)
    mean = probabilities.double().mean(0)
    entropy = torch.special.entr(mean).sum(-1)
    if S > 1:
        variance = probabilities.double().var(0)
        ratio = torch.where(mean > 0, variance / torch.where(mean > 0, mean, 1.0), 0.0)
        entropy = entropy + ratio.sum(-1) / (2.0 * S)
    return entropy.clamp(max=math.log(probabilities.shape[-1])).float()


def number_entropy(
    means: Float[Tensor, "sample *batch outcome"],
    variance: Float[Tensor, "*batch"],
    deviation: Float[Tensor, " outcome"],
) -> Float[Tensor, "*batch"]:
    r"""Interventional entropy of numbers, ``eq:causal_uncertainty``, in nats: that of a normal law.

    .. math:: \tfrac12 \sum_k \log\big(2 \pi e\, (\mathrm{Var}_s(m_{sk}) + \sigma_k^2)\big)

    An upper bound of the entropy of the mixture over samples.

    Args:
        means: of each sample.
        variance: of standardised outcomes given the state.
        deviation: spread of outcomes in training.
    """
    between = torch.zeros_like(means[0])
    if len(means) > 1:
        between = means.var(0)
    whole = between + variance.unsqueeze(-1) * deviation.square()
    tiny = torch.finfo(whole.dtype).tiny
    return 0.5 * (2.0 * math.pi * math.e * whole.clamp(min=tiny)).log().sum(-1)
