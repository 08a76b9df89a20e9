"""The base: a penalised regression of the next outcome on covariates, what a good analyst would run.

Each block of columns has its own penalty by evidence (MacKay 1992; Wood and Fasiolo 2017). A common factor of them, and
how fast old rows are forgotten, are chosen on rolling origins, or on held-out agents where origins are few. Copies of
some rows made stale teach how much less an old observation says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.forecasting import Categorical, Gaussian, PredictiveDistribution
from sphunc.model.covariates import Covariates
from sphunc.model.regression import (
    MultinomialProblem,
    fit_gaussian,
    fit_log_variance,
    fit_multinomial,
    multinomial_covariance,
    widened_softmax,
    with_intercept,
)

SCALES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
"""Factors of the penalties that the evidence chose, of which held-out rows choose one."""
LAST_SCALES = (0.1, 10.0, 1000.0)
"""Factors of the penalty of the last outcome, tried apart from the others."""
POPULATION_SCALES = (30.0, 1.0)
"""Factors of the penalty of the population block, which is closed unless one of them is clearly better."""
HALF_LIVES = (math.inf, 8.0, 2.0, 1.0, 0.5)
"""Times after which a training row counts half; infinite unless held-out rows clearly say otherwise. Shortly after a
change of regime all but the last few times teach what is over."""
FOLD_HALF_LIFE = 3.0
"""Times after which a held-out row counts half in these choices: the near past resembles the future most."""
FIRST_PENALTY = 30.0
EVIDENCE_ROUNDS = 6
SMALLEST_PENALTY = 3e-3
LARGEST_PENALTY = 1e5
VARIANCE_PENALTIES = (30.0, 300.0)
"""Penalties of the log-linear variance of numbers; it is constant unless one of them is clearly better."""
CLOSED = 1e4
"""Factor that takes a block out."""
LARGEST_SCORE = 6.0
"""Standard deviations at which a standardised covariate is clipped."""
SMALLEST_SPREAD = {"last outcome": 0.1, "age": 0.1, "history": 0.1, "population": 0.5}
"""Deviations below which columns are not blown up: a rare class, a level that hardly moved."""
STALENESS = (1, 2, 4)
STALE_SHARE = 0.3
MOST_ROWS = 20_000
MOST_ORIGINS = 30
FEWEST_ORIGINS = 4
SPARSITY_GATE = 2.0
"""Standard errors by which a penalty for every feature must be better than one for all."""
FORGETTING_GATE = 4.0
"""Standard errors by which forgetting must help: all agents of a time share its shocks. A change of regime passes
with 9 to 12, stationary processes reach 2 by chance."""
FEWEST_TO_FORGET = 8
"""Origins from which on older rows may count less."""
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
        return Rows(self.covariates[kept], self.target[kept], self.agent[kept], self.origin[kept], self.is_copy[kept])


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


def _rows_at(covariates: Covariates, origin: int, horizon: int, staleness: int, wanted: Bool[Tensor, " agent"]) -> Rows:
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
        log_variance: coefficients of the log variance of numbers ``[D + 1, K]``; empty for classes.
        penalty: of each column ``[D]``.
        half_life: times after which a training row counts half.
        held_out: how penalties were chosen: "origins" or "agents".
        rows: training rows, stale copies left out.
    """

    standardiser: Standardiser
    coefficients: Float[Tensor, "column_and_one output"]
    covariance: Float[Tensor, "block column_and_one column_and_one"]
    log_variance: Float[Tensor, "column_and_one number"]
    penalty: Float[Tensor, " column"]
    half_life: float
    held_out: str
    rows: int

    @property
    def granted(self) -> float:
        """Share n / (n + D) of a belief that n training rows grant to D columns."""
        columns = int((~self.standardiser.is_constant).sum())
        return self.rows / max(1, self.rows + columns)

    @property
    def is_numeric(self) -> bool:
        """True when outcomes are numbers."""
        return self.log_variance.shape[1] > 0

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
        return Gaussian(mean + reference, self.noise(design) * (1.0 + uncertainty))

    def noise(self, design: Float[Tensor, "row column_and_one"]) -> Float[Tensor, "row number"]:
        """Variance of numbers if the coefficients were known.

        Args:
            design: standardised covariates with the constant.
        """
        return (design @ self.log_variance).exp()

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
    like: BaseRegression | None = None,
) -> BaseRegression:
    """Choose penalties and fit.

    Args:
        covariates: of all agents and times.
        origins: time indices to learn from, ascending.
        horizon: steps ahead.
        seed: of agent folds and stale copies.
        agents: True for agents to learn from; all by default.
        like: take penalties and half-life from this fit instead of choosing them.
    """
    inputs = covariates.inputs
    rows = training_rows(covariates, _recent(origins, inputs.y_mask), horizon, seed, agents)
    blocks = covariates.block_names()
    standardiser = fit_standardiser(rows.covariates, blocks)
    z = standardiser(rows.covariates)
    problem = _PenaltyChoice(rows, blocks, inputs.num_classes, horizon, seed, inputs.num_agents)
    if like is None:
        shared = evidence_penalties(z, rows.target, inputs.num_classes, blocks)
        own = evidence_penalties(z, rows.target, inputs.num_classes, feature_blocks(blocks))
        penalty, half_life = problem.choose(shared, own)
    else:
        penalty = like.penalty
        half_life = like.half_life
    weight = recency_weights(rows.origin, half_life)
    if inputs.is_numeric:
        coefficients, inverse = fit_gaussian(z, rows.target, penalty, weight)
        log_variance = problem.log_variance(penalty, half_life, standardiser, coefficients, weight)
        covariance = inverse.unsqueeze(0)
    else:
        labels = rows.target.argmax(1)
        coefficients = fit_multinomial(z, labels, inputs.num_classes, penalty, weight)
        covariance = multinomial_covariance(z, coefficients, penalty, weight)
        log_variance = z.new_zeros(z.shape[1] + 1, 0)
    return BaseRegression(
        standardiser,
        coefficients,
        covariance,
        log_variance,
        penalty,
        half_life,
        problem.held_out,
        int((~rows.is_copy).sum()),
    )


