r"""Estimates of a fitted model with standard errors: base coefficients, dynamics, links; how well its sampler mixed.

Coefficients of classes are log odds of a class against all others at average covariates,

.. math:: \theta_c = B_c - \sum_{d \ne c} \frac{\bar p_d}{1 - \bar p_c} B_d

whose curvature is that of a logistic regression of the class against the rest. Errors of the dynamics come from the
marginal likelihood of the features, clustered by agent (the sandwich of White 1982); those of share and size of links
from the structures that the sampler drew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Float, Tensor
from sphunc.forecasting import TrainingSchema, align
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.base import BaseRegression
from sphunc.model.covariates import BLOCKS
from sphunc.model.dynamics import Dynamics, group_messages, reduced_form, sum_over_sources
from sphunc.model.fitting import FittedModel
from sphunc.model.inputs import ModelInputs
from sphunc.model.kalman import kalman_filter, kalman_smoother
from sphunc.model.preparation import Preparation, prepare
from sphunc.model.states import Observations, StateModel, rescaled
from sphunc.model.structure import StructurePosterior, source_variance

QUANTILE = 1.959963984540054
"""Of the standard normal, for an interval that holds 95 %."""
STEP = 1e-3
"""Of finite differences, in logs or in units of the group force."""
CHAINS = 2
"""Gibbs chains whose structures alternate among those kept."""
INDICATORS = ("last outcome = ", "outcome before the last = ", "not observed: ")


@dataclass(frozen=True)
class ParameterEstimate:
    """One parameter with what is known of it.

    Attributes:
        block: what it belongs to.
        parameter: its name.
        outcome: class or number that it acts on; empty for parameters of states and links.
        unit: change of the covariate that the estimate is for.
        estimate: in logits for classes, in units of the outcome for numbers.
        error: standard error, NaN where none can be stated.
        low: end of the 95 % interval.
        high: other end.
        is_log_odds: whether exp(estimate) is an odds ratio.
    """

    block: str
    parameter: str
    outcome: str
    unit: str
    estimate: float
    error: float
    low: float
    high: float
    is_log_odds: bool = False


def covariate_names(features: Sequence[str], outputs: Sequence[str], is_numeric: bool) -> tuple[str, ...]:
    """Names of the covariates of the base, in the order of their columns.

    Args:
        features: names of the features.
        outputs: names of the classes, or of the numbers.
        is_numeric: True for numbers.
    """
    if is_numeric:
        last = [f"last {name} less the mean of all" for name in outputs]
        history = ["recent mean less the last", "last change", "mean change", "size of the last change"]
        history += ["recent mean less the last, if old", "mean change, if old"]
        neighbours = ["co-members' last {} less the mean of all", "co-members' last change of {}"]
        own = [f"{text} ({name})" for text in history for name in outputs]
        others = [text.format(name) for text in neighbours for name in outputs]
        population: list[str] = []
        old = [f"last {name}, if old" for name in outputs] + [f"last {name}, the older" for name in outputs]
    else:
        last = [f"last outcome = {name}" for name in outputs]
        own = [f"own share of {name} (log, relative to all)" for name in outputs]
        own += [f"outcome before the last = {name}" for name in outputs]
        own += [f"own share of {name}, if old" for name in outputs]
        own += [f"last outcome {name} x how often it stays" for name in outputs]
        others = [f"share of {name} among co-members" for name in outputs]
        population = [f"share of {name} among all (log)" for name in outputs]
        population += [f"change of the share of {name} among all (log)" for name in outputs]
        old = [f"last outcome {name}, if old" for name in outputs]
        old += [f"last outcome {name}, the older" for name in outputs]
    return (
        *last,
        *old,
        "age of the last outcome",
        "no outcome so far",
        "share of times with an outcome",
        *own,
        *features,
        *(f"not observed: {name}" for name in features),
        *(f"mean so far of {name}" for name in features),
        *others,
        *(f"co-members' mean of {name}" for name in features),
        "meets nobody",
        "number of groups (log)",
        *population,
    )


def _block_sizes(features: int, outputs: int, is_numeric: bool) -> tuple[int, ...]:
    own = 6 * outputs if is_numeric else 4 * outputs
    neighbours = 2 * outputs if is_numeric else outputs
    population = 0 if is_numeric else 2 * outputs
    return (outputs, 2 * outputs + 3, own, 2 * features, features, neighbours, features + 2, population)


def base_estimates(model: FittedModel, schema: TrainingSchema, preparation: Preparation) -> list[ParameterEstimate]:
    """Coefficients of the base regression; columns that never vary are left out.

    Args:
        model: as fitted.
        schema: names of features and outcomes.
        preparation: units of numbers.
    """
    base = model.predictor.base
    features = _feature_names(model, schema)
    outputs = schema.classes or schema.outcomes or tuple(str(k) for k in range(schema.outputs))
    names = covariate_names(features, outputs, schema.numeric)
    sizes = _block_sizes(len(features), len(outputs), schema.numeric)
    blocks = [block for block, size in zip(BLOCKS, sizes, strict=True) for _ in range(size)]
    if schema.numeric:
        scale = preparation.scale.to(base.coefficients)
        estimate = base.coefficients * scale
        noise = (0.5 * base.log_variance[-1]).exp() * scale
        error = base.covariance[0].diagonal().sqrt().unsqueeze(1) * noise
    else:
        estimate = class_contrasts(base.coefficients)
        error = contrast_errors(base)
    found = []
    shown = range(len(outputs))
    if len(schema.classes) == 2:
        shown = range(1, 2)
    for column in (~base.standardiser.is_constant).nonzero().flatten().tolist():
        spread = float(base.standardiser.scale[column])
        unit = f"1 SD ({spread:.3g})"
        factor = 1.0
        if names[column].startswith(INDICATORS) or names[column] in ("no outcome so far", "meets nobody"):
            unit = "yes against no"
            factor = 1.0 / spread
        found.extend(
            _estimate(
                block=blocks[column],
                parameter=names[column],
                outcome=outputs[output],
                unit=unit,
                estimate=factor * float(estimate[column, output]),
                error=factor * float(error[column, output]),
                is_log_odds=not schema.numeric,
            )
            for output in shown
        )
    return found


@dataclass(frozen=True)
class BlockEstimate:
    """One block of covariates of the base.

    Attributes:
        block: its name.
        columns: that vary.
        penalty: ridge penalty of its coefficients (geometric mean).
        parameters: effective number of them, that the data rather than the penalty decide.
    """

    block: str
    columns: int
    penalty: float
    parameters: float


def block_estimates(model: FittedModel) -> list[BlockEstimate]:
    r"""Size, penalty and effective parameters :math:`\sum_c (n_b - \lambda_b\, \mathrm{tr} V_{c,bb})` of every block.

    Args:
        model: as fitted.
    """
    base = model.predictor.base
    inputs = len(base.penalty)
    outputs = base.coefficients.shape[1]
    features = _count_features(inputs, outputs, base.is_numeric)
    found = []
    start = 0
    for block, size in zip(BLOCKS, _block_sizes(features, outputs, base.is_numeric), strict=True):
        part = slice(start, start + size)
        start += size
        varies = ~base.standardiser.is_constant[part]
        if not bool(varies.any()):
            continue
        penalty = base.penalty[part][varies]
        variance = base.covariance.diagonal(dim1=1, dim2=2)[:, part][:, varies]
        left = (1.0 - penalty * variance).clamp(0.0, 1.0).sum(1)
        # Coefficients of C classes have C - 1 degrees of freedom; numbers share one covariance.
        free = outputs if base.is_numeric else outputs - 1
        found.append(
            BlockEstimate(block, int(varies.sum()), float(penalty.log().mean().exp()), free * float(left.mean()))
        )
    return found


def _count_features(columns: int, outputs: int, is_numeric: bool) -> int:
    """Features of a base with so many columns: every feature has four."""
    return (columns - sum(_block_sizes(0, outputs, is_numeric))) // 4


def _feature_names(model: FittedModel, schema: TrainingSchema) -> tuple[str, ...]:
    reduction = model.predictor.reduction
    if reduction is None:
        return schema.features
    return (*(f"axis {k + 1} of the features" for k in range(reduction.num_axes)), "rest of the features")


def class_contrasts(coefficients: Float[Tensor, "column_and_one class"]) -> Float[Tensor, "column_and_one class"]:
    """Log odds of every class against all others, per unit of each covariate, at average covariates.

    Args:
        coefficients: B, intercept last.
    """
    p = torch.softmax(coefficients[-1], 0)
    mean = coefficients @ p
    return (coefficients - mean.unsqueeze(1)) / (1.0 - p)


def contrast_errors(base: BaseRegression) -> Float[Tensor, "column_and_one class"]:
    r"""Standard errors of :func:`class_contrasts`.

    The penalty :math:`\lambda \|B\|^2 / 2` of C coefficients is :math:`\lambda (C - 1) / C` for the contrast of one
    class with the others.

    Args:
        base: of classes.
    """
    classes = base.coefficients.shape[1]
    penalty = torch.cat([base.penalty, base.penalty.new_zeros(1)])
    excess = torch.diag(penalty / classes)
    errors = []
    for covariance in base.covariance:
        precision = torch.linalg.inv(covariance) - excess
        errors.append(torch.linalg.inv(precision).diagonal().clamp(min=0.0).sqrt())
    return torch.stack(errors, 1)


def state_estimates(
    model: FittedModel,
    schema: TrainingSchema,
    preparation: Preparation,
    data: TemporalHypergraph | None = None,
) -> list[ParameterEstimate]:
    """Inertia, group force and variances of the states, and share, sign and size of the links; empty without states.

    Args:
        model: as fitted.
        schema: of the training data.
        preparation: learned from it.
        data: the training data, from which errors of the dynamics are computed; None leaves these out.
    """
    states = model.predictor.states
    if states is None:
        return []
    errors: dict[str, float] = {}
    errors.update(dict.fromkeys(_PARAMETERS, math.nan))
    if data is not None:
        inputs = prepare(align(data, schema), schema, preparation).inputs
        if inputs.num_agents == len(states.dynamics.inertia):
            errors = dynamics_errors(states, inputs)
    found = _dynamics_estimates(states.dynamics, errors, has_groups=states.links is not None)
    if states.structure is not None:
        found += link_estimates(states.structure, states.dynamics)
    return found


_PARAMETERS = ("inertia", "group force", "transition variance", "effect variance", "observation variance")


def _dynamics_estimates(dynamics: Dynamics, errors: dict[str, float], *, has_groups: bool) -> list[ParameterEstimate]:
    inertia = _positive("inertia (typical agent)", dynamics.inertia, errors["inertia"])
    effect = dynamics.effect_variance * dynamics.inertia.log().mean().exp().square()
    found = [
        inertia,
        _positive("variance of persistent effects", effect, errors["effect variance"]),
        _positive("variance of transitions", dynamics.transition_variance, errors["transition variance"]),
        _positive("variance of observations", dynamics.observation_variance, errors["observation variance"]),
    ]
    if has_groups:
        force = _estimate("states", "group force", "", "", dynamics.group_force, errors["group force"])
        found.insert(1, force)
    return found


def _positive(name: str, values: Float[Tensor, " part"], log_error: float) -> ParameterEstimate:
    """A positive parameter: geometric mean over agents or axes, interval symmetric in its log."""
    estimate = float(values.log().mean().exp())
    half = QUANTILE * log_error
    low = estimate * math.exp(-half)
    high = estimate * math.exp(half)
    return ParameterEstimate("states", name, "", "", estimate, estimate * log_error, low, high)


def _estimate(
    block: str,
    parameter: str,
    outcome: str,
    unit: str,
    estimate: float,
    error: float,
    is_log_odds: bool = False,
) -> ParameterEstimate:
    half = QUANTILE * error
    return ParameterEstimate(
        block, parameter, outcome, unit, estimate, error, estimate - half, estimate + half, is_log_odds
    )


@dataclass(frozen=True, eq=False)
class _Chains:
    """What the marginal likelihood of the features is computed from; links and beliefs of others are held fixed.

    Attributes:
        observations: of the states.
        messages: of groups ``[T, N, K]``.
        influence: sum over the parents of what they are believed to be, by the links ``[T, N, K]``.
        added: transition variance of what is not known of them ``[T, N, K]``.
    """

    observations: Observations
    messages: Float[Tensor, "time agent axis"]
    influence: Float[Tensor, "time agent axis"]
    added: Float[Tensor, "time agent axis"]

    def likelihood(self, dynamics: Dynamics, influence: Tensor | None = None) -> Float[Tensor, " agent"]:
        """Log-likelihood of the features of every agent.

        Args:
            dynamics: of the chains.
            influence: in place of that of the links.
        """
        by_links = self.influence if influence is None else influence
        control = dynamics.group_force * dynamics.inertia.unsqueeze(1) * self.messages + by_links
        precision = self.observations.precision(dynamics)
        found = kalman_filter(dynamics.chains(self.added), self.observations.value, precision, control)
        return found.log_likelihood.sum(1)


def _chains(states: StateModel, inputs: ModelInputs) -> _Chains:
    plain = states.plain
    observations = rescaled(states.observations(inputs), plain, states.length_variance)
    filtered = reduced_form(plain, observations.value, observations.precision(plain))
    mean, variance = kalman_smoother(plain.inertia.unsqueeze(1), filtered)
    messages = group_messages(mean, inputs.groups, plain.state_scale)
    by_links = torch.zeros_like(mean)
    added = torch.zeros_like(mean)
    if states.links is not None:
        links = states.links
        by_links = sum_over_sources(links.matrix(links.mean), mean)
        unknown = (links.square - links.mean.square()).clamp(min=0)
        added = source_variance(links, variance) + sum_over_sources(links.matrix(unknown), mean.square())
    return _Chains(observations, messages, by_links, added)


def dynamics_errors(states: StateModel, inputs: ModelInputs) -> dict[str, float]:
    """Standard errors of a common factor of inertia and of each kind of variance (in logs), and of the group force.

    Links and what is believed of other agents are held fixed.

    Args:
        states: as fitted.
        inputs: training times.
    """
    chains = _chains(states, inputs)

    def likelihood(change: Tensor) -> Float[Tensor, " agent"]:
        dynamics = replace(
            states.dynamics,
            inertia=states.dynamics.inertia * change[0].exp(),
            group_force=states.dynamics.group_force + float(change[1]),
            transition_variance=states.dynamics.transition_variance * change[2].exp(),
            effect_variance=states.dynamics.effect_variance * change[3].exp(),
            observation_variance=states.dynamics.observation_variance * change[4].exp(),
        )
        return chains.likelihood(dynamics)

    errors = sandwich_errors(likelihood, len(_PARAMETERS))
    return dict(zip(_PARAMETERS, errors.tolist(), strict=True))


def links_by_half(
    model: FittedModel, schema: TrainingSchema, preparation: Preparation, data: TemporalHypergraph
) -> tuple[float, float, float]:
    r"""Factor on all links in the first and in the second half of the times, and the error of their difference.

    1 is what the fit has. One Newton step of the marginal likelihood from there, clustered by agent; NaN without links.

    Args:
        model: as fitted.
        schema: of the training data.
        preparation: learned from it.
        data: the training data.
    """
    states = model.predictor.states
    inputs = prepare(align(data, schema), schema, preparation).inputs
    if states is None or states.links is None or inputs.num_agents != len(states.dynamics.inertia):
        return math.nan, math.nan, math.nan
    chains = _chains(states, inputs)
    times = len(chains.influence)
    first = times - inputs.num_times
    middle = first + inputs.num_times // 2
    half = torch.zeros(times, 2).to(chains.influence)
    half[first:middle, 0] = 1.0
    half[middle:, 1] = 1.0

    def likelihood(change: Tensor) -> Float[Tensor, " agent"]:
        factor = 1.0 + half @ change.to(half)
        return chains.likelihood(states.dynamics, factor.view(-1, 1, 1) * chains.influence)

    step, covariance = newton_step(likelihood, 2)
    difference = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    return 1.0 + float(step[0]), 1.0 + float(step[1]), float(difference.clamp(min=0.0).sqrt())


def sandwich_errors(
    likelihood: Callable[[Tensor], Float[Tensor, " unit"]], parameters: int
) -> Float[Tensor, " parameter"]:
    """Standard errors clustered by unit, by finite differences at 0; NaN where the curvature has the wrong sign.

    Args:
        likelihood: log-likelihood of every unit as a function of the parameters.
        parameters: how many.
    """
    _, covariance = newton_step(likelihood, parameters)
    return covariance.diagonal().sqrt()


def newton_step(
    likelihood: Callable[[Tensor], Float[Tensor, " unit"]], parameters: int
) -> tuple[Float[Tensor, " parameter"], Float[Tensor, "parameter parameter2"]]:
    """One Newton step from 0 and its covariance clustered by unit, by finite differences.

    NaN for parameters that the likelihood does not know, and for all where the curvature has the wrong sign.

    Args:
        likelihood: log-likelihood of every unit as a function of the parameters.
        parameters: how many.
    """
    shifts = STEP * torch.eye(parameters, dtype=torch.float64)
    centre = likelihood(torch.zeros(parameters, dtype=torch.float64))
    up = [likelihood(shift) for shift in shifts]
    down = [likelihood(-shift) for shift in shifts]
    scores = torch.stack([(a - b) / (2 * STEP) for a, b in zip(up, down, strict=True)], 1)
    information = scores.new_zeros(parameters, parameters)
    for j in range(parameters):
        information[j, j] = -(up[j] - 2 * centre + down[j]).sum() / STEP**2
        for k in range(j):
            both = likelihood(shifts[j] + shifts[k]) + likelihood(-shifts[j] - shifts[k])
            single = up[j] + down[j] + up[k] + down[k]
            mixed = (both - single + 2 * centre).sum() / (2 * STEP**2)
            information[j, k] = -mixed
            information[k, j] = -mixed
    step = torch.full_like(information[0], torch.nan)
    covariance = torch.full_like(information, torch.nan)
    known = (information.diagonal() > 1e-8).nonzero().flatten()
    part = information[known][:, known]
    if not len(part) or float(torch.linalg.eigvalsh(part).min()) <= 0:
        return step, covariance
    inverse = torch.linalg.inv(part)
    total = scores[:, known].sum(0)
    centred = scores[:, known] - total / len(scores)
    step[known] = inverse @ total
    covariance[known.unsqueeze(1), known] = inverse @ (centred.mT @ centred) @ inverse
    return step, covariance


def link_estimates(structure: StructurePosterior, dynamics: Dynamics) -> list[ParameterEstimate]:
    """Number, share, sign and size of the links over the structures that were drawn; empty without draws.

    Args:
        structure: posterior of the links.
        dynamics: inertia, the unit of the size.
    """
    draws = structure.draws.double()
    if not len(draws):
        return []
    candidates = max(1, int(structure.links.is_candidate.sum()))
    exists = draws != 0
    count = exists.sum((1, 2)).double()
    active = count.clamp(min=1.0)
    size = (draws.abs() / dynamics.inertia.unsqueeze(1)).sum((1, 2)) / active
    attract = (draws > 0).sum((1, 2)) / active
    any_link = count > 0
    return [
        _from_draws("number of links", count),
        _from_draws("share of candidates that are links", count / candidates),
        _from_draws("share of links that attract", attract[any_link]),
        _from_draws("size of a link (in units of inertia)", size[any_link]),
    ]


def _from_draws(name: str, values: Float[Tensor, " draw"]) -> ParameterEstimate:
    if not len(values):
        return ParameterEstimate("links", name, "", "", math.nan, math.nan, math.nan, math.nan)
    low, high = values.quantile(values.new_tensor([0.025, 0.975])).tolist()
    error = float(values.std(correction=0))
    return ParameterEstimate("links", name, "", "", float(values.mean()), error, low, high)


def sampler_agreement(structure: StructurePosterior) -> float:
    """Split R-hat of the number of links over the chains of the sampler: near 1 where they agree; NaN with few draws.

    Gelman and Rubin (1992); halves of each chain count as chains of their own.

    Args:
        structure: posterior of the links.
    """
    counts = (structure.draws != 0).sum((1, 2)).double()
    return split_r_hat([counts[chain::CHAINS] for chain in range(CHAINS)])


def split_r_hat(chains: Sequence[Float[Tensor, " draw"]]) -> float:
    """Potential scale reduction of several chains, each split into halves.

    Args:
        chains: draws of one number.
    """
    half = min(len(chain) for chain in chains) // 2
    if half < 4:
        return math.nan
    halves = torch.stack([part for chain in chains for part in (chain[:half], chain[-half:])])
    within = halves.var(1).mean()
    if float(within) == 0:
        return 1.0 if float(halves.var()) == 0 else math.inf
    between = half * halves.mean(1).var()
    return float((((half - 1) * within + between) / half / within).sqrt())


def link_draws(structure: StructurePosterior, target: int, source: int) -> Float[Tensor, " sample"]:
    """Coefficient of one link in every structure that was drawn, 0 where it has no such link.

    Args:
        structure: posterior of the links.
        target: position of the agent that is acted on, among those learned.
        source: of the one that acts.
    """
    slots = structure.slots[target]
    is_source = (structure.links.source[target, slots] == source) & structure.links.is_candidate[target, slots]
    return structure.draws[:, target, is_source].sum(1).double()
