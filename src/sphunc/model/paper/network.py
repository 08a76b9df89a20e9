r"""The paper's network: encoder, concentration, message passing, structural step, heads, fusion.

Modules own parameters; the equations are in :mod:`sphunc.model.paper.equations`. A forecast applies
the structural assignment ``horizon`` times without noise and reads the outcome from the state it
arrives at, so that a forecast is a simulation without intervention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from sphunc._typing import Bool, Directions, Float, Links, Tensor
from sphunc.hypergraph import Buckets
from sphunc.model.paper.config import PaperConfig
from sphunc.model.paper.equations import (
    belief_entropy,
    class_log_probabilities,
    number_variance,
    pass_messages,
    project_features,
    scaled_belief_entropy,
    structural_mean,
)
from sphunc.model.paper.inputs import PaperInputs, replicate_links
from sphunc.nn import (
    LOWEST_CONCENTRATION,
    AdHocFusion,
    AleatoricHead,
    ConcentrationHead,
    MonotoneFusion,
    Temperature,
    squashed_variance,
)

INITIAL_SHARPNESS = 4.0
"""kappa_a before training; the paper gives none."""
INITIAL_PERSISTENCE = 0.3
"""Weight of the persistent bias before training."""


@dataclass(frozen=True, eq=False)
class PaperOutput:
    """Forecasts from every time of a stretch, and what they rest on; leading axes ``[T, N]``.

    Attributes:
        directions: h, latent state from the agent's own features ``[T, N, D]``, mean of its belief.
        next_mean: mean direction of the structural assignment one step on ``[T, N, D]``.
        kappa: concentration of the belief.
        epistemic: entropy of the belief in nats; ``epistemic_scaled`` the same in [0, 1].
        aleatoric: variance of the aleatoric head.
        total: both parts, fused, in (0, 1).
        read_out: logits of C classes, or standardised means of K numbers ``[T, N, C]``.
        log_probabilities: of C classes ``[T, N, C]``, or None.
        mean: of K numbers ``[T, N, K]``, or None.
        variance: of K numbers ``[T, N, K]``, or None.
    """

    directions: Tensor
    next_mean: Tensor
    kappa: Tensor
    epistemic: Tensor
    epistemic_scaled: Tensor
    aleatoric: Tensor
    total: Tensor
    read_out: Tensor
    log_probabilities: Tensor | None
    mean: Tensor | None
    variance: Tensor | None


class PaperNetwork(nn.Module):
    """All parameters of the paper's model, in the blocks that Algorithm 1 updates in turn.

    Args:
        config: which parts there are, and their sizes.
        num_features: F.
        num_outputs: C classes, or K numbers.
        links: candidate links among the training agents, sorted by target; ignored without an SCM.
        numeric: whether outcomes are numbers.
        generator: source of the initial weights.
    """

    feature_mean: Tensor
    feature_deviation: Tensor
    outcome_mean: Tensor
    outcome_deviation: Tensor
    links: Tensor
    log_odds: Tensor
    calibration: Tensor

    def __init__(
        self,
        config: PaperConfig,
        num_features: int,
        num_outputs: int,
        links: Links,
        *,
        numeric: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        dim = config.dim
        self.config = config
        self.numeric = numeric
        if not config.scm:
            links = links[:, :0]

        # Encoder: W with variance 1 / D, which preserves angles on average (eq:proj_preserve).
        self.weight = nn.Parameter(torch.randn(dim, num_features, generator=generator) / dim**0.5)
        self.bias = nn.Parameter(torch.zeros(dim))
        # Concentration estimator rho_psi.
        self.concentration = ConcentrationHead(dim, generator=generator)
        # Structural modules F_i: message passing, causal projection, coefficients, persistent bias.
        self.message_weights = nn.ParameterList(
            nn.Parameter(torch.randn(dim, dim, generator=generator) / dim**0.5) for _ in range(config.layers)
        )
        is_learned = config.attention == "angular" and config.geometry == "sphere"
        sharpness = INITIAL_SHARPNESS if is_learned else dim**-0.5
        self.log_sharpness = nn.Parameter(torch.full((config.layers,), math.log(sharpness)), requires_grad=is_learned)
        self.causal_projection = nn.Parameter(torch.eye(dim), requires_grad=config.scm)
        self.coefficient = nn.Parameter(torch.zeros(links.shape[1], config.max_lag))
        self.persistence = nn.Parameter(torch.tensor(INITIAL_PERSISTENCE), requires_grad=config.scm)
        # Aleatoric head phi, fusion g_omega, readout of outcomes.
        self.aleatoric = AleatoricHead(num_features, width=config.aleatoric_width, generator=generator)
        fusion = MonotoneFusion if config.fusion == "monotone" else AdHocFusion
        self.fusion = fusion(generator=generator)
        self.readout_weight = nn.Parameter(torch.zeros(num_outputs, dim))
        self.readout_bias = nn.Parameter(torch.zeros(num_outputs))
        self.temperature = Temperature()

        self.register_buffer("feature_mean", torch.zeros(num_features))
        self.register_buffer("feature_deviation", torch.ones(num_features))
        self.register_buffer("outcome_mean", torch.zeros(num_outputs))
        self.register_buffer("outcome_deviation", torch.ones(num_outputs))
        self.register_buffer("links", links.clone())
        self.register_buffer("log_odds", torch.zeros(links.shape[1]))
        self.register_buffer("calibration", torch.ones(()))

    def blocks(self) -> dict[str, list[nn.Parameter]]:
        """Parameters by the blocks of Algorithm 1, each exactly once.

        The paper alternates between "hyperspherical encoders, vMF concentration estimators, and
        causal structural parameters alongside the uncertainty fusion network".
        """
        structure = [
            *self.message_weights,
            self.log_sharpness,
            self.causal_projection,
            self.coefficient,
            self.persistence,
        ]
        fusion = [
            *self.aleatoric.parameters(),
            *self.fusion.parameters(),
            self.readout_weight,
            self.readout_bias,
            *self.temperature.parameters(),
        ]
        blocks = {
            "encoder": [self.weight, self.bias],
            "concentration": list(self.concentration.parameters()),
            "structure": structure,
            "fusion": fusion,
        }
        return {name: [parameter for parameter in block if parameter.requires_grad] for name, block in blocks.items()}

    @property
    def probability(self) -> Float[Tensor, " link"]:
        """Posterior probability of each candidate link."""
        return self.log_odds.sigmoid()

    def gating_factors(self) -> Float[Tensor, "link lag"]:
        r""":math:`\gamma_{ij}^{(l)} = p_{ij} \beta_{ij}^{(l)}`."""
        return self.probability.unsqueeze(-1) * self.coefficient

    def encode(self, inputs: PaperInputs) -> Float[Tensor, "time agent dim"]:
        """Latent states (``eq:spherical_projection``); zero for an agent nothing is known of."""
        h = project_features(inputs.x, self.weight, self.bias, self.config.geometry)
        return h * inputs.has_features.unsqueeze(-1)

    def believe(self, h: Float[Tensor, "*batch dim"], has_features: Bool[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        r"""Concentration :math:`\kappa = \rho_\psi(h)` in [1, 200]; 1 for an agent nothing is known of.

        Args:
            h: latent states.
            has_features: whether anything was observed.
        """
        return torch.where(has_features, self.concentration(h), LOWEST_CONCENTRATION)

    def persistent_bias(
        self, h: Float[Tensor, "time agent dim"], present: Bool[Tensor, "time agent"]
    ) -> Float[Tensor, "time agent dim"]:
        r"""Persistent bias :math:`U_i` as known at each time: a gain times the mean of the agent's states.

        The paper calls it "an exogenous latent capturing persistent prior bias" and does not say
        how it is found. A mean needs no parameter per agent and exists for unseen agents.

        Args:
            h: latent states.
            present: who was observed when.
        """
        weight = present.to(h.dtype).unsqueeze(-1)
        mean = (h * weight).cumsum(0) / weight.cumsum(0).clamp(min=1.0)
        if not self.config.scm:
            return torch.zeros_like(mean)
        return self.persistence * mean

    def transition(
        self,
        lagged: list[Directions],
        persistent: Directions,
        groups: Buckets,
        links: Links,
        gating_factors: Float[Tensor, "link lag"],
        generator: torch.Generator | None = None,
    ) -> Directions:
        """Mean of the next state: message passing, then the structural assignment.

        Args:
            lagged: latent states at the present time and at those before it, one per lag.
            persistent: U of each row.
            groups: hyperedges among the rows.
            links: links among the rows, sorted by target.
            gating_factors: of each link.
            generator: decides what dropout drops, while training; None drops nothing.
        """
        config = self.config
        context = lagged[0]
        for layer, weight in enumerate(self.message_weights):
            retained = None
            if generator is not None and self.training and config.dropout > 0:
                retained = dropout_factors(context, config.dropout, generator)
            sharpness = self.log_sharpness[layer].exp()
            context = pass_messages(context, weight, sharpness, groups, config.geometry, retained)
        return structural_mean(
            context,
            lagged,
            persistent,
            self.causal_projection,
            links,
            gating_factors,
            config.geometry,
        )

    def read(self, states: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch outcome"]:
        """Logits, or standardised means, of states; linear.

        Entries of a unit vector are of size 1 / sqrt(D); the factor sqrt(D) gives the weights the
        scale of the other layers.
        """
        scale = self.config.dim**0.5
        return scale * (states @ self.readout_weight.mT) + self.readout_bias

    def total_uncertainty(
        self, epistemic_scaled: Float[Tensor, "*batch"], aleatoric: Float[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        r""":math:`U_{total} = g_\omega(U_{epi}, U_{alea})`, ``eq:uncertainty_fusion``, in (0, 1).

        Args:
            epistemic_scaled: in [0, 1]; counts as 0 where only the aleatoric part enters.
            aleatoric: variance; counts as 0 where only the epistemic part enters.
        """
        noise = squashed_variance(aleatoric)
        if self.config.uncertainty == "aleatoric":
            epistemic_scaled = torch.zeros_like(epistemic_scaled)
        if self.config.uncertainty == "epistemic":
            noise = torch.zeros_like(noise)
        return self.fusion(epistemic_scaled, noise)

    def predictive_temperature(self, total: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Temperature of a forecast with this total uncertainty, calibration included."""
        return self.calibration * self.temperature(total)

    def class_distribution(
        self,
        logits: Float[Tensor, "*batch class"],
        aleatoric: Float[Tensor, "*#batch"],
        total: Float[Tensor, "*#batch"],
    ) -> Float[Tensor, "*batch class"]:
        """Log probabilities of classes.

        Args:
            logits: read from the states.
            aleatoric: variance of the logits.
            total: total uncertainty.
        """
        if self.config.uncertainty == "epistemic":
            aleatoric = torch.zeros_like(aleatoric)
        shape = logits.shape[:-1]
        temperature = self.predictive_temperature(total)
        return class_log_probabilities(logits, aleatoric.expand(shape), temperature.expand(shape))

    def number_distribution(
        self,
        read_out: Float[Tensor, "*batch outcome"],
        aleatoric: Float[Tensor, "*#batch"],
        total: Float[Tensor, "*#batch"],
    ) -> tuple[Float[Tensor, "*batch outcome"], Float[Tensor, "*batch outcome"]]:
        """Mean and variance of numbers, in the user's units.

        Args:
            read_out: standardised means read from the states.
            aleatoric: variance of standardised outcomes; 1 where only the epistemic part enters.
            total: total uncertainty.
        """
        if self.config.uncertainty == "epistemic":
            aleatoric = torch.ones_like(aleatoric)
        variance = number_variance(aleatoric, self.predictive_temperature(total))
        mean = self.outcome_mean + self.outcome_deviation * read_out
        scaled = variance.unsqueeze(-1) * self.outcome_deviation.square()
        return mean, scaled.expand_as(mean)

    def forward(self, inputs: PaperInputs, *, generator: torch.Generator | None = None) -> PaperOutput:
        """Forecast ``horizon`` steps ahead from every time of ``inputs``.

        Args:
            inputs: T times.
            generator: source of dropout while training.
        """
        config = self.config
        T = inputs.num_times
        N = inputs.num_agents
        h = self.encode(inputs)
        kappa = self.believe(h, inputs.has_features)
        aleatoric = self.aleatoric(inputs.x)
        scaled = scaled_belief_entropy(kappa, config.dim, config.geometry)
        total = self.total_uncertainty(scaled, aleatoric)

        # Every time is a block of rows; the states before the first time are zero.
        links = replicate_links(inputs.links, N, T)
        factors = self.gating_factors()[inputs.link_rows].repeat(T, 1)
        persistent = self.persistent_bias(h, inputs.present).flatten(0, 1)
        padded = torch.cat([h.new_zeros(config.max_lag - 1, N, config.dim), h])
        lagged = [
            padded[config.max_lag - 1 - lag : config.max_lag - 1 - lag + T].flatten(0, 1)
            for lag in range(config.max_lag)
        ]
        state = self.transition(lagged, persistent, inputs.groups, links, factors, generator)
        next_mean = state.view(T, N, -1)
        for _ in range(config.horizon - 1):
            lagged = [state, *lagged[:-1]]
            state = self.transition(lagged, persistent, inputs.groups, links, factors, generator)

        read_out = self.read(state).view(T, N, -1)
        log_probabilities = None
        mean = None
        variance = None
        if self.numeric:
            mean, variance = self.number_distribution(read_out, aleatoric, total)
        else:
            log_probabilities = self.class_distribution(read_out, aleatoric, total)
        return PaperOutput(
            directions=h,
            next_mean=next_mean,
            kappa=kappa,
            epistemic=belief_entropy(kappa, config.dim, config.geometry),
            epistemic_scaled=scaled,
            aleatoric=aleatoric,
            total=total,
            read_out=read_out,
            log_probabilities=log_probabilities,
            mean=mean,
            variance=variance,
        )


def dropout_factors(like: Float[Tensor, "*shape"], rate: float, generator: torch.Generator) -> Float[Tensor, "*shape"]:
    """Factors of dropout: 0 with probability ``rate``, 1 / (1 - rate) otherwise.

    Args:
        like: gives shape, type and device.
        rate: probability of a 0.
        generator: source of randomness, on the device of ``like``.
    """
    draws = torch.rand(like.shape, generator=generator, device=like.device)
    return (draws >= rate).to(like.dtype) / (1.0 - rate)
