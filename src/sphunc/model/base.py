"""The base: a penalised regression of the next outcome on covariates, what a good analyst would run.

Penalties, one for all columns and a multiplier per block, are chosen on rolling origins, or on held-out agents where
origins are few. Copies of some rows made stale teach how much less an old observation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.forecasting.distribution import Categorical, Gaussian, PredictiveDistribution
from sphunc.model.covariates import BLOCKS, Covariates
from sphunc.model.regression import (
    fit_gaussian,
    fit_multinomial,
    multinomial_covariance,
    widened_softmax,
    with_intercept,
)

PENALTIES = tuple(10.0 ** (-0.5 + 0.5 * k) for k in range(9))
MULTIPLIERS = {
    "neighbours": (10.0, 100.0, 1e3),
    "features": (10.0, 100.0, 1e3),
    "population": (10.0, 100.0, 1e3),
    "own": (0.1, 10.0),
}
CLOSED = 1e4
"""Multiplier that takes a block out."""
LARGEST_SCORE = 6.0
"""Standard deviations at which a standardised covariate is clipped."""
SMALLEST_SPREAD = {"own": 0.1, "population": 0.5}
"""Deviations below which columns are not blown up: a rare class, a level that hardly moved."""
STALENESS = (1, 2, 4)
STALE_SHARE = 0.3
MOST_ROWS = 20_000
MOST_ORIGINS = 30
FEWEST_ORIGINS = 4
AGENT_FOLDS = 5
ROUGH = 1e-2
"""Tolerance of fits that only choose penalties."""


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Columns to mean 0 and deviation 1; what is not known counts as the mean.

    Attributes:
        mean: ``[D]``.
        scale: ``[D]``.
        is_constant: True for columns that say nothing ``[D]``.
    """

    mean: Float[Tensor, " column"]
    scale: Float[Tensor, " column"]
    is_constant: Bool[Tensor, " column"]

    def __call__(self, covariates: Float[Tensor, "*batch column"]) -> Float[Tensor, "*batch column"]:
        """Standardise, clip, and impute."""
        scores = ((covariates - self.mean) / self.scale).clamp(-LARGEST_SCORE, LARGEST_SCORE)
        scores = scores.nan_to_num(nan=0.0)
        return torch.where(self.is_constant, 0.0, scores)


