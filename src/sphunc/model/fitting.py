"""The fit: base, states and their pool, judged on held-out origins or agents; then everything again on all data.

Stages: fit the base on everything; hold out, fit a base of the same penalties and the states on the rest; forecast what
was held out; choose the pool, the fusion, the temperature and the conformal scores; fit the states on everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.forecasting import (
    NORMAL,
    Categorical,
    Gaussian,
    PredictiveDistribution,
    Tails,
    class_forecasts,
    concatenate,
    conformal_scores,
    number_forecasts,
    pool,
)
from sphunc.model.axes import StateAxes, learn_axes, principal_axes, reduce_features
from sphunc.model.base import BaseRegression, fit_base
from sphunc.model.beliefs import (
    Support,
    belief_entropy,
    belief_reliability,
    concentration,
    learn_support,
    own_evidence,
    scaled_entropy,
    staleness,
    state_reliability,
)
from sphunc.model.covariates import Covariates, make_covariates
from sphunc.model.dynamics import PADDING
from sphunc.model.inputs import ModelInputs
from sphunc.model.regression import with_intercept
from sphunc.model.states import FittedChains, StateBelief, StateModel, fit_chains, fit_outcomes
from sphunc.model.uncertainty import (
    Fusion,
    HeldOut,
    Temperature,
    aleatoric_variance,
    clustered_error,
    fit_fusion,
    fit_tails,
    fit_temperature,
    passes_gate,
)

POOL_WEIGHTS = (0.0, 0.25, 0.5, 0.75)
CLASS_GATE = 2.0
NUMBER_GATE = 4.0
"""Standard errors by which states must improve held-out forecasts. Those of numbers share the shocks of their time,
which errors clustered by agent do not know."""
FEWEST_ORIGINS = 5
"""Origins from which on later ones are held out; with fewer, agents are."""
ENOUGH_ROWS = 300
"""Held-out rows that calibration aims at, where there are times enough."""
FOLDS = 3
SCALE_ORIGINS = 3
MOST_HELD_OUT = 6
KEPT_STRUCTURES = 100
AGE_WIDENING = 0.05
"""Temperature that each time without any observation of an agent adds: forecasts of agents last seen long ago widen."""
COLUMNS_PER_FEATURE = 4
ROWS_PER_COLUMN = 10
MOST_FEATURES = 200
REDUCED_AXES = 12
"""Features enter the base through so many axes where a column would have fewer than 10 rows."""

Report = Callable[[str, float], None]
Stage = TypeVar("Stage")


@runtime_checkable
class Stages(Protocol):
    """Runs the stages of a fit."""

    def run(self, name: str, compute: Callable[[], Stage]) -> Stage:
        """Return the result of a stage."""
        ...


def _run_stage(name: str, compute: Callable[[], Stage]) -> Stage:
    return compute()


@dataclass(frozen=True, eq=False)
class Parts:
    """A forecast of all agents from one origin, in its parts.

    Attributes:
        base: of the covariates alone.
        states: of the states alone, with links; the base where there are none.
        sharp_base: the base if its coefficients were known.
        sharp_states: the states' forecast if states and coefficients were known.
        outcome_reliability: share of an agent's own tendency that its observations tell ``[N]``.
        state_reliability: share of its state that is known ``[N]``.
        granted: share of the concentration that support and coefficients grant ``[N]``.
        age: times since anything of the agent was observed ``[N]``.
        belief: of the states; None without any.
    """

    base: PredictiveDistribution
    states: PredictiveDistribution
    sharp_base: PredictiveDistribution
    sharp_states: PredictiveDistribution
    outcome_reliability: Float[Tensor, " agent"]
    state_reliability: Float[Tensor, " agent"]
    granted: Float[Tensor, " agent"]
    age: Float[Tensor, " agent"]
    belief: StateBelief | None


@dataclass(frozen=True, eq=False)
class Predictor:
    """Base and states, before they are pooled.

    Attributes:
        base: regression on covariates.
        states: model of the states, or None.
        support: training states, or None.
        reduction: axes through which features enter the base where they are many; None takes them as they are.
        horizon: steps ahead.
    """

    base: BaseRegression
    states: StateModel | None
    support: Support | None
    reduction: StateAxes | None
    horizon: int

    def covariates(self, inputs: ModelInputs) -> Covariates:
        """Covariates of the base at all times of ``inputs``."""
        return make_covariates(_reduced(self.reduction, inputs))

    def parts(self, inputs: ModelInputs, covariates: Covariates, origin: int) -> Parts:
        """Forecast all agents from an origin.

        Args:
            inputs: times up to the origin, or more.
            covariates: of the base, at the same times.
            origin: time index.
        """
        inputs = inputs.until(origin)
        base = self.base.at(covariates, origin)
        sharp_base = _sharp_base(self.base, covariates, origin)
        by_outcomes = own_evidence(inputs.y_mask, inputs.observed).reliability
        age = staleness(inputs.y_mask, inputs.observed)
        granted = torch.full_like(age, self.base.granted)
        if self.states is None:
            known = torch.ones_like(age)
            return Parts(base, base, sharp_base, sharp_base, by_outcomes, known, granted, age, None)
        distribution, belief = self.states.forecast(inputs, self.horizon)
        sharp, reducible = _sharp_states(self.states, belief, inputs, self.horizon)
        by_states = state_reliability(reducible, self.states.dynamics.state_scale**2)
        if self.support is not None:
            granted = granted * self.support.share(belief.mean[belief.origin])
        return Parts(base, distribution, sharp_base, sharp, by_outcomes, by_states, granted, age, belief)


def _sharp_base(base: BaseRegression, covariates: Covariates, origin: int) -> PredictiveDistribution:
    """Forecast at the estimated coefficients."""
    design = with_intercept(base.standardiser(covariates.at(origin)))
    mean = design @ base.coefficients
    if not base.is_numeric:
        return Categorical(torch.log_softmax(mean, 1))
    return Gaussian(mean + covariates.reference(origin), base.noise(design))


def _sharp_states(
    model: StateModel, belief: StateBelief, inputs: ModelInputs, horizon: int
) -> tuple[PredictiveDistribution, Float[Tensor, "agent axis"]]:
    """Forecast with transition noise alone, and the variance of the forecast state that more data could reduce."""
    inertia = model.dynamics.inertia.unsqueeze(1)
    noise = torch.zeros_like(belief.variance[-1])
    for _ in range(horizon):
        noise = inertia.square() * noise + model.dynamics.transition_variance
    total = model.forecast_variance(belief)
    reducible = (total - noise).clamp(min=1e-6)
    remainder = model.axes.remainder(inputs)[-1]
    irreducible = torch.minimum(noise, total) * model.variance_scale
    return model.readout.distribution(belief.mean[-1], irreducible, remainder), reducible


@dataclass(frozen=True)
class ComparisonRow:
    """One model of the comparison on held-out outcomes.

    Attributes:
        model: its name.
        nll: mean negative log-likelihood, in nats.
        gain: in nats over the row before it in the list of nested models; 0 for the first.
        error: paired standard error of the gain, clustered by agent.
    """

    model: str
    nll: float
    gain: float
    error: float


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Everything that was learned.

    Attributes:
        predictor: base and states, fitted on all data.
        one_step: the same at horizon 1, for simulation; the predictor itself at horizon 1.
        weight: alpha, of the states in the pool.
        fusion: of both parts of uncertainty.
        temperature: of the pooled forecasts.
        scores: conformal scores, ascending ``[n]``.
        held_out: what was held out: "origins", "agents" or "nothing".
        comparison: nested models on held-out outcomes.
        quick: True for the base alone.
        tails: of the errors of numbers.
    """

    predictor: Predictor
    one_step: Predictor
    weight: float
    fusion: Fusion
    temperature: Temperature
    scores: Float[Tensor, " row"]
    held_out: str
    comparison: tuple[ComparisonRow, ...]
    quick: bool = False
    tails: Tails = NORMAL

    @property
    def num_axes(self) -> int:
        """K, 0 without states."""
        states = self.predictor.states
        return 0 if states is None else states.axes.num_axes

    def forecast(self, inputs: ModelInputs, place: Int[Tensor, " agent"] | None = None) -> ModelForecast:
        """Forecast all agents from the last time.

        Args:
            inputs: times up to the origin.
            place: position of each agent among those learned, -1 for unseen ones; None where they are the same.
        """
        predictor = self.predictor
        if place is not None and predictor.states is not None:
            states = predictor.states.for_agents(place)
            predictor = replace(predictor, states=states)
        parts = predictor.parts(inputs, predictor.covariates(inputs), inputs.num_times - 1)
        found = combine(parts, self.weight, self.fusion, self.temperature, max(2, self.num_axes))
        if isinstance(found.distribution, Gaussian):
            found = replace(found, distribution=replace(found.distribution, tails=self.tails))
        return found


