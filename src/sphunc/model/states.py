"""States of all agents: inference of beliefs given links, features and outcomes, and the fit of everything it needs.

Alternates between the paper's blocks: dynamics by marginal likelihood, links by their posterior, beliefs by filtering
and smoothing, outcomes by expectation propagation (Algorithm 1, each block in closed form or a few L-BFGS steps).
A state is a vector of any length; its direction is the spherical latent, eq. (spherical_projection) of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.forecasting import PredictiveDistribution
from sphunc.model.axes import StateAxes, learn_axes
from sphunc.model.candidates import make_candidates
from sphunc.model.dynamics import (
    PADDING,
    Dynamics,
    Links,
    group_messages,
    initial_dynamics,
    learn_chains,
    reduced_form,
    sum_over_sources,
)
from sphunc.model.inputs import ModelInputs
from sphunc.model.kalman import Filtered, kalman_filter, kalman_smoother
from sphunc.model.link_calibration import calibrate_links
from sphunc.model.link_checks import check_links
from sphunc.model.readout import Readout, initial_readout, learn_readout, outcome_site
from sphunc.model.structure import (
    ChainData,
    LinkPrior,
    StructurePosterior,
    learn_structure,
    source_variance,
    without_common_shocks,
)

DAMPING = 0.3
"""Share of the last round in the states that act on others: undamped, chains of agents oscillate."""
SITE_DAMPING = 0.3
SITE_EVERY = 2
"""Rounds between two updates by outcomes, which cost most and move least."""
ROUNDS = 8
"""Rounds of inference for a forecast."""
VARIANCE_SCALES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3)
LINK_ROUNDS = 2
"""Rounds of links and dynamics in turn: the second starts from dynamics that know of the links."""
SWEEPS = 60
"""Sweeps of the Gibbs sampler in each; the first third is burn-in."""
OUTCOME_ROUNDS = 4
"""Rounds of readout and beliefs in turn."""
CHAINS = 2
"""Gibbs chains that run in parallel."""
INERTIA_WITH_GROUPS = 0.6
"""Share of the reduced form's inertia that is left when groups and links carry the rest, to start from."""


@dataclass(frozen=True, eq=False)
class Observations:
    """What features say of the states, at the padded times.

    Attributes:
        value: z ``[T, N, K]``.
        added: variance that missing features add ``[T, N, K]``.
        observed: True where there is an observation ``[T, N, 1]``.
    """

    value: Float[Tensor, "time agent axis"]
    added: Float[Tensor, "time agent axis"]
    observed: Bool[Tensor, "time agent one"]

    def precision(self, dynamics: Dynamics) -> Float[Tensor, "time agent axis"]:
        """Precision of every observation; 0 where there is none."""
        return self.observed / (dynamics.observation_variance + self.added)

    def until(self, origin: int) -> Observations:
        """Return those up to a time index of the data."""
        end = PADDING + origin + 1
        return Observations(self.value[:end], self.added[:end], self.observed[:end])

    def extended(self, steps: int) -> Observations:
        """Append times without observations."""
        pad = (0, 0, 0, 0, 0, steps)
        return Observations(
            torch.nn.functional.pad(self.value, pad),
            torch.nn.functional.pad(self.added, pad),
            torch.nn.functional.pad(self.observed, pad),
        )


@dataclass(frozen=True, eq=False)
class StateBelief:
    """What is believed of the states, at the padded times and ``ahead`` unobserved ones.

    Attributes:
        mean: smoothed ``[T, N, K]``.
        variance: smoothed ``[T, N, K]``.
        filtered: moments of states and persistent effects given the past.
        cavity_mean: mean without the outcome of the same time ``[T, N, K]``.
        cavity_variance: variance without it.
        site_precision: what outcomes add ``[T, N, K]``.
        site_weighted: precision-weighted means of the same.
        ahead: unobserved times at the end.
    """

    mean: Float[Tensor, "time agent axis"]
    variance: Float[Tensor, "time agent axis"]
    filtered: Filtered
    cavity_mean: Float[Tensor, "time agent axis"]
    cavity_variance: Float[Tensor, "time agent axis"]
    site_precision: Float[Tensor, "time agent axis"]
    site_weighted: Float[Tensor, "time agent axis"]
    ahead: int

    @property
    def origin(self) -> int:
        """Index of the last observed time, among the padded ones."""
        return len(self.mean) - 1 - self.ahead


