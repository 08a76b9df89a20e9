"""What a good analyst would run instead: class frequencies, persistence, regression and boosting.

Regression and boosting see everything that the model sees: features with their missing flags and running means, the
last three outcomes with age, the agent's own history, co-members' means of features and of last outcomes, level and
trend of outcomes among all. Penalty, blocks of columns, tree size, number of trees, temperature and variance are
chosen on rolling origins of the training data; where fewer than three origins can be learned from, on held-out agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor

from sphunc.hypergraph import TemporalHypergraph

LEAST = 1e-12
LAGS = 3
AGENT_FOLDS = 5
PENALTIES = (100000.0, 10000.0, 3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
TREES = (
    {"max_leaf_nodes": 3, "min_samples_leaf": 20, "l2_regularization": 1.0, "learning_rate": 0.1},
    {"max_leaf_nodes": 8, "min_samples_leaf": 20, "l2_regularization": 5.0, "learning_rate": 0.07},
    {"max_leaf_nodes": 16, "min_samples_leaf": 40, "l2_regularization": 20.0, "learning_rate": 0.07},
)
MOST_TREES = 200
COMMON = "trend"
"""The block that is equal for all agents of a time: held-out agents cannot tell what it is worth."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Class probabilities ``[row, class]``, or mean and variance ``[row]`` of a number."""

    probabilities: np.ndarray | None = None
    mean: np.ndarray | None = None
    variance: np.ndarray | None = None

    def nll(self, outcome: np.ndarray) -> np.ndarray:
        """Negative log-likelihood per row, in nats."""
        if self.probabilities is not None:
            chosen = self.probabilities[np.arange(len(outcome)), outcome.astype(int)]
            return -np.log(np.maximum(chosen, LEAST))
        assert self.mean is not None
        assert self.variance is not None
        return 0.5 * (np.log(2 * np.pi * self.variance) + (outcome - self.mean) ** 2 / self.variance)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows (agent, origin) with the outcome that follows.

    Attributes:
        blocks: covariates by name ``[row, column]``; NaN where unknown.
        outcome: class code or number at the time after the origin ``[row]``.
        last: last outcome ``[row]``, -1 (classes) or the mean of all (numbers) where there is none.
        agent: index ``[row]``.
        origin: time index ``[row]``.
        classes: number of classes; 0 for numbers.
    """

    blocks: dict[str, np.ndarray]
    outcome: np.ndarray
    last: np.ndarray
    agent: np.ndarray
    origin: np.ndarray
    classes: int

    def part(self, chosen: np.ndarray) -> Rows:
        """Some of the rows."""
        blocks = {name: block[chosen] for name, block in self.blocks.items()}
        return Rows(
            blocks, self.outcome[chosen], self.last[chosen], self.agent[chosen], self.origin[chosen], self.classes
        )

    def columns(self, names: Sequence[str]) -> np.ndarray:
        """The columns of some blocks side by side."""
        return np.concatenate([self.blocks[name] for name in names], 1)

    @property
    def frequencies(self) -> np.ndarray:
        """Class frequencies with half a count added to each."""
        count = np.bincount(self.outcome.astype(int), minlength=self.classes) + 0.5
        return count / count.sum()


# Covariates ---------------------------------------------------------------------------------------------------------


def make_rows(data: TemporalHypergraph, origins: Sequence[int]) -> Rows:
    """Covariates known at each origin, for agents observed by then whose next outcome is observed.

    Args:
        data: all times; nothing after an origin enters its rows but the outcome to be forecast.
        origins: time indices.
    """
    assert data.y is not None
    T, N = data.num_times, data.num_nodes
    observed = data.y_mask.numpy()
    if data.class_names:
        y = data.y.numpy().astype(float)
        coded = np.eye(data.num_classes)[data.y.numpy()] * observed[..., None]
    else:
        y = data.y.double().numpy().reshape(T, N)
        coded = np.where(observed, y, 0.0)[..., None]
    present = np.logical_or.accumulate(data.present.numpy(), 0)
    past = _Past(data, coded, observed)
    parts: list[Rows] = []
    for t in range(T - 1):
        blocks, last = past.advance(t)
        if t not in origins:
            continue
        chosen = np.flatnonzero(present[t] & observed[t + 1])
        kept = {name: block[chosen] for name, block in blocks.items()}
        origin = np.full(len(chosen), t)
        parts.append(Rows(kept, y[t + 1, chosen], last[chosen], chosen, origin, data.num_classes))
    names = parts[0].blocks
    return Rows(
        {name: np.concatenate([part.blocks[name] for part in parts]) for name in names},
        np.concatenate([part.outcome for part in parts]),
        np.concatenate([part.last for part in parts]),
        np.concatenate([part.agent for part in parts]),
        np.concatenate([part.origin for part in parts]),
        data.num_classes,
    )


class _Past:
    """What is known of every agent as time goes on."""

    def __init__(self, data: TemporalHypergraph, coded: np.ndarray, observed: np.ndarray) -> None:
        N, F, K = data.num_nodes, data.num_features, coded.shape[2]
        self.data = data
        self.coded = coded
        self.observed = observed
        self.x = data.x.double().numpy()
        self.x_mask = data.x_mask.numpy()
        self.group_of = data.hyperedge_index[1].numpy()
        self.member = data.hyperedge_index[0].numpy()
        self.group_time = data.hyperedge_time.numpy()
        self.weight = np.ones(len(self.member))
        if data.incidence_weight is not None:
            self.weight = data.incidence_weight.double().numpy()
        self.carried = np.full((N, F), np.nan)
        self.feature_sum = np.zeros((N, F))
        self.feature_count = np.zeros((N, F))
        self.lags = np.full((LAGS, N, K), np.nan)
        self.age = np.full(N, np.nan)
        self.outcome_sum = np.zeros((N, K))
        self.outcome_square = np.zeros((N, K))
        self.outcome_count = np.zeros(N)
        self.levels: list[np.ndarray] = []

    def advance(self, t: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Take in time ``t``; return the covariates from there and the last outcomes."""
        numeric = not self.data.class_names
        now = self.observed[t]
        self.carried = np.where(self.x_mask[t], self.x[t], self.carried)
        self.feature_sum += np.where(self.x_mask[t], self.x[t], 0)
        self.feature_count += self.x_mask[t]
        for k in range(LAGS - 1, 0, -1):
            self.lags[k, now] = self.lags[k - 1, now]
        self.lags[0, now] = self.coded[t, now]
        self.age = np.where(now, 0, self.age + 1)
        self.outcome_sum[now] += self.coded[t, now]
        self.outcome_square[now] += self.coded[t, now] ** 2
        self.outcome_count += now
        population = self._population(numeric)
        level = population
        if now.any():
            level = (self.coded[t, now].sum(0) + population) / (now.sum() + 1)
        self.levels.append(level if numeric else np.log(level))
        with np.errstate(invalid="ignore"):
            feature_mean = self.feature_sum / self.feature_count
        blocks = {
            "lags": self._lag_columns(numeric),
            "history": self._history_columns(numeric, population, t),
            "features": np.concatenate([self.carried, ~self.x_mask[t]], 1),
            "feature means": feature_mean,
            **self._company(t),
            COMMON: self._trend_columns(t),
        }
        known = self.outcome_count > 0
        if numeric:
            return blocks, np.where(known, np.nan_to_num(self.lags[0, :, 0]), population[0])
        return blocks, np.where(known, np.nan_to_num(self.lags[0]).argmax(1), -1)

    def _population(self, numeric: bool) -> np.ndarray:
        total = self.outcome_count.sum()
        if numeric:
            return self.outcome_sum.sum(0) / max(total, 1)
        return (self.outcome_sum.sum(0) + 1) / (total + self.coded.shape[2])

    def _lag_columns(self, numeric: bool) -> np.ndarray:
        age = np.minimum(self.age, 6)[:, None]
        never = (self.outcome_count == 0)[:, None]
        if numeric:
            changes = [self.lags[k] - self.lags[k + 1] for k in range(LAGS - 1)]
            return np.concatenate([self.lags[0], *changes, *[abs(c) for c in changes], age, never], 1)
        shown = np.nan_to_num(self.lags)
        stale = np.nan_to_num(age) / 6 * shown[0]
        return np.concatenate([*shown, stale, age, never], 1)

    def _history_columns(self, numeric: bool, population: np.ndarray, t: int) -> np.ndarray:
        count = self.outcome_count[:, None]
        share = (self.outcome_sum + 2 * population) / (count + 2)
        answered = count / (t + 1)
        if not numeric:
            return np.concatenate([np.log(share) - np.log(population), answered, np.log1p(count)], 1)
        mean = self.outcome_sum / np.maximum(count, 1)
        spread = np.sqrt(np.maximum(self.outcome_square / np.maximum(count, 1) - mean**2, 0))
        departure = np.nan_to_num(self.lags[0] - share)
        return np.concatenate([share, departure, spread, answered, np.log1p(count)], 1)

    def _trend_columns(self, t: int) -> np.ndarray:
        level = self.levels[-1]
        slope = level - self.levels[-2] if t else 0 * level
        return np.tile(np.concatenate([[t], level, slope]), (self.data.num_nodes, 1))

    def _company(self, t: int) -> dict[str, np.ndarray]:
        """Means over co-members, within groups first; NaN where no co-member tells."""
        N = self.data.num_nodes
        F = self.data.num_features
        here = self.group_time[self.group_of] == t
        member = self.member[here]
        group = self.group_of[here]
        weight = self.weight[here][:, None]
        change = np.zeros((N, 0))
        if not self.data.class_names:
            change = self.lags[0] - self.lags[1]
        values = np.concatenate([self.carried, self.lags[0], change], 1)
        known = ~np.isnan(values)
        both = np.concatenate([np.nan_to_num(values), known], 1)
        sums = np.zeros((len(self.group_time), both.shape[1]))
        np.add.at(sums, group, weight * both[member])
        others = sums[group] - weight * both[member]
        width = values.shape[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = others[:, :width] / others[:, width:]
        usable = others[:, width:] > 1e-9
        total = np.zeros((N, 2 * width))
        np.add.at(total, member, np.concatenate([np.where(usable, inside, 0), usable], 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            means = total[:, :width] / total[:, width:]
        meetings = np.bincount(member, minlength=N)[:, None]
        size = np.zeros((N, 1))
        np.add.at(size, member, np.bincount(group, minlength=len(self.group_time))[group][:, None])
        return {
            "company": np.concatenate([means[:, F:], meetings == 0, np.log1p(meetings), np.log1p(size)], 1),
            "company features": means[:, :F],
        }


# Hold-out scheme ----------------------------------------------------------------------------------------------------

Folds = list[tuple[np.ndarray, np.ndarray]]
"""Positions of rows to learn from and of rows held out."""


def make_folds(rows: Rows) -> tuple[Folds, bool]:
    """Rolling origins in at most three blocks, or agents in turn; and whether time is held out.

    The held-out origins are the last quarter of the training origins, 3 to 10.
    """
    origins = np.unique(rows.origin)
    if len(origins) < 3:
        rng = np.random.default_rng(0)
        number = rng.permutation(rows.agent.max() + 1) % AGENT_FOLDS
        of_row = number[rows.agent]
        return [(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in range(AGENT_FOLDS)], False
    held = min(max(round(len(origins) / 4), 3), 10, len(origins) - 1)
    blocks = np.array_split(origins[-held:], min(3, held))
    return [
        (np.flatnonzero(rows.origin < block[0]), np.flatnonzero(np.isin(rows.origin, block))) for block in blocks
    ], True


# Regression ---------------------------------------------------------------------------------------------------------


class Scaling:
    """Standard units from training rows; unknown values become the mean; outliers end at six deviations."""

    def __init__(self, inputs: np.ndarray) -> None:
        known = ~np.isnan(inputs)
        count = np.maximum(known.sum(0), 1)
        self.mean = np.nansum(inputs, 0) / count
        spread = np.sqrt((np.where(known, inputs - self.mean, 0) ** 2).sum(0) / count)
        self.varies = spread > 1e-9
        self.spread = np.where(self.varies, spread, 1.0)

    def apply(self, inputs: np.ndarray) -> np.ndarray:
        """Columns that vary in training, in standard units."""
        scaled = np.nan_to_num((inputs - self.mean) / self.spread)
        return np.clip(scaled[:, self.varies], -6, 6)


def logistic_weights(
    inputs: np.ndarray, labels: np.ndarray, classes: int, penalty: float, start: np.ndarray | None
) -> np.ndarray:
    """Weights ``[column + 1, class]`` of a multinomial regression with a ridge penalty, intercept last and free."""
    rows, columns = inputs.shape
    target = np.eye(classes)[labels]
    if start is None:
        start = np.zeros((columns + 1, classes))
        start[-1] = np.log((target.sum(0) + 0.5) / (rows + 0.5 * classes))
    # A whisper of a penalty on intercepts keeps those of classes without rows finite.
    ridge = np.append(np.full(columns, penalty), 1e-2)[:, None]
    anchor = np.zeros((columns + 1, classes))
    anchor[-1] = np.log((target.sum(0) + 0.5) / (rows + 0.5 * classes))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(columns + 1, classes)
        logits = inputs @ weights[:-1] + weights[-1]
        logits -= logits.max(1, keepdims=True)
        normaliser = np.log(np.exp(logits).sum(1, keepdims=True))
        residual = np.exp(logits - normaliser) - target
        away = weights - anchor
        value = (normaliser - (logits * target).sum(1, keepdims=True)).sum() + 0.5 * (ridge * away**2).sum()
        slope = np.concatenate([inputs.T @ residual, residual.sum(0)[None]]) + ridge * away
        return value / rows, slope.ravel() / rows

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 150, "gtol": 1e-5})
    return found.x.reshape(columns + 1, classes)


def ridge_weights(inputs: np.ndarray, target: np.ndarray, penalty: float) -> np.ndarray:
    """Weights ``[column + 1]`` of a ridge regression, intercept last and free."""
    mean = target.mean()
    centre = inputs.mean(0)
    design = inputs - centre
    gram = design.T @ design + penalty * np.eye(design.shape[1])
    weights = np.linalg.solve(gram, design.T @ (target - mean))
    return np.append(weights, mean - centre @ weights)


class Regression:
    """Penalised multinomial (or Gaussian) regression on some blocks."""

    def __init__(self, rows: Rows, names: Sequence[str], penalty: float, start: np.ndarray | None = None) -> None:
        self.names = tuple(names)
        self.classes = rows.classes
        columns = rows.columns(self.names)
        self.scaling = Scaling(columns)
        inputs = self.scaling.apply(columns)
        if rows.classes:
            self.weights = logistic_weights(inputs, rows.outcome.astype(int), rows.classes, penalty, start)
        else:
            self.weights = ridge_weights(inputs, rows.outcome - rows.last, penalty)

    def predict(self, rows: Rows) -> np.ndarray:
        """Log probabilities ``[row, class]``, or the mean ``[row]``."""
        inputs = self.scaling.apply(rows.columns(self.names))
        found = inputs @ self.weights[:-1] + self.weights[-1]
        if self.classes:
            return log_normalised(found)
        return rows.last + found


def log_normalised(logits: np.ndarray) -> np.ndarray:
    """Log-softmax."""
    logits = logits - logits.max(1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def losses(found: np.ndarray, rows: Rows) -> np.ndarray:
    """Negative log-likelihood (classes) or squared error (numbers) per row."""
    if rows.classes:
        return -found[np.arange(len(found)), rows.outcome.astype(int)]
    return (found - rows.outcome) ** 2


class _Search:
    """Held-out loss of settings of the regression, with weights carried from one penalty to the next."""

    def __init__(self, rows: Rows, folds: Folds) -> None:
        self.rows = rows
        self.parts = [(rows.part(learned), rows.part(held)) for learned, held in folds]

    def held_out(self, names: Sequence[str], penalties: Sequence[float]) -> dict[float, float]:
        """Mean loss by penalty; stops where a smaller penalty no longer helps."""
        found: dict[float, float] = {}
        self.by_fold: dict[float, np.ndarray] = {}
        starts: list[np.ndarray | None] = [None] * len(self.parts)
        for penalty in penalties:
            parts = []
            for k, (learned, held) in enumerate(self.parts):
                model = Regression(learned, names, penalty, starts[k])
                starts[k] = model.weights
                parts.append(losses(model.predict(held), held))
            found[penalty] = float(np.concatenate(parts).mean())
            self.by_fold[penalty] = np.array([part.mean() for part in parts])
            recent = list(found.values())
            if len(recent) > 3 and min(recent[-2:]) > min(recent) * 1.0005:
                break
        return found


def choose_regression(rows: Rows, folds: Folds, by_time: bool) -> tuple[tuple[str, ...], float]:
    """Blocks and penalty with the least held-out loss: all blocks first, then each left out in turn.

    Level and trend extrapolate in time: they stay only if every held-out block of origins is better with them.
    """
    names = tuple(name for name in rows.blocks if name != COMMON)
    search = _Search(rows, folds)
    found = search.held_out(names, PENALTIES)
    penalty = min(found, key=lambda value: found[value])
    best = found[penalty]
    if by_time:
        without = search.by_fold
        more = search.held_out((*names, COMMON), PENALTIES)
        chosen = min(more, key=lambda value: more[value])
        if (search.by_fold[chosen] < without[penalty]).all():
            names = (*names, COMMON)
            penalty = chosen
            best = more[chosen]
    for block in ("company features", "feature means", "features", "company", "history"):
        fewer = tuple(name for name in names if name != block)
        near = search.held_out(fewer, (penalty,))
        if near[penalty] < best:
            names = fewer
            best = near[penalty]
    around = search.held_out(names, [penalty * factor for factor in (10.0, 3.0, 1.0, 0.3, 0.1)])
    return names, min(around, key=lambda value: around[value])


# Boosting -----------------------------------------------------------------------------------------------------------


class Boosting:
    """Histogram gradient boosting; numbers as change since the last outcome."""

    def __init__(
        self, rows: Rows, names: Sequence[str], settings: dict[str, float], trees: int, held: Rows | None = None
    ) -> None:
        self.names = tuple(names)
        self.classes = rows.classes
        self.frequencies = rows.frequencies if rows.classes else np.zeros(0)
        inputs = rows.columns(self.names)
        # Wide tables: about a hundred columns are tried per split.
        tried = min(0.5, max(0.1, 100 / inputs.shape[1]))
        common = {"max_iter": trees, "max_features": tried, "random_state": 0, **settings}
        more = {}
        if held is not None:
            common |= {"early_stopping": True, "n_iter_no_change": 10}
            target = held.outcome.astype(int) if rows.classes else held.outcome - held.last
            inside = np.isin(target, rows.outcome) if rows.classes else np.ones(len(target), dtype=bool)
            if inside.any():
                more = {"X_val": held.columns(self.names)[inside], "y_val": target[inside]}
        else:
            common["early_stopping"] = False
        self.known = np.zeros(0, dtype=int)
        if rows.classes:
            labels = rows.outcome.astype(int)
            self.known = np.unique(labels)
            if len(self.known) < 2:
                return
            self.model = HistGradientBoostingClassifier(**common).fit(inputs, labels, **more)
        else:
            self.model = HistGradientBoostingRegressor(**common).fit(inputs, rows.outcome - rows.last, **more)

    def stages(self, rows: Rows) -> list[np.ndarray]:
        """Predictions after 0, 1, 2, ... trees."""
        if self.classes and len(self.known) < 2:
            return [self._log_probabilities(np.ones((len(rows.outcome), len(self.known))))]
        inputs = rows.columns(self.names)
        if self.classes:
            first = np.tile(np.log(self.frequencies), (len(inputs), 1))
            return [first, *[self._log_probabilities(p) for p in self.model.staged_predict_proba(inputs)]]
        return [rows.last + 0.0, *[rows.last + change for change in self.model.staged_predict(inputs)]]

    def predict(self, rows: Rows) -> np.ndarray:
        """Log probabilities ``[row, class]``, or the mean ``[row]``."""
        return self.stages(rows)[-1]

    def _log_probabilities(self, p: np.ndarray) -> np.ndarray:
        # Classes that training never held keep their smoothed share.
        full = np.zeros((len(p), self.classes))
        full[:, self.known] = p
        missing = 1 - self.frequencies[self.known].sum()
        full = (1 - missing) * full
        unknown = np.setdiff1d(np.arange(self.classes), self.known)
        full[:, unknown] = self.frequencies[unknown]
        return np.log(np.maximum(full / full.sum(1, keepdims=True), LEAST))


def choose_boosting(rows: Rows, folds: Folds, by_time: bool) -> tuple[tuple[str, ...], dict[str, float], int]:
    """Size and number of trees with the least held-out loss."""
    names = tuple(name for name in rows.blocks if by_time or name != COMMON)
    best: tuple[float, dict[str, float], int] = (np.inf, TREES[0], 0)
    for settings in TREES:
        curves = []
        weights = []
        for learned, held in folds:
            part = rows.part(held)
            stages = Boosting(rows.part(learned), names, settings, MOST_TREES, part).stages(part)
            curves.append([losses(stage, part).mean() for stage in stages])
            weights.append(len(held))
        longest = max(map(len, curves))
        padded = np.array([curve + [curve[-1]] * (longest - len(curve)) for curve in curves])
        mean = np.average(padded, axis=0, weights=weights)
        trees = int(mean.argmin())
        if mean[trees] < best[0]:
            best = (float(mean[trees]), settings, trees)
    return names, best[1], best[2]


# From scores to predictions -----------------------------------------------------------------------------------------


def choose_temperature(found: np.ndarray, labels: np.ndarray, agents: np.ndarray) -> float:
    """Temperature by held-out likelihood; 1 unless half of the agents confirm what the others choose.

    Args:
        found: held-out log probabilities ``[row, class]``.
        labels: class codes ``[row]``.
        agents: agent of each row.
    """

    def loss(value: float, chosen: np.ndarray) -> float:
        tempered = log_normalised(found[chosen] / value)
        return float(-tempered[np.arange(len(tempered)), labels[chosen]].sum())

    def fitted(chosen: np.ndarray) -> float:
        best = minimize_scalar(lambda log_t: loss(np.exp(log_t), chosen), bounds=(-1.5, 1.5), method="bounded")
        return float(np.exp(best.x))

    half = np.random.default_rng(0).permutation(agents.max() + 1)[agents] % 2
    one = np.flatnonzero(half == 0)
    other = np.flatnonzero(half == 1)
    if not len(one) or not len(other):
        return 1.0
    gain = loss(1.0, one) + loss(1.0, other) - loss(fitted(other), one) - loss(fitted(one), other)
    if gain <= 0:
        return 1.0
    return fitted(np.arange(len(labels)))


class Variance:
    """Variance of a number from held-out residuals: constant, or log-linear in covariates where that helps.

    The gamma deviance of squared residuals is twice the Gaussian likelihood of the variance.
    """

    def __init__(self, held: Rows, residual: np.ndarray, names: Sequence[str]) -> None:
        self.names = tuple(names)
        square = np.maximum(residual**2, 1e-12 * max(float((residual**2).mean()), 1e-300))
        self.constant = float(square.mean())
        inputs = held.columns(self.names)
        self.scaling = Scaling(inputs)
        scaled = np.clip(self.scaling.apply(inputs), -3, 3)
        fold = np.random.default_rng(0).permutation(held.agent.max() + 1)[held.agent] % AGENT_FOLDS
        plain = self._deviance(lambda chosen: np.full(chosen.sum(), square[~chosen].mean()), square, fold)
        best = plain.mean()
        self.model = None
        for alpha in (0.03, 0.1, 0.3, 1.0):

            def predict(chosen: np.ndarray, alpha: float = alpha) -> np.ndarray:
                return self._fitted(scaled[~chosen], square[~chosen], alpha).predict(scaled[chosen])

            found = self._deviance(predict, square, fold)
            error = (plain - found).std() / np.sqrt(len(found))
            if found.mean() < min(best, plain.mean() - 2 * error):
                best = found.mean()
                self.model = self._fitted(scaled, square, alpha)

    @staticmethod
    def _fitted(inputs: np.ndarray, square: np.ndarray, alpha: float) -> GammaRegressor:
        return GammaRegressor(alpha=alpha, max_iter=300).fit(inputs, square)

    @staticmethod
    def _deviance(predict: Callable[[np.ndarray], np.ndarray], square: np.ndarray, fold: np.ndarray) -> np.ndarray:
        found = np.zeros(len(square))
        for k in range(AGENT_FOLDS):
            chosen = fold == k
            if chosen.any() and (~chosen).any():
                variance = predict(chosen)
                found[chosen] = np.log(variance) + square[chosen] / variance
        return found

    def apply(self, rows: Rows) -> np.ndarray:
        """Variance of each row."""
        if self.model is None:
            return np.full(len(rows.outcome), self.constant)
        scaled = np.clip(self.scaling.apply(rows.columns(self.names)), -3, 3)
        return np.clip(self.model.predict(scaled), self.constant / 100, self.constant * 100)


# Systems ------------------------------------------------------------------------------------------------------------


def frequencies(train: Rows, test: Rows) -> tuple[Prediction, str]:
    """Class frequencies, or mean and variance, of the training rows."""
    count = len(test.outcome)
    if train.classes:
        return Prediction(probabilities=np.tile(train.frequencies, (count, 1))), ""
    mean = np.full(count, train.outcome.mean())
    return Prediction(mean=mean, variance=np.full(count, train.outcome.var() + 1e-12)), ""


def persistence(train: Rows, test: Rows) -> tuple[Prediction, str]:
    """What follows the last outcome, smoothed as held-out rows choose; numbers by a line through the last one."""
    if train.classes:
        folds, _ = make_folds(train)

        def table(rows: Rows, count: float) -> np.ndarray:
            known = rows.last >= 0
            follow = np.zeros((train.classes + 1, train.classes))
            np.add.at(follow, (rows.last[known].astype(int), rows.outcome[known].astype(int)), 1)
            follow += count * rows.frequencies
            return follow / follow.sum(1, keepdims=True)

        def loss(count: float) -> float:
            parts = [(table(train.part(a), count), train.part(b)) for a, b in folds]
            return sum(-np.log(p[rows.last.astype(int), rows.outcome.astype(int)]).sum() for p, rows in parts)

        smoothing = min((0.3, 1.0, 3.0, 10.0, 30.0, 100.0), key=loss)
        return Prediction(probabilities=table(train, smoothing)[test.last.astype(int)]), f"count {smoothing:g}"
    centre = train.last.mean()
    away = train.last - centre
    slope = float(away @ (train.outcome - train.outcome.mean()) / max(float(away @ away), 1e-12))
    level = train.outcome.mean()
    variance = float(np.mean((train.outcome - level - slope * away) ** 2)) + 1e-12
    mean = level + slope * (test.last - centre)
    return Prediction(mean=mean, variance=np.full(len(mean), variance)), f"slope {slope:.2f}"


def regression(train: Rows, test: Rows) -> tuple[Prediction, str]:
    """Multinomial or ridge regression."""
    folds, by_time = make_folds(train)
    names, penalty = choose_regression(train, folds, by_time)

    def learn(rows: Rows) -> Regression:
        return Regression(rows, names, penalty)

    left_out = ", ".join(name for name in train.blocks if name not in names)
    return _finish(train, test, folds, learn, names, f"penalty {penalty:g}; without: {left_out or 'nothing'}")


def boosting(train: Rows, test: Rows) -> tuple[Prediction, str]:
    """Gradient boosting."""
    folds, by_time = make_folds(train)
    names, settings, trees = choose_boosting(train, folds, by_time)
    if trees == 0 and train.classes:
        return frequencies(train, test)[0], "no tree helps"
    if trees == 0:
        trees = 1

    def learn(rows: Rows) -> Boosting:
        return Boosting(rows, names, settings, trees)

    return _finish(train, test, folds, learn, names, f"{trees} trees of {settings['max_leaf_nodes']} leaves")


def _finish(
    train: Rows,
    test: Rows,
    folds: Folds,
    learn: Callable[[Rows], Regression | Boosting],
    names: Sequence[str],
    note: str,
) -> tuple[Prediction, str]:
    """Learn on all rows; temperature or variance from predictions of held-out rows."""
    held = train.part(np.concatenate([held for _, held in folds]))
    found = np.concatenate([learn(train.part(a)).predict(train.part(b)) for a, b in folds])
    final = learn(train).predict(test)
    if train.classes:
        value = choose_temperature(found, held.outcome.astype(int), held.agent)
        return Prediction(probabilities=np.exp(log_normalised(final / value))), f"{note}; temperature {value:.2f}"
    own = [name for name in ("lags", "history", "features") if name in names]
    variance = Variance(held, held.outcome - found, own or names)
    kind = "constant" if variance.model is None else "by covariates"
    return Prediction(mean=final, variance=variance.apply(test)), f"{note}; variance {kind}"


SIMPLE: dict[str, Callable[[Rows, Rows], tuple[Prediction, str]]] = {
    "frequencies": frequencies,
    "persistence": persistence,
    "regression": regression,
    "boosting": boosting,
}
"""Each takes training and test rows and returns its prediction with a note on what was chosen."""