@dataclass(frozen=True, eq=False)
class ModelForecast:
    """Calibrated forecast of all agents, with both parts of its uncertainty.

    Attributes:
        distribution: predictive distribution.
        epistemic: entropy of the belief on the sphere, in nats ``[N]``.
        epistemic_scaled: between 0 and 1 ``[N]``.
        aleatoric: uncertainty of the outcome that is left if parameters were known ``[N]``.
        total: fused ``[N]``.
        kappa: concentration of the belief ``[N]``.
        belief: of the states; None without any.
    """

    distribution: PredictiveDistribution
    epistemic: Float[Tensor, " agent"]
    epistemic_scaled: Float[Tensor, " agent"]
    aleatoric: Float[Tensor, " agent"]
    total: Float[Tensor, " agent"]
    kappa: Float[Tensor, " agent"]
    belief: StateBelief | None


def combine(parts: Parts, weight: float, fusion: Fusion, temperature: Temperature, dim: int) -> ModelForecast:
    """Pool base and states, fuse the parts of uncertainty, and temper.

    Args:
        parts: of the forecast.
        weight: of the states in the pool.
        fusion: of the parts of uncertainty.
        temperature: of forecasts.
        dim: of the sphere's ambient space.
    """
    distribution = pool(parts.base, parts.states, weight)
    sharp = pool(parts.sharp_base, parts.sharp_states, weight)
    reliability = belief_reliability(parts.outcome_reliability, parts.state_reliability, parts.granted)
    kappa = concentration(reliability, dim)
    scaled = scaled_entropy(kappa, dim)
    aleatoric = aleatoric_variance(sharp)
    total = fusion(scaled, aleatoric)
    return ModelForecast(
        distribution=distribution.tempered(temperature.of(total) * (1.0 + AGE_WIDENING * parts.age)),
        epistemic=belief_entropy(kappa, dim),
        epistemic_scaled=scaled,
        aleatoric=aleatoric,
        total=total,
        kappa=kappa,
        belief=parts.belief,
    )