def feature_blocks(blocks: Sequence[str]) -> list[str]:
    """Blocks in which every column of the features stands alone (automatic relevance determination, MacKay 1994).

    Args:
        blocks: block of every column.
    """
    return [f"{name} {k}" if name == "features" else name for k, name in enumerate(blocks)]


def recency_weights(origin: Int[Tensor, " row"], half_life: float) -> Float[Tensor, " row"]:
    """Weight of every row: halved for each half-life that its origin lies before the last one.

    Args:
        origin: of each row.
        half_life: in times; infinite weighs all rows alike.
    """
    if not len(origin):
        return origin.double()
    return torch.exp2(-(origin.max() - origin).double() / half_life)


def evidence_penalties(
    z: Float[Tensor, "row column"],
    target: Float[Tensor, "row output"],
    num_classes: int,
    blocks: Sequence[str],
) -> Float[Tensor, " column"]:
    r"""Penalty of every column, the same within a block, by maximising the Laplace evidence.

    .. math:: \lambda_b \leftarrow \frac{\nu_b - \lambda_b \mathrm{tr} V_{bb}}{\|B_b\|^2}

    :math:`\nu_b` is the number of coefficients of the block, V their posterior covariance (Fellner-Schall iteration,
    Wood and Fasiolo 2017).

    Args:
        z: standardised covariates.
        target: indicators or changes of numbers.
        num_classes: C for classes, 0 for numbers.
        blocks: block of every column.
    """
    names = list(dict.fromkeys(blocks))
    block = torch.tensor([names.index(name) for name in blocks]).to(z.device)
    varies = (z != 0).any(0).to(z.dtype)
    zeros = z.new_zeros(len(names))
    columns = zeros.index_add(0, block, varies)
    outputs = target.shape[1]
    weight = torch.ones_like(z[:, 0])
    penalty = torch.full_like(zeros, FIRST_PENALTY)
    start = None
    problem = None
    if num_classes:
        problem = MultinomialProblem(z, target.argmax(1), num_classes, weight)
    for _ in range(EVIDENCE_ROUNDS):
        each = penalty[block]
        if problem is not None:
            start = problem.fit(each, start, ROUGH)
            variance = multinomial_covariance(z, start, each, weight).diagonal(dim1=1, dim2=2).sum(0)
            # Coefficients of C classes have C - 1 degrees of freedom.
            free = (num_classes - 1.0) / num_classes
            noise = 1.0
        else:
            start, inverse = fit_gaussian(z, target, each, weight)
            residual = target - with_intercept(z) @ start
            noise = float(residual.square().mean().clamp(min=1e-12))
            variance = outputs * inverse.diagonal()
            free = 1.0
        trace = zeros.index_add(0, block, variance[:-1] * varies)
        squares = zeros.index_add(0, block, start[:-1].square().sum(1))
        freedom = free * (columns * outputs - penalty * trace).clamp(min=1e-3)
        penalty = (noise * freedom / squares.clamp(min=1e-12)).clamp(SMALLEST_PENALTY, LARGEST_PENALTY)
    return penalty[block]


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
    return int(train.sum()) > 10 and bool(test.any())