def fit_standardiser(covariates: Float[Tensor, "row column"], blocks: Sequence[str]) -> Standardiser:
    """Learn means and deviations of training rows; unknown entries are left out.

    Args:
        covariates: training rows, NaN where not known.
        blocks: block of every column.
    """
    mean = covariates.nanmean(0).nan_to_num(nan=0.0)
    filled = torch.where(covariates.isnan(), mean, covariates)
    spread = filled.std(0, correction=0)
    size = filled.abs().amax(0)
    is_constant = spread <= 1e-8 * size.clamp(min=1e-30)
    least = torch.tensor([SMALLEST_SPREAD.get(block, 0.0) for block in blocks]).to(spread)
    scale = torch.where(is_constant, 1.0, torch.maximum(spread, least))
    return Standardiser(mean, scale, is_constant)


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows: covariates at an origin, the outcome that followed.

    Attributes:
        covariates: ``[n, D]``.
        target: indicators of the class, or change of the number since it was last observed ``[n, C]``.
        agent: ``[n]``.
        origin: ``[n]``.
        is_copy: True for stale copies ``[n]``; they teach, and are never scored.
    """

    covariates: Float[Tensor, "row column"]
    target: Float[Tensor, "row output"]
    agent: Int[Tensor, " row"]
    origin: Int[Tensor, " row"]
    is_copy: Bool[Tensor, " row"]

    def __len__(self) -> int:
        """Return n."""
        return len(self.agent)

    def select(self, kept: Bool[Tensor, " row"]) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.covariates[kept], self.target[kept], self.agent[kept], self.origin[kept], self.is_copy[kept]
        )


def training_rows(
    covariates: Covariates,
    origins: Sequence[int],
    horizon: int,
    seed: int,
    agents: Bool[Tensor, " agent"] | None = None,
) -> Rows:
    """Collect a row for each agent known at an origin whose outcome ``horizon`` later was observed, and stale copies.

    Args:
        covariates: of all agents and times.
        origins: time indices.
        horizon: steps ahead.
        seed: of the choice of rows that are copied.
        agents: True for agents to learn from; all by default.
    """
    inputs = covariates.inputs
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for origin in origins:
        wanted = inputs.y_mask[origin + horizon] & covariates.known_by(origin)
        if agents is not None:
            wanted = wanted & agents
        parts.append(_rows_at(covariates, origin, horizon, 0, wanted))
        draw = torch.rand(inputs.num_agents, generator=generator).to(wanted.device)
        for step, staleness in enumerate(STALENESS):
            low = STALE_SHARE * step / len(STALENESS)
            high = STALE_SHARE * (step + 1) / len(STALENESS)
            chosen = wanted & (draw >= low) & (draw < high)
            if origin >= staleness:
                chosen = chosen & covariates.known_by(origin - staleness)
                parts.append(_rows_at(covariates, origin, horizon, staleness, chosen))
    return Rows(
        torch.cat([part.covariates for part in parts]),
        torch.cat([part.target for part in parts]),
        torch.cat([part.agent for part in parts]),
        torch.cat([part.origin for part in parts]),
        torch.cat([part.is_copy for part in parts]),
    )


def _rows_at(
    covariates: Covariates, origin: int, horizon: int, staleness: int, wanted: Bool[Tensor, " agent"]
) -> Rows:
    agent = wanted.nonzero().flatten()
    values = covariates.at(origin, staleness)[agent]
    target = covariates.inputs.y[origin + horizon][agent]
    if covariates.inputs.is_numeric:
        target = target - covariates.reference(origin, staleness)[agent]
    where = torch.full_like(agent, origin)
    return Rows(values, target, agent, where, torch.full_like(wanted[agent], staleness > 0))


@dataclass(frozen=True, eq=False)
class BaseRegression:
    """A fitted base.

    Attributes:
        standardiser: of the covariates.
        coefficients: B, intercept last ``[D + 1, C]``.
        covariance: Laplace covariance of the coefficients of each class ``[C, D + 1, D + 1]``, or of numbers, in units
            of the noise variance ``[1, D + 1, D + 1]``.
        noise: variance of numbers ``[K]``; empty for classes.
        penalty: of each column ``[D]``.
        held_out: how penalties were chosen: "origins" or "agents".
    """

    standardiser: Standardiser
    coefficients: Float[Tensor, "column_and_one output"]
    covariance: Float[Tensor, "block column_and_one column_and_one"]
    noise: Float[Tensor, " number"]
    penalty: Float[Tensor, " column"]
    held_out: str

    @property
    def is_numeric(self) -> bool:
        """True when outcomes are numbers."""
        return len(self.noise) > 0

    def distribution(
        self, covariates: Float[Tensor, "row column"], reference: Float[Tensor, "row output"]
    ) -> PredictiveDistribution:
        """Predictive distribution, widened by what is not known of the coefficients.

        Args:
            covariates: of each row.
            reference: last outcome that changes are counted from; not used for classes.
        """
        design = with_intercept(self.standardiser(covariates))
        mean = design @ self.coefficients
        uncertainty = torch.einsum("nd,cde,ne->nc", design, self.covariance, design)
        if not self.is_numeric:
            return Categorical(widened_softmax(mean, uncertainty))
        return Gaussian(mean + reference, self.noise * (1.0 + uncertainty))

    def at(self, covariates: Covariates, origin: int) -> PredictiveDistribution:
        """Forecast all agents from an origin.

        Args:
            covariates: of all agents and times.
            origin: time index.
        """
        return self.distribution(covariates.at(origin), covariates.reference(origin))


def fit_base(
    covariates: Covariates,
    origins: Sequence[int],
    horizon: int,
    seed: int,
    agents: Bool[Tensor, " agent"] | None = None,
    penalty: Float[Tensor, " column"] | None = None,
) -> BaseRegression:
    """Choose penalties and fit.

    Args:
        covariates: of all agents and times.
        origins: time indices to learn from, ascending.
        horizon: steps ahead.
        seed: of agent folds and stale copies.
        agents: True for agents to learn from; all by default.
        penalty: of each column, where it was chosen before.
    """
    inputs = covariates.inputs
    rows = training_rows(covariates, _recent(origins, inputs.y_mask), horizon, seed, agents)
    blocks = covariates.block_names()
    folds, held_out = make_folds(rows, horizon, seed, inputs.num_agents)
    problem = _PenaltyChoice(rows, blocks, inputs.num_classes, folds, held_out)
    if penalty is None:
        penalty = problem.choose()
    standardiser = fit_standardiser(rows.covariates, blocks)
    z = standardiser(rows.covariates)
    weight = torch.ones_like(z[:, 0])
    if inputs.is_numeric:
        coefficients, inverse = fit_gaussian(z, rows.target, penalty, weight)
        noise = problem.noise(penalty, z, coefficients)
        return BaseRegression(standardiser, coefficients, inverse.unsqueeze(0), noise, penalty, held_out)
    labels = rows.target.argmax(1)
    coefficients = fit_multinomial(z, labels, inputs.num_classes, penalty, weight)
    covariance = multinomial_covariance(z, coefficients, penalty, weight)
    nothing = z.new_zeros(0)
    return BaseRegression(standardiser, coefficients, covariance, nothing, penalty, held_out)


def _recent(origins: Sequence[int], y_mask: Bool[Tensor, "time agent"]) -> list[int]:
    """Leave out the oldest origins where rows are plenty."""
    per_time = float(y_mask.sum(1).double().mean())
    most = max(MOST_ORIGINS, int(MOST_ROWS / max(1.0, per_time)))
    return list(origins)[-most:]


Fold = tuple[Bool[Tensor, " row"], Bool[Tensor, " row"]]


def make_folds(rows: Rows, horizon: int, seed: int, num_agents: int) -> tuple[list[Fold], str]:
    """Training and validation rows: later origins, or held-out agents where there are fewer than 4 origins.

    Args:
        rows: training rows.
        horizon: steps ahead; a fold learns only from outcomes that were known at the origin it is judged at.
        seed: of the agent folds.
        num_agents: N.
    """
    times = rows.origin.unique().tolist()
    scored = ~rows.is_copy
    count = min(10, max(3, len(times) // 4))
    later = [t for t in times[-count:] if t - times[0] >= 1 + horizon] if times else []
    folds: list[Fold] = []
    if len(times) >= FEWEST_ORIGINS and later:
        folds = [(rows.origin + horizon <= t, (rows.origin == t) & scored) for t in later]
        folds = [fold for fold in folds if _is_usable(fold, rows)]
    if folds:
        return folds, "origins"
    generator = torch.Generator().manual_seed(seed)
    part = (torch.randperm(num_agents, generator=generator) % AGENT_FOLDS).to(rows.agent.device)
    folds = [(part[rows.agent] != k, (part[rows.agent] == k) & scored) for k in range(AGENT_FOLDS)]
    return [fold for fold in folds if _is_usable(fold, rows)], "agents"


def _is_usable(fold: Fold, rows: Rows) -> bool:
    train, test = fold
    if int(train.sum()) <= 10 or not bool(test.any()):
        return False
    return True


class _PenaltyChoice:
    """Search over penalties, scored on folds; remembers the coefficients of each fold to start from."""

    def __init__(
        self, rows: Rows, blocks: Sequence[str], num_classes: int, folds: list[Fold], held_out: str
    ) -> None:
        self.blocks = blocks
        self.num_classes = num_classes
        self.held_out = held_out
        self.rows = rows
        self.problems = []
        for train, test in folds:
            learned = rows.select(train)
            standardiser = fit_standardiser(learned.covariates, blocks)
            judged = rows.select(test)
            problem = (
                standardiser(learned.covariates),
                learned.target,
                standardiser(judged.covariates),
                judged.target,
            )
            self.problems.append(problem)
        self.starts: list[Tensor | None] = [None] * len(folds)

    def columns(self, penalty: float, multiplier: dict[str, float]) -> Float[Tensor, " column"]:
        """Penalty of every column."""
        values = [penalty * multiplier[block] for block in self.blocks]
        return torch.tensor(values).to(self.rows.covariates)

    def losses(self, penalty: Float[Tensor, " column"]) -> Float[Tensor, " row"]:
        """Held-out loss of every row: nats for classes, squared errors for numbers."""
        found = []
        for k, (z, target, z_test, target_test) in enumerate(self.problems):
            weight = torch.ones_like(z[:, 0])
            if not self.num_classes:
                coefficients, _ = fit_gaussian(z, target, penalty, weight)
                error = target_test - with_intercept(z_test) @ coefficients
                found.append(error.square().mean(1))
                continue
            coefficients = fit_multinomial(
                z, target.argmax(1), self.num_classes, penalty, weight, self.starts[k], ROUGH
            )
            self.starts[k] = coefficients
            distribution = Categorical(torch.log_softmax(with_intercept(z_test) @ coefficients, 1))
            found.append(distribution.nll(target_test))
        return torch.cat(found)

    def choose(self) -> Float[Tensor, " column"]:
        """Return the chosen penalty of every column."""
        multiplier = dict.fromkeys(BLOCKS, 1.0)
        if self.held_out == "agents":
            multiplier["population"] = CLOSED
        if not self.problems:
            return self.columns(PENALTIES[len(PENALTIES) // 2], multiplier)
        table = [self.losses(self.columns(penalty, multiplier)) for penalty in reversed(PENALTIES)]
        table.reverse()
        scores = torch.stack(table)
        place = int(scores.mean(1).argmin())
        if self.held_out == "agents":
            place = _largest_within_one_error(scores, place)
        penalty = PENALTIES[place]
        kept = scores[place]
        for block, values in MULTIPLIERS.items():
            if multiplier[block] == CLOSED:
                continue
            for value in values:
                before = multiplier[block]
                multiplier[block] = value
                losses = self.losses(self.columns(penalty, multiplier))
                if not is_clearly_better(losses, kept):
                    multiplier[block] = before
                    break
                kept = losses
        return self.columns(penalty, multiplier)

    def noise(
        self,
        penalty: Float[Tensor, " column"],
        z: Float[Tensor, "row column"],
        coefficients: Float[Tensor, "column_and_one output"],
    ) -> Float[Tensor, " number"]:
        """Variance of numbers: the larger of held-out and in-sample errors (the held-out times may be quiet ones)."""
        residual = self.rows.target - with_intercept(z) @ coefficients
        fresh = ~self.rows.is_copy
        in_sample = residual[fresh].square().mean(0)
        held = []
        for z_train, target, z_test, target_test in self.problems:
            weight = torch.ones_like(z_train[:, 0])
            fitted, _ = fit_gaussian(z_train, target, penalty, weight)
            held.append((target_test - with_intercept(z_test) @ fitted).square())
        if held:
            in_sample = torch.maximum(in_sample, torch.cat(held).mean(0))
        return in_sample.clamp(min=1e-12)


def _largest_within_one_error(scores: Float[Tensor, "penalty row"], best: int) -> int:
    """Index of the largest penalty whose loss is within one standard error of the best (Breiman et al. 1984)."""
    place = best
    for k in range(best, len(scores)):
        gap = scores[k] - scores[best]
        if float(gap.mean()) <= float(gap.std(correction=0)) / len(gap) ** 0.5:
            place = k
    return place


def is_clearly_better(losses: Float[Tensor, " row"], than: Float[Tensor, " row"]) -> bool:
    """Say whether the mean loss falls by more than one paired standard error.

    Args:
        losses: of each row.
        than: of the same rows, for what it is compared with.
    """
    gap = than - losses
    error = float(gap.std(correction=0)) / max(1, len(gap)) ** 0.5
    return float(gap.mean()) > max(1e-4, error)