@dataclass(frozen=True, eq=False)
class HeldOutForecasts:
    """Forecasts of what was held out, row by row.

    Attributes:
        held: the rows.
        base: forecasts of the base.
        states: of the states with links.
        unlinked: of the states without links.
        parts: per row: outcome reliability, state reliability, granted ``[n, 3]``.
        sharp_base: base without what is not known.
        sharp_states: states without it.
        frequencies: what an agent's past says of nobody in particular.
        persistence: what its last outcome says.
    """

    held: HeldOut
    frequencies: PredictiveDistribution
    persistence: PredictiveDistribution
    base: PredictiveDistribution
    states: PredictiveDistribution
    unlinked: PredictiveDistribution
    parts: Float[Tensor, "row 3"]
    sharp_base: PredictiveDistribution
    sharp_states: PredictiveDistribution


def fit_model(
    inputs: ModelInputs,
    *,
    horizon: int,
    most_axes: int,
    quick: bool,
    seed: int,
    forbidden: Sequence[tuple[int, int]] = (),
    required: Sequence[tuple[int, int]] = (),
    report: Report = lambda stage, share: None,
    stages: Stages | None = None,
) -> FittedModel:
    """Fit the default model.

    Args:
        inputs: training times.
        horizon: steps ahead.
        most_axes: at most this many state axes.
        quick: the base alone.
        seed: of everything random.
        forbidden: (source, target) positions without a link.
        required: (source, target) positions with one.
        report: called with the name of a stage and the share of the work done.
        stages: runs the stages, or reads those that were kept.
    """
    known = known_agents(inputs)
    last = inputs.num_times - 1 - horizon
    origins = [o for o in range(last + 1) if bool((inputs.y_mask[o + horizon] & known[o]).any())]
    trial = _Trial(horizon, most_axes, quick, seed, forbidden, required, report)
    run = _run_stage if stages is None else stages.run
    alone = run("base", lambda: trial.fit_base_alone(inputs, origins))
    held = run("held_out", lambda: trial.hold_out(inputs, known, origins, alone))
    report("states and links", 0.5)
    chains = run("chains", lambda: trial.final_chains(inputs))
    report("readout", 0.7)
    final = run("final", lambda: trial.predictor(alone.base, chains, inputs, origins, alone.reduction))
    one_step = final
    if horizon > 1:
        steps = [o for o in range(inputs.num_times - 1) if bool((inputs.y_mask[o + 1] & known[o]).any())]
        base = fit_base(final.covariates(inputs), steps, 1, seed)
        one_step = replace(final, base=base, horizon=1)
    report("calibration", 0.95)
    calibrated = _calibrated(final, one_step, held, trial.scheme(inputs, origins), inputs)
    return replace(calibrated, quick=quick)