class _PenaltyChoice:
    """Search over factors of the penalties and half-lives, scored on folds; remembers coefficients to start from."""

    def __init__(
        self, rows: Rows, blocks: Sequence[str], num_classes: int, horizon: int, seed: int, num_agents: int
    ) -> None:
        folds, self.held_out = make_folds(rows, horizon, seed, num_agents)
        self.num_classes = num_classes
        self.rows = rows
        self.is_last = torch.tensor([block == "last outcome" for block in blocks]).to(rows.agent.device)
        self.is_population = torch.tensor([block == "population" for block in blocks]).to(rows.agent.device)
        self.problems = []
        for train, test in folds:
            learned = rows.select(train)
            test_rows = rows.select(test)
            standardiser = fit_standardiser(learned.covariates, blocks)
            self.problems.append(
                (standardiser(learned.covariates), learned, standardiser(test_rows.covariates), test_rows)
            )
        self.starts: list[Tensor | None] = [None] * len(folds)
        self.prepared: list[MultinomialProblem] = []
        self.prepared_half_life = math.nan
        origins = [test_rows.origin for _, _, _, test_rows in self.problems] or [rows.origin[:0]]
        half_life = FOLD_HALF_LIFE if self.held_out == "origins" else math.inf
        recency = recency_weights(torch.cat(origins), half_life)
        self.recency = recency / recency.mean()

    def losses(self, penalty: Float[Tensor, " column"], half_life: float) -> Float[Tensor, " row"]:
        """Held-out loss of every row: nats for classes, squared errors for numbers."""
        found = []
        if self.num_classes:
            for k, problem in enumerate(self._multinomial(half_life)):
                _, _, z_test, test_rows = self.problems[k]
                coefficients = problem.fit(penalty, self.starts[k], ROUGH)
                self.starts[k] = coefficients
                distribution = Categorical(torch.log_softmax(with_intercept(z_test) @ coefficients, 1))
                found.append(distribution.nll(test_rows.target))
            return torch.cat(found)
        for z, learned, z_test, test_rows in self.problems:
            weight = recency_weights(learned.origin, half_life)
            coefficients, _ = fit_gaussian(z, learned.target, penalty, weight)
            error = test_rows.target - with_intercept(z_test) @ coefficients
            found.append(error.square().mean(1))
        return torch.cat(found)

    def _multinomial(self, half_life: float) -> list[MultinomialProblem]:
        """Regressions of the folds; kept until another half-life is asked for."""
        if half_life != self.prepared_half_life:
            self.prepared_half_life = half_life
            self.prepared = [
                MultinomialProblem(
                    z, learned.target.argmax(1), self.num_classes, recency_weights(learned.origin, half_life)
                )
                for z, learned, _, _ in self.problems
            ]
        return self.prepared

    def scaled(
        self, penalty: Float[Tensor, " column"], scale: float, last_scale: float, population_scale: float
    ) -> Float[Tensor, " column"]:
        """Penalties times a factor; those of the last outcome and of the population have their own."""
        factor = torch.full_like(penalty, scale)
        factor[self.is_last] = last_scale
        factor[self.is_population] = population_scale * scale
        return penalty * factor

    def choose(
        self, penalty: Float[Tensor, " column"], own: Float[Tensor, " column"]
    ) -> tuple[Float[Tensor, " column"], float]:
        """Return the chosen penalty of every column, and the half-life.

        Features share a penalty unless held-out rows are clearly better with one for each, as where few of many count.
        The population block has as many distinct rows as there are times, which no evidence over agents knows: it
        stays closed unless held-out rows are clearly better with it.
        """
        scale = SCALES[2]
        last_scale = 1.0
        population_scale = CLOSED
        half_life = math.inf
        if not self.problems:
            return self.scaled(penalty, scale, last_scale, population_scale), half_life
        scale, kept = self._best_scale(penalty, population_scale, half_life)
        if not torch.equal(penalty, own):
            sparse, losses = self._best_scale(own, population_scale, half_life)
            if is_clearly_better(losses, kept, SPARSITY_GATE):
                penalty = own
                scale = sparse
                kept = losses
        if self.held_out == "origins":
            for candidate in POPULATION_SCALES:
                opened, losses = self._best_scale(penalty, candidate, half_life)
                if is_clearly_better(self._by_origin(losses), self._by_origin(kept)):
                    population_scale = candidate
                    scale = opened
                    kept = losses
        if len(self.rows.origin.unique()) >= FEWEST_TO_FORGET:
            for candidate in HALF_LIVES[1:]:
                forgetful, losses = self._best_scale(penalty, population_scale, candidate)
                if is_clearly_better(losses, kept, FORGETTING_GATE):
                    half_life = candidate
                    scale = forgetful
                    kept = losses
        for candidate in LAST_SCALES:
            losses = self._weighted(self.scaled(penalty, scale, candidate, population_scale), half_life)
            if is_clearly_better(losses, kept):
                last_scale = candidate
                kept = losses
        return self.scaled(penalty, scale, last_scale, population_scale), half_life

    def _by_origin(self, losses: Float[Tensor, " row"]) -> Float[Tensor, " origin"]:
        """Mean loss at each held-out origin: what is shared by all agents at a time is one observation."""
        parts = losses.split([len(test_rows) for _, _, _, test_rows in self.problems])
        return torch.stack([part.mean() for part in parts])

    def _weighted(self, penalty: Float[Tensor, " column"], half_life: float) -> Float[Tensor, " row"]:
        return self.losses(penalty, half_life) * self.recency

    def _best_scale(
        self, penalty: Float[Tensor, " column"], population_scale: float, half_life: float
    ) -> tuple[float, Float[Tensor, " row"]]:
        # From the largest penalty down: each fit starts from the one before.
        found = {
            scale: self._weighted(self.scaled(penalty, scale, 1.0, population_scale), half_life)
            for scale in reversed(SCALES)
        }
        scores = torch.stack([found[scale] for scale in SCALES])
        place = int(scores.mean(1).argmin())
        if self.held_out == "agents":
            place = _largest_within_one_error(scores, place)
        return SCALES[place], scores[place]

    def log_variance(
        self,
        penalty: Float[Tensor, " column"],
        half_life: float,
        standardiser: Standardiser,
        coefficients: Float[Tensor, "column_and_one output"],
        weight: Float[Tensor, " row"],
    ) -> Float[Tensor, "column_and_one number"]:
        """Log variance of numbers: the larger of held-out and in-sample errors; by covariates where clearly better.

        The held-out times may be quiet ones, which is why in-sample errors count too.
        """
        fresh = ~self.rows.is_copy
        z = standardiser(self.rows.covariates)
        residual = self.rows.target - with_intercept(z) @ coefficients
        share = weight[fresh] / weight[fresh].sum()
        level = (residual[fresh].square() * share.unsqueeze(1)).sum(0).clamp(min=1e-12)
        constant = z.new_zeros(z.shape[1] + 1, residual.shape[1])
        constant[-1] = level.log()
        held = []
        held_z = []
        for z_train, learned, z_test, test_rows in self.problems:
            fitted, _ = fit_gaussian(z_train, learned.target, penalty, recency_weights(learned.origin, half_life))
            held.append((test_rows.target - with_intercept(z_test) @ fitted).square())
            held_z.append(standardiser(test_rows.covariates))
        if not held:
            return constant
        squared = torch.cat(held)
        level = torch.maximum(level, squared.mean(0))
        constant[-1] = level.log()
        agent = torch.cat([test_rows.agent for _, _, _, test_rows in self.problems])
        return _choose_log_variance(torch.cat(held_z), squared, agent, constant)