@dataclass(frozen=True, eq=False)
class StateModel:
    """A fitted model of the states.

    Attributes:
        axes: map from features to axes.
        plain: dynamics of the reduced form, without groups and links.
        dynamics: with them.
        links: candidates and posterior moments; None without any.
        structure: posterior of the links; None without any.
        readout: from states to outcomes.
        length_variance: of the lengths by which observations vary without meaning.
        variance_scale: share of the claimed variance that past forecasts needed (axes count as independent).
    """

    axes: StateAxes
    plain: Dynamics
    dynamics: Dynamics
    links: Links | None
    structure: StructurePosterior | None
    readout: Readout
    length_variance: float
    variance_scale: float

    def for_agents(self, place: Int[Tensor, " agent"]) -> StateModel:
        """Return the same model for other agents.

        Args:
            place: position of each agent among those learned, -1 for unseen agents.
        """
        learned = len(self.dynamics.inertia)
        links = None if self.links is None else self.links.for_agents(place, learned)
        return replace(self, plain=self.plain.for_agents(place), dynamics=self.dynamics.for_agents(place), links=links)

    def without_links(self) -> StateModel:
        """Return the model with all links cut, and nothing else changed."""
        return replace(self, links=None, structure=None)

    def infer(
        self,
        inputs: ModelInputs,
        ahead: int = 1,
        rounds: int = ROUNDS,
        start: StateBelief | None = None,
        readout: Readout | None = None,
        observations: Observations | None = None,
    ) -> StateBelief:
        """Infer the states of all agents from everything in ``inputs``.

        Args:
            inputs: times up to the origin.
            ahead: further times to forecast.
            rounds: of message passing between agents and outcomes.
            start: belief to start from.
            readout: through which outcomes update states; that of the model by default.
            observations: of the same times, where they were read off the features before.
        """
        if observations is None:
            observations = self.observations(inputs)
        observations = rescaled(observations, self.plain, self.length_variance)
        through = self.readout if readout is None else readout
        remainder = self.axes.remainder(inputs)
        return infer_states(
            self.dynamics, self.plain, self.links, observations, inputs, through, remainder, ahead, rounds, start
        )

    def observations(self, inputs: ModelInputs) -> Observations:
        """What features say of the states, before lengths are taken off."""
        return observe(self.axes, inputs)

    def forecast(self, inputs: ModelInputs, horizon: int) -> tuple[PredictiveDistribution, StateBelief]:
        """Predictive distribution of the outcomes ``horizon`` steps after the last time.

        Args:
            inputs: times up to the origin.
            horizon: steps ahead.
        """
        belief = self.infer(inputs, horizon)
        return self.read(belief, inputs, self.variance_scale), belief

    def read(self, belief: StateBelief, inputs: ModelInputs, scale: float) -> PredictiveDistribution:
        """Predictive distribution at the last time of a belief.

        Args:
            belief: with unobserved times at the end.
            inputs: times up to the origin.
            scale: share of the claimed variance.
        """
        remainder = self.axes.remainder(inputs)[-1]
        variance = scale * self.forecast_variance(belief)
        return self.readout.distribution(belief.mean[-1], variance, remainder)

    def forecast_variance(self, belief: StateBelief) -> Float[Tensor, "agent axis"]:
        """Variance of the last state, with what is not known of the coefficients of links."""
        variance = belief.variance[-1]
        if self.links is None:
            return variance
        unknown = (self.links.square - self.links.mean.square()).clamp(min=0)
        spread = sum_over_sources(self.links.matrix(unknown), belief.mean[-2:-1].square())
        return variance + spread[0]


def observe(axes: StateAxes, inputs: ModelInputs) -> Observations:
    """Read the axes off features, with unobserved times before the first one.

    Args:
        axes: learned.
        inputs: features.
    """
    value, added, observed = axes.observe(inputs)
    pad = (0, 0, 0, 0, PADDING, 0)
    return Observations(
        torch.nn.functional.pad(value, pad),
        torch.nn.functional.pad(added, pad),
        torch.nn.functional.pad(observed.unsqueeze(-1), pad),
    )