def known_agents(inputs: ModelInputs) -> Bool[Tensor, "time agent"]:
    """True where anything of an agent was observed up to a time ``[T, N]``."""
    seen = inputs.observed | inputs.y_mask
    return seen.cumsum(0) > 0


def _reduced(reduction: StateAxes | None, inputs: ModelInputs) -> ModelInputs:
    if reduction is None:
        return inputs
    return reduce_features(reduction, inputs)


def choose_reduction(inputs: ModelInputs) -> StateAxes | None:
    """Axes through which features enter the base where their columns are many for the rows; else None.

    Args:
        inputs: training times.
    """
    features = inputs.x.shape[2]
    rows = int(inputs.y_mask.sum())
    columns = COLUMNS_PER_FEATURE * features
    if columns * ROWS_PER_COLUMN <= rows and features <= MOST_FEATURES:
        return None
    axes = learn_axes(inputs, REDUCED_AXES)
    if axes is None and columns > rows:
        return principal_axes(inputs, REDUCED_AXES)
    return axes


class _Trial:
    """One fit with its hold-out."""

    def __init__(
        self,
        horizon: int,
        most_axes: int,
        quick: bool,
        seed: int,
        forbidden: Sequence[tuple[int, int]],
        required: Sequence[tuple[int, int]],
        report: Report,
    ) -> None:
        self.horizon = horizon
        self.most_axes = most_axes
        self.quick = quick
        self.seed = seed
        self.forbidden = forbidden
        self.required = required
        self.report = report
        self.chains: FittedChains | None = None
        self.has_chains = False
        self.variance_scale: float | None = None

    def learn_chains(self, inputs: ModelInputs, keep: int) -> FittedChains | None:
        """Learn states from features, unless only the base is wanted."""
        if self.quick or not inputs.x.shape[2]:
            return None
        return fit_chains(
            inputs,
            most_axes=self.most_axes,
            seed=self.seed,
            keep=keep,
            forbidden=self.forbidden,
            required=self.required,
        )

    def predictor(
        self,
        base: BaseRegression,
        chains: FittedChains | None,
        inputs: ModelInputs,
        origins: Sequence[int],
        reduction: StateAxes | None,
        agents: Bool[Tensor, " agent"] | None = None,
    ) -> Predictor:
        """Join a base with states whose readout is learned from the outcomes of some agents."""
        if chains is None:
            return Predictor(base, None, None, reduction, self.horizon)
        # The final fit chooses its own, whether or not held-out agents were judged in this process.
        scale = self.variance_scale if agents is not None else None
        states = fit_outcomes(
            chains,
            inputs,
            origins=list(origins)[-SCALE_ORIGINS:],
            horizon=self.horizon,
            agents=agents,
            variance_scale=scale,
        )
        if agents is not None:
            self.variance_scale = states.variance_scale
        return Predictor(base, states, _support(states, inputs), reduction, self.horizon)

    def final_chains(self, inputs: ModelInputs) -> FittedChains | None:
        """Learn states from all features, unless held-out agents needed them already."""
        if self.has_chains:
            return self.chains
        return self.learn_chains(inputs, KEPT_STRUCTURES)

    def fit_base_alone(self, inputs: ModelInputs, origins: Sequence[int]) -> Predictor:
        """Fit the base on everything."""
        reduction = choose_reduction(inputs)
        base = fit_base(make_covariates(_reduced(reduction, inputs)), origins, self.horizon, self.seed)
        return Predictor(base, None, None, reduction, self.horizon)

    def hold_out(
        self,
        inputs: ModelInputs,
        known: Bool[Tensor, "time agent"],
        origins: Sequence[int],
        alone: Predictor,
    ) -> HeldOutForecasts | None:
        """Forecast what is held out: the last origins, or agents in folds where origins are few.

        Held-out forecasts are to be as good as the final ones, so that the pool, the temperature and the sets suit
        these: their base has the penalties, columns and half-life that were chosen on all data.
        """
        scheme = self.scheme(inputs, origins)
        if scheme == "agents":
            return self._agent_folds(inputs, known, origins, alone)
        if scheme == "nothing":
            return None
        rows = float(inputs.y_mask.sum(1).double().mean())
        wanted = math.ceil(ENOUGH_ROWS / max(1.0, rows))
        count = min(max(2, wanted), max(2, len(origins) // 4), MOST_HELD_OUT)
        return self._later_origins(inputs, known, origins, count, alone)

    def scheme(self, inputs: ModelInputs, origins: Sequence[int]) -> str:
        """What is held out: "origins", "agents" or "nothing"."""
        if len(origins) >= FEWEST_ORIGINS:
            return "origins"
        if not origins or inputs.num_agents < 2 * FOLDS:
            return "nothing"
        return "agents"

    def _later_origins(
        self,
        inputs: ModelInputs,
        known: Bool[Tensor, "time agent"],
        origins: Sequence[int],
        count: int,
        alone: Predictor,
    ) -> HeldOutForecasts | None:
        held = list(origins)[-count:]
        past = inputs.until(held[0])
        before = [o for o in origins if o + self.horizon <= held[0]]
        if not before:
            return None
        base = fit_base(alone.covariates(past), before, self.horizon, self.seed, like=alone.base)
        self.report("held-out states", 0.1)
        chains = self.learn_chains(past, 0)
        predictor = self.predictor(base, chains, past, before, alone.reduction)
        covariates = predictor.covariates(inputs)
        half = held[len(held) // 2] if len(held) > 2 else held[-1]
        rows = []
        for origin in held:
            wanted = inputs.y_mask[origin + self.horizon] & known[origin]
            block = int(origin >= half)
            rows.append(self._held_out_forecasts(predictor, inputs, covariates, origin, wanted, block))
        return _joined(rows)

    def _agent_folds(
        self,
        inputs: ModelInputs,
        known: Bool[Tensor, "time agent"],
        origins: Sequence[int],
        alone: Predictor,
    ) -> HeldOutForecasts | None:
        generator = torch.Generator().manual_seed(self.seed)
        fold = (torch.randperm(inputs.num_agents, generator=generator) % FOLDS).to(inputs.x.device)
        self.chains = self.learn_chains(inputs, KEPT_STRUCTURES)
        self.has_chains = True
        covariates = alone.covariates(inputs)
        rows = []
        for k in range(FOLDS):
            self.report("held-out agents", 0.1 + 0.4 * k / FOLDS)
            kept = fold != k
            if not any(bool((inputs.y_mask[o + self.horizon] & known[o] & kept).any()) for o in origins):
                continue
            base = fit_base(covariates, origins, self.horizon, self.seed, agents=kept, like=alone.base)
            predictor = self.predictor(base, self.chains, inputs, origins, alone.reduction, kept)
            for origin in origins:
                wanted = inputs.y_mask[origin + self.horizon] & known[origin] & ~kept
                if bool(wanted.any()):
                    rows.append(self._held_out_forecasts(predictor, inputs, covariates, origin, wanted, 0))
        return _joined(rows)

    def _held_out_forecasts(
        self,
        predictor: Predictor,
        inputs: ModelInputs,
        covariates: Covariates,
        origin: int,
        wanted: Bool[Tensor, " agent"],
        block: int,
    ) -> HeldOutForecasts:
        parts = predictor.parts(inputs, covariates, origin)
        unlinked = parts.states
        if predictor.states is not None and predictor.states.links is not None:
            unlinked, _ = predictor.states.without_links().forecast(inputs.until(origin), self.horizon)
        agent = wanted.nonzero().flatten()
        frequencies, persistence = simple_forecasts(inputs, origin, self.horizon)
        measures = torch.stack([parts.outcome_reliability, parts.state_reliability, parts.granted], 1)
        return HeldOutForecasts(
            held=HeldOut(agent, torch.full_like(agent, block), inputs.y[origin + self.horizon][agent]),
            frequencies=frequencies.select(agent),
            persistence=persistence.select(agent),
            base=parts.base.select(agent),
            states=parts.states.select(agent),
            unlinked=unlinked.select(agent),
            parts=measures[agent],
            sharp_base=parts.sharp_base.select(agent),
            sharp_states=parts.sharp_states.select(agent),
        )


def _support(states: StateModel, inputs: ModelInputs) -> Support:
    """Reference states: what was believed of every agent when it was observed."""
    observations = states.observations(inputs)
    belief = states.infer(inputs, ahead=0, rounds=4, observations=observations)
    observed = observations.observed.squeeze(-1)
    seen = belief.mean[PADDING:][observed[PADDING:]]
    deviation = float(belief.variance[PADDING:].mean().sqrt())
    return learn_support(seen, deviation)


def _joined(rows: Sequence[HeldOutForecasts]) -> HeldOutForecasts | None:
    if not rows:
        return None
    return HeldOutForecasts(
        held=HeldOut(
            torch.cat([row.held.agent for row in rows]),
            torch.cat([row.held.block for row in rows]),
            torch.cat([row.held.outcome for row in rows]),
        ),
        frequencies=concatenate([row.frequencies for row in rows]),
        persistence=concatenate([row.persistence for row in rows]),
        base=concatenate([row.base for row in rows]),
        states=concatenate([row.states for row in rows]),
        unlinked=concatenate([row.unlinked for row in rows]),
        parts=torch.cat([row.parts for row in rows]),
        sharp_base=concatenate([row.sharp_base for row in rows]),
        sharp_states=concatenate([row.sharp_states for row in rows]),
    )


def simple_forecasts(
    inputs: ModelInputs, origin: int, horizon: int
) -> tuple[PredictiveDistribution, PredictiveDistribution]:
    """Frequencies of all outcomes up to an origin, and what follows the last outcome as often as it did before.

    Args:
        inputs: outcomes.
        origin: time index.
        horizon: steps ahead.
    """
    mask = inputs.y_mask[: origin + 1]
    if inputs.is_numeric:
        return number_forecasts(inputs.y[: origin + 1], mask, horizon)
    return class_forecasts(inputs.labels[: origin + 1], mask, horizon, inputs.num_classes)


def choose_weight(base: PredictiveDistribution, states: PredictiveDistribution, held: HeldOut) -> float:
    """Weight of the states in the pool: the best on held-out outcomes if it passes the gate, else 0.

    Args:
        base: held-out forecasts of the base.
        states: of the states.
        held: the rows.
    """
    before = base.nll(held.outcome)
    errors = NUMBER_GATE if isinstance(base, Gaussian) else CLASS_GATE
    losses = {weight: pool(base, states, weight).nll(held.outcome) for weight in POOL_WEIGHTS}
    best = min(losses, key=lambda weight: float(losses[weight].mean()))
    return best if passes_gate(before - losses[best], held, errors) else 0.0


def _calibrated(
    final: Predictor,
    one_step: Predictor,
    held: HeldOutForecasts | None,
    held_out: str,
    inputs: ModelInputs,
) -> FittedModel:
    if held is None or not len(held.held):
        nothing = inputs.x.new_zeros(0)
        return FittedModel(final, one_step, 0.0, Fusion(), Temperature(), nothing, "nothing", ())
    # Where the process changed, what was held out was forecast by models that had not seen the change, and says
    # nothing about how to weigh or temper those that have.
    has_changed = math.isfinite(final.base.half_life)
    weight = 0.0
    if final.states is not None and not has_changed:
        weight = choose_weight(held.base, held.states, held.held)
    dim = 2 if final.states is None else max(2, final.states.axes.num_axes)
    reliability = belief_reliability(held.parts[:, 0], held.parts[:, 1], held.parts[:, 2])
    scaled = scaled_entropy(concentration(reliability, dim), dim)
    pooled = pool(held.base, held.states, weight)
    sharp = pool(held.sharp_base, held.sharp_states, weight)
    aleatoric = aleatoric_variance(sharp)
    residuals = pooled.squared_error(held.held.outcome)
    fusion = fit_fusion(scaled, aleatoric, residuals, held.held.agent)
    total = fusion(scaled, aleatoric)
    temperature = fit_temperature(pooled, total, held.held)
    if has_changed:
        temperature = Temperature(centre=temperature.centre)
    tempered = pooled.tempered(temperature.of(total))
    scores = conformal_scores(tempered, held.held.outcome, held.held.block).sort().values
    comparison = _compare(held, weight, final)
    tails = fit_tails(tempered, held.held, NUMBER_GATE)
    return FittedModel(final, one_step, weight, fusion, temperature, scores, held_out, comparison, tails=tails)


def _compare(held: HeldOutForecasts, weight: float, final: Predictor) -> tuple[ComparisonRow, ...]:
    """Nested models on the held-out rows, each against the one before it."""
    outcome = held.held.outcome
    steps = [("class frequencies", held.frequencies), ("persistence", held.persistence), ("covariates", held.base)]
    if isinstance(held.base, Gaussian):
        steps[0] = ("mean", held.frequencies)
    if final.states is not None:
        shown = weight if weight > 0 else 0.5
        steps.append(("covariates + states", pool(held.base, held.unlinked, shown)))
        if final.states.links is not None:
            steps.append(("covariates + states + links", pool(held.base, held.states, shown)))
    rows = []
    before = steps[0][1].nll(outcome)
    for name, forecast in steps:
        losses = forecast.nll(outcome)
        gain = before - losses
        error = clustered_error(gain, held.held.agent)
        rows.append(ComparisonRow(name, float(losses.mean()), float(gain.mean()), error))
        # Covariates are held against the better of both simple forecasts.
        if name != "persistence" or float(gain.mean()) > 0:
            before = losses
    return tuple(rows)