def _choose_log_variance(
    z: Float[Tensor, "row column"],
    squared: Float[Tensor, "row number"],
    agent: Int[Tensor, " row"],
    constant: Float[Tensor, "column_and_one number"],
) -> Float[Tensor, "column_and_one number"]:
    """Log-linear variance where half of the agents forecast that of the other half clearly better than a constant."""
    if len(squared) < 100:
        return constant
    half = agent % 2 == 0
    best = constant
    kept = None
    for penalty in (math.inf, *VARIANCE_PENALTIES):
        losses = []
        for part in (half, ~half):
            if math.isinf(penalty):
                log_variance = squared[part].mean(0).clamp(min=1e-12).log().expand_as(squared[~part])
            else:
                fitted = fit_log_variance(z[part], squared[part], penalty)
                log_variance = with_intercept(z[~part]) @ fitted
            losses.append((0.5 * (squared[~part] * torch.exp(-log_variance) + log_variance)).sum(1))
        loss = torch.cat(losses)
        if kept is None:
            kept = loss
        elif is_clearly_better(loss, kept):
            kept = loss
            best = fit_log_variance(z, squared, penalty)
            # As large on average as the constant, which in-sample errors may have raised.
            level = (with_intercept(z) @ best).exp().mean(0)
            best[-1] = best[-1] + (constant[-1] - level.log()).clamp(min=0)
    return best


def _largest_within_one_error(scores: Float[Tensor, "penalty row"], best: int) -> int:
    """Index of the largest penalty whose loss is within one standard error of the best (Breiman et al. 1984)."""
    place = best
    for k in range(best, len(scores)):
        gap = scores[k] - scores[best]
        if float(gap.mean()) <= float(gap.std(correction=0)) / len(gap) ** 0.5:
            place = k
    return place


def is_clearly_better(losses: Float[Tensor, " row"], than: Float[Tensor, " row"], errors: float = 1.0) -> bool:
    """Say whether the mean loss falls by more than so many paired standard errors.

    Args:
        losses: of each row.
        than: of the same rows, for what it is compared with.
        errors: standard errors.
    """
    gap = than - losses
    if len(gap) < 2:
        return False
    error = float(gap.std()) / len(gap) ** 0.5
    return float(gap.mean()) > max(1e-4, errors * error)