def rescaled(observations: Observations, plain: Dynamics, length_variance: float) -> Observations:
    r"""Divide each observation by its length relative to what the rest of its chain expects.

    .. math:: l = \frac{\sum_k w_k m_k (z_k - m_k)}{\sum_k w_k m_k^2 + 1/\tau^2}, \qquad z \leftarrow z / (1 + l)

    m and w are mean and precision of z given all other observations of the agent. The divisor is at least 0.3.

    Args:
        observations: z.
        plain: dynamics of the reduced form.
        length_variance: :math:`\tau^2`; 0 leaves observations alone.
    """
    if length_variance <= 0:
        return observations
    information, off = _length_evidence(observations, plain)
    length = off / (information + 1.0 / length_variance)
    divisor = (1.0 + length).clamp(min=0.3)
    return replace(observations, value=observations.value / divisor.unsqueeze(-1))


def learn_length_variance(observations: Observations, plain: Dynamics) -> float:
    """Variance of the lengths of observations, by expectation maximisation.

    Args:
        observations: z, not rescaled.
        plain: dynamics of the reduced form.
    """
    information, off = _length_evidence(observations, plain)
    seen = observations.observed.squeeze(-1)
    if not bool(seen.any()):
        return 0.0
    variance = 0.02
    for _ in range(10):
        left = 1.0 / (information + 1.0 / variance)
        length = off * left
        variance = float((length.square() + left)[seen].mean())
    return variance


def _length_evidence(observations: Observations, plain: Dynamics) -> tuple[Tensor, Tensor]:
    precision = observations.precision(plain)
    filtered = reduced_form(plain, observations.value, precision)
    mean, variance = kalman_smoother(plain.inertia.unsqueeze(1), filtered)
    rest = (1.0 / variance - precision).clamp(min=1e-3)
    expected = (mean / variance - observations.value * precision) / rest
    weight = observations.observed / (1.0 / rest + 1.0 / precision.clamp(min=1e-12))
    information = (weight * expected.square()).sum(-1)
    off = (weight * expected * (observations.value - expected)).sum(-1)
    return information, off


def infer_states(
    dynamics: Dynamics,
    plain: Dynamics,
    links: Links | None,
    observations: Observations,
    inputs: ModelInputs,
    readout: Readout | None,
    remainder: Float[Tensor, "time agent"],
    ahead: int,
    rounds: int,
    start: StateBelief | None = None,
) -> StateBelief:
    """Smooth all chains in turn with what they believe of each other, and with the outcomes.

    Args:
        dynamics: of the chains.
        plain: of the reduced form, for the first beliefs.
        links: who acts on whom.
        observations: of the states.
        inputs: outcomes and groups.
        readout: through which outcomes update states; None leaves outcomes out.
        remainder: what other features say of the noise of outcomes.
        ahead: unobserved times at the end.
        rounds: of message passing.
        start: belief to start from.
    """
    observed = observations.extended(ahead)
    precision = observed.precision(dynamics)
    weighted = precision * observed.value
    inertia = dynamics.inertia.unsqueeze(1)
    if start is None:
        filtered = reduced_form(plain, observed.value, observed.precision(plain))
        mean, variance = kalman_smoother(plain.inertia.unsqueeze(1), filtered)
        site_precision = torch.zeros_like(mean)
        site_weighted = torch.zeros_like(mean)
    else:
        filtered = start.filtered
        mean = start.mean
        variance = start.variance
        site_precision = start.site_precision
        site_weighted = start.site_weighted
    cavity_mean = mean
    cavity_variance = variance
    coefficients = None if links is None else links.matrix(links.mean)
    squares = None if links is None else links.matrix(links.square)
    time, agent = inputs.y_mask.nonzero(as_tuple=True)
    outcome = inputs.y[time, agent]
    at = time + PADDING
    for turn in range(rounds):
        control = dynamics.group_force * inertia * group_messages(mean, inputs.groups, dynamics.state_scale)
        added = None
        if coefficients is not None and squares is not None:
            control = control + sum_over_sources(coefficients, mean)
            added = sum_over_sources(squares, variance)
        total = precision + site_precision
        value = (weighted + site_weighted) / total.clamp(min=1e-12)
        filtered = kalman_filter(dynamics.chains(added), value, total, control)
        new_mean, new_variance = kalman_smoother(inertia, filtered)
        mean = DAMPING * mean + (1 - DAMPING) * new_mean
        variance = DAMPING * variance + (1 - DAMPING) * new_variance
        cavity_precision = (1.0 / new_variance - site_precision).clamp(min=1e-6)
        cavity_mean = (new_mean / new_variance - site_weighted) / cavity_precision
        cavity_variance = 1.0 / cavity_precision
        if readout is None or turn % SITE_EVERY:
            continue
        centre = cavity_mean[at, agent]
        spread = cavity_variance[at, agent]
        first, curvature = readout.site_derivatives(centre, spread, outcome, remainder[time, agent])
        tau, eta = outcome_site(first, curvature, centre, spread)
        keep = SITE_DAMPING
        new_precision = torch.zeros_like(site_precision)
        new_weighted = torch.zeros_like(site_weighted)
        new_precision[at, agent] = tau
        new_weighted[at, agent] = eta
        site_precision = keep * site_precision + (1 - keep) * new_precision
        site_weighted = keep * site_weighted + (1 - keep) * new_weighted
    return StateBelief(mean, variance, filtered, cavity_mean, cavity_variance, site_precision, site_weighted, ahead)


@dataclass(frozen=True, eq=False)
class FittedChains:
    """States without outcomes: what features alone teach.

    Attributes:
        axes: map from features to axes.
        plain: reduced form.
        dynamics: with groups and links.
        links: candidates and posterior moments.
        structure: posterior of the links.
        length_variance: of observations.
    """

    axes: StateAxes
    plain: Dynamics
    dynamics: Dynamics
    links: Links | None
    structure: StructurePosterior | None
    length_variance: float


def fit_chains(
    inputs: ModelInputs,
    *,
    most_axes: int,
    seed: int,
    keep: int = 0,
    forbidden: Sequence[tuple[int, int]] = (),
    required: Sequence[tuple[int, int]] = (),
) -> FittedChains | None:
    """Learn axes, dynamics and links from features; None where features say nothing that persists.

    Args:
        inputs: training times.
        most_axes: at most this many axes.
        seed: of the sampler.
        keep: structures to keep from the last round.
        forbidden: (source, target) positions without a link.
        required: (source, target) positions with one.
    """
    axes = learn_axes(inputs, most_axes)
    if axes is None:
        return None
    raw = observe(axes, inputs)
    nothing = torch.zeros_like(raw.value)
    plain = initial_dynamics(axes.signal, axes.noise, inputs.num_agents)
    plain = learn_chains(plain, raw.value, raw.added, raw.observed, nothing, nothing, with_inertia=True, iterations=25)
    length_variance = learn_length_variance(raw, plain)
    observations = rescaled(raw, plain, length_variance)
    plain = learn_chains(
        plain,
        observations.value,
        observations.added,
        observations.observed,
        nothing,
        nothing,
        with_inertia=True,
        iterations=12,
    )
    observations = rescaled(raw, plain, length_variance)
    links = make_candidates(inputs.groups, seed, forbidden, required)
    if links is None:
        return FittedChains(axes, plain, plain, None, None, length_variance)
    precision = observations.precision(plain)
    filtered = reduced_form(plain, observations.value, precision)
    states, variance = kalman_smoother(plain.inertia.unsqueeze(1), filtered)
    messages = group_messages(states, inputs.groups, plain.state_scale)
    data = without_common_shocks(ChainData(observations.value, precision, states, variance, messages))
    dynamics = replace(
        plain,
        inertia=INERTIA_WITH_GROUPS * plain.inertia,
        effect_variance=0.5 / INERTIA_WITH_GROUPS**2 * plain.effect_variance,
    )
    must = _required_slots(links, required)
    prior = LinkPrior()
    structure = None
    for turn in range(LINK_ROUNDS):
        last = turn == LINK_ROUNDS - 1
        structure = learn_structure(
            dynamics,
            links,
            data,
            prior,
            sweeps=SWEEPS,
            burn_in=SWEEPS // 3,
            chains=CHAINS,
            seed=seed + turn,
            required=must,
            keep=keep if last else 0,
        )
        if last:
            structure, comparison = calibrate_links(structure, dynamics, data, seed, must)
            if keep:
                structure = check_links(structure, comparison, dynamics, plain, data, inputs.groups, seed)
        links = structure.links
        prior = structure.prior
        dynamics = replace(dynamics, inertia=structure.inertia, group_force=prior.group_force)
        control = sum_over_sources(links.matrix(links.mean), states)
        control = control + prior.group_force * dynamics.inertia.unsqueeze(1) * messages
        unknown = (links.square - links.mean.square()).clamp(min=0)
        added = source_variance(links, variance) + sum_over_sources(links.matrix(unknown), states.square())
        dynamics = learn_chains(
            dynamics,
            observations.value,
            observations.added,
            observations.observed,
            control,
            added,
            with_inertia=False,
            iterations=10,
        )
    return FittedChains(axes, plain, dynamics, links, structure, length_variance)


def _required_slots(links: Links, required: Sequence[tuple[int, int]]) -> Bool[Tensor, "agent candidate"] | None:
    if not required:
        return None
    must = torch.zeros_like(links.is_candidate)
    for source, target in required:
        must[target] |= (links.source[target] == source) & links.is_candidate[target]
    return must


def fit_outcomes(
    chains: FittedChains,
    inputs: ModelInputs,
    *,
    origins: Sequence[int],
    horizon: int,
    agents: Bool[Tensor, " agent"] | None = None,
    variance_scale: float | None = None,
) -> StateModel:
    """Learn the readout and what outcomes say of states, in turn; then how much of the claimed variance is needed.

    Args:
        chains: learned from features.
        inputs: training times.
        origins: past origins whose forecasts choose the variance scale.
        horizon: steps ahead.
        agents: True for agents whose outcomes may be learned from; all by default.
        variance_scale: where it was chosen before.
    """
    learned = inputs
    if agents is not None:
        learned = inputs.hide_outcomes((~agents).expand_as(inputs.y_mask))
    time, agent = learned.y_mask.nonzero(as_tuple=True)
    outcome = learned.y[time, agent]
    readout = initial_readout(outcome, inputs.num_classes, chains.axes.num_axes)
    model = StateModel(
        axes=chains.axes,
        plain=chains.plain,
        dynamics=chains.dynamics,
        links=chains.links,
        structure=chains.structure,
        readout=readout,
        length_variance=chains.length_variance,
        variance_scale=1.0,
    )
    observations = rescaled(model.observations(learned), model.plain, model.length_variance)
    remainder = model.axes.remainder(learned)
    at = time + PADDING

    def infer(through: Readout | None, rounds: int, start: StateBelief | None) -> StateBelief:
        return infer_states(
            model.dynamics, model.plain, model.links, observations, learned, through, remainder, 1, rounds, start
        )

    belief = infer(None, 10, None)
    for turn in range(OUTCOME_ROUNDS):
        readout = learn_readout(
            readout,
            belief.cavity_mean[at, agent],
            belief.cavity_variance[at, agent],
            outcome,
            remainder[time, agent],
            iterations=20 if turn == 0 else 8,
        )
        belief = infer(readout, 5, belief)
    model = replace(model, readout=readout)
    if variance_scale is not None:
        return replace(model, variance_scale=variance_scale)
    return replace(model, variance_scale=choose_variance_scale(model, inputs, origins, horizon, agents))


def choose_variance_scale(
    model: StateModel,
    inputs: ModelInputs,
    origins: Sequence[int],
    horizon: int,
    agents: Bool[Tensor, " agent"] | None = None,
) -> float:
    """Share of the claimed variance at which past origins were forecast best.

    Args:
        model: with a readout.
        inputs: training times.
        origins: to forecast from.
        horizon: steps ahead.
        agents: True for agents to judge; all by default.
    """
    totals = dict.fromkeys(VARIANCE_SCALES, 0.0)
    observations = model.observations(inputs)
    for origin in origins:
        known = inputs.until(origin)
        belief = model.infer(known, horizon, observations=observations.until(origin))
        rows = inputs.y_mask[origin + horizon]
        if agents is not None:
            rows = rows & agents
        for scale in VARIANCE_SCALES:
            nll = model.read(belief, known, scale).nll(inputs.y[origin + horizon])
            totals[scale] += float(nll[rows].sum())
    return min(totals, key=lambda scale: totals[scale])
