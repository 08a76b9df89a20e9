r"""Gradient boosting of trees on the covariates of the logistic regression: what is run first on tables.

scikit-learn's ``HistGradientBoostingClassifier`` (after LightGBM, Ke et al. 2017); after b rounds

.. math:: p_c \propto \exp\Big(f_{0c} + \sum_{r=1}^{b} \eta\, g_{rc}(x)\Big)

with :math:`g_{rc}` a tree of few leaves. The number of rounds has the lowest held-out NLL; then a
temperature is fitted on calibration outcomes, and trees are grown anew, as many rounds, on every
outcome that may be read. Classes that training lacks keep a smoothed share.

The trees are kept as arrays of their own, so that nothing is pickled and a saved model does not
depend on the version of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import Generator, Tensor

from sphunc._typing import Float, Int
from sphunc.baselines.baseline import CalibratedBaseline, Document, Tensors
from sphunc.baselines.holdout import HoldoutScheme, Targets, deal_folds, targets_of
from sphunc.baselines.panel import Statistics, make_panel, statistics_of
from sphunc.baselines.regressions.columns import covariate_columns
from sphunc.baselines.settings import Count, Rate, SearchSpace, Settings, Several, Weight
from sphunc.baselines.temperature import FEWEST_TO_CALIBRATE, HeldOut, Temperature
from sphunc.forecasting import Categorical, TrainingSchema
from sphunc.hypergraph import TemporalHypergraph

Rows = Float[Tensor, "row column"]
Labels = Int[Tensor, " row"]


class BoostingSettings(Settings):
    """Settings of boosting.

    Attributes:
        learning_rate: eta, weight of a tree.
        rounds: most trees per class; the lowest held-out NLL chooses how many are kept.
        leaves: most leaves of a tree.
        leaf_rows: fewest rows in a leaf.
        l2: penalty on the values of leaves.
        columns: about as many, drawn anew, may a split choose from.
        folds: parts of the agents where agents are held out.
        refit: whether trees are grown anew on every outcome that may be read.
        scaling: temperature that rises with predictive entropy, one for all forecasts, or none.
    """

    learning_rate: Rate = 0.07
    rounds: Count = 200
    leaves: Several = 4
    leaf_rows: Count = 20
    l2: Weight = 5.0
    columns: Count = 100
    folds: Several = 3
    refit: bool = True
    scaling: Literal["entropy", "scalar", "none"] = "entropy"


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees of a boosted classifier, node by node; a leaf is its own child.

    Attributes:
        feature: column that a node asks for.
        threshold: rows up to it go left.
        left: node of these rows.
        right: node of the others.
        value: what a leaf adds to its class.
        root: first node of each tree ``[round, score]``: a score per class, or one for two classes.
        start: log-odds before the first round ``[score]``.
        known: classes that the trees tell apart, at least two; or one.
        share: smoothed frequencies of all C classes, for those that are not known.
        depth: most questions on the way to a leaf.
    """

    feature: Int[Tensor, " node"]
    threshold: Float[Tensor, " node"]
    left: Int[Tensor, " node"]
    right: Int[Tensor, " node"]
    value: Float[Tensor, " node"]
    root: Int[Tensor, "round score"]
    start: Float[Tensor, " score"]
    known: Int[Tensor, " known"]
    share: Float[Tensor, " class"]
    depth: int

    def scores(self, rows: Rows) -> Iterator[Float[Tensor, "row score"]]:
        """Yield the log-odds before the first round, and after each."""
        rows = rows.double()
        row = torch.arange(len(rows)).unsqueeze(1)
        score = self.start.expand(len(rows), -1)
        yield score
        for root in self.root:
            node = root.expand(len(rows), -1)
            for _ in range(self.depth):
                goes_left = rows[row, self.feature[node]] <= self.threshold[node]
                node = torch.where(goes_left, self.left[node], self.right[node])
            score = score + self.value[node]
            yield score

    def predict(self, rows: Rows) -> Categorical:
        """Probabilities after the last round."""
        *_, last = self.scores(rows)
        return self.forecast(last)

    def first(self, rounds: int) -> Trees:
        """Return the trees of the first rounds alone."""
        return replace(self, root=self.root[:rounds])

    def forecast(self, scores: Float[Tensor, "*batch score"]) -> Categorical:
        """Probabilities of all classes from the log-odds of those that are known."""
        if scores.shape[-1] == 1 and len(self.known) == 2:
            scores = torch.cat([torch.zeros_like(scores), scores], -1)
        of_known = self.share[self.known].sum() * torch.softmax(scores, -1)
        full = self.share.expand(*scores.shape[:-1], -1).clone()
        full[..., self.known] = of_known
        return Categorical(full.log().float())


def grow(rows: Rows, labels: Labels, num_classes: int, settings: BoostingSettings, seed: int) -> Trees:
    """Grow the trees of all rounds.

    Args:
        rows: covariates.
        labels: outcomes.
        num_classes: C.
        settings: of boosting.
        seed: of the columns that splits choose from.
    """
    counts = torch.bincount(labels, minlength=num_classes).double()
    share = (counts + 1.0) / (len(labels) + num_classes)
    known = counts.nonzero().flatten()
    if len(known) < 2:
        return tree_arrays([], np.zeros(1), known, share)
    model = HistGradientBoostingClassifier(
        max_iter=settings.rounds,
        learning_rate=settings.learning_rate,
        max_leaf_nodes=settings.leaves,
        min_samples_leaf=settings.leaf_rows,
        l2_regularization=settings.l2,
        max_features=min(1.0, settings.columns / rows.shape[1]),
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed % 2**32,
    )
    model.fit(rows.numpy(), labels.numpy())
    grown = [[tree.nodes for tree in per_class] for per_class in model._predictors]
    return tree_arrays(grown, model._baseline_prediction.ravel(), known, share)


def tree_arrays(grown: Sequence[Sequence[np.ndarray]], start: np.ndarray, known: Tensor, share: Tensor) -> Trees:
    """Join the nodes of scikit-learn's trees.

    Args:
        grown: nodes of each tree, by round and class.
        start: log-odds before the first round.
        known: classes that the trees tell apart.
        share: smoothed frequencies of all classes.
    """
    parts = [nodes for per_class in grown for nodes in per_class]
    first = np.cumsum([0, *map(len, parts)])
    fields: dict[str, list[np.ndarray]] = {"feature": [], "threshold": [], "left": [], "right": [], "value": []}
    depth = 0
    for offset, nodes in zip(first, parts, strict=False):
        is_leaf = nodes["is_leaf"].astype(bool)
        own = np.arange(len(nodes))
        fields["feature"].append(np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.int64))
        fields["threshold"].append(np.where(is_leaf, 0.0, nodes["num_threshold"]))
        fields["left"].append(offset + np.where(is_leaf, own, nodes["left"]).astype(np.int64))
        fields["right"].append(offset + np.where(is_leaf, own, nodes["right"]).astype(np.int64))
        fields["value"].append(np.where(is_leaf, nodes["value"], 0.0))
        depth = max(depth, int(nodes["depth"].max()))
    empty = {"feature": np.int64, "threshold": float, "left": np.int64, "right": np.int64, "value": float}
    joined = {
        name: torch.from_numpy(np.concatenate([np.zeros(0, dtype=empty[name]), *part])) for name, part in fields.items()
    }
    root = torch.from_numpy(first[:-1].astype(np.int64)).view(len(grown), len(start))
    return Trees(**joined, root=root, start=torch.from_numpy(start).double(), known=known, share=share, depth=depth)


class Boosting(CalibratedBaseline):
    """Gradient boosting on features, the last three outcomes, and means over co-members of both.

    Attributes:
        trees_: those of the last fit.
        rounds_: trees per class with the lowest held-out NLL.
    """

    name = "boosting"
    Settings = BoostingSettings
    search: ClassVar[SearchSpace] = {
        "learning_rate": (0.03, 0.07, 0.15),
        "leaves": (3, 4, 8, 16),
        "l2": (1.0, 5.0, 20.0),
        "leaf_rows": (10, 20, 40),
    }
    settings: BoostingSettings

    trees_: Trees
    rounds_: int
    statistics_: Statistics

    def _learn(self, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema) -> None:
        readable = data.window(0, scheme.stop)
        stop = scheme.stop
        if not scheme.by_agents:
            stop = scheme.train_stop
        self.statistics_ = statistics_of(readable, stop)
        columns = covariate_columns(make_panel(readable, self.statistics_, schema.outputs)).cpu()
        targets = targets_of(readable.to("cpu"), scheme.horizon, scheme.all_origins)
        seen = self._training_parts(targets, scheme)
        parts = [self._grow(columns, learned, schema.outputs) for learned, _ in seen]

        # The number of rounds with the lowest NLL of the outcomes that a part did not learn from.
        curves = [nll_by_round(trees, columns, held) for trees, (_, held) in zip(parts, seen, strict=True)]
        shortest = min(map(len, curves))  # a part with one class only grows nothing
        nll = torch.stack([curve[:shortest] for curve in curves]).sum(0) / sum(held.count for _, held in seen)
        self.rounds_ = int(nll.argmin())
        self.validation_ = float(nll.min())

        # Calibrate, and grow as many rounds on all outcomes.
        forecast = torch.zeros(*columns.shape[:2], schema.outputs)
        calibration = targets.latest(FEWEST_TO_CALIBRATE)
        if not scheme.by_agents:
            calibration = targets_of(readable.to("cpu"), scheme.horizon, scheme.calibration)
        for trees, (_, held) in zip(parts, seen, strict=True):
            mask = held.mask
            if not scheme.by_agents:
                mask = calibration.mask
            forecast[mask] = trees.first(self.rounds_).predict(columns[mask]).log_probabilities
        self.held_out_ = HeldOut(Categorical(forecast), calibration)
        self.trees_ = parts[0].first(self.rounds_)
        if self.settings.refit or scheme.by_agents:
            self.trees_ = self._grow(columns, targets, schema.outputs).first(self.rounds_)
        if self.settings.refit and not scheme.by_agents:
            final = torch.zeros_like(forecast)
            final[calibration.mask] = self.trees_.predict(columns[calibration.mask]).log_probabilities
            self.held_out_ = replace(self.held_out_, final=Categorical(final))
        self.temperature_ = self.held_out_.temperature(self.settings.scaling)

    def _training_parts(self, targets: Targets, scheme: HoldoutScheme) -> list[tuple[Targets, Targets]]:
        """Outcomes to learn from and to stop on: of the first and the next origins, or of agents fold by fold."""
        if not scheme.by_agents:
            origins = torch.arange(len(targets.mask)).unsqueeze(1)
            learned = torch.isin(origins, torch.tensor(scheme.train))
            held = torch.isin(origins, torch.tensor(scheme.validation))
            return [(targets.only(learned), targets.only(held))]
        agents = targets.mask.shape[1]
        count = min(self.settings.folds, agents)
        fold = deal_folds(agents, count, Generator().manual_seed(self.seed % 2**63))
        return [(targets.only(fold != k), targets.only(fold == k)) for k in range(count)]

    def _grow(self, columns: Tensor, targets: Targets, num_classes: int) -> Trees:
        mask = targets.mask
        return grow(columns[mask], targets.outcome[mask], num_classes, self.settings, self.seed)

    def uncalibrated(self, past: TemporalHypergraph) -> tuple[Categorical, Mapping[str, Tensor]]:
        """Forecast before the temperature; trees tell no parts of its uncertainty.

        Args:
            past: aligned with the training data; forecast from its last time.
        """
        columns = covariate_columns(make_panel(past, self.statistics_, self.schema_.outputs))[-1]
        return self.trees_.predict(columns.cpu()), {}

    def _state(self) -> tuple[Document, Tensors]:
        arrays = {name: value for name, value in vars(self.trees_).items() if isinstance(value, Tensor)}
        mean, deviation = self.statistics_
        document = {
            "temperature": asdict(self.temperature_),
            "rounds": self.rounds_,
            "depth": self.trees_.depth,
            "classes_apart": self.trees_.root.shape[1],
        }
        return document, {**arrays, "mean": mean, "deviation": deviation}

    def _restore(self, document: Document, tensors: Tensors) -> None:
        self.statistics_ = (tensors.pop("mean"), tensors.pop("deviation"))
        arrays = {name: value.cpu() for name, value in tensors.items()}
        arrays["root"] = arrays["root"].view(-1, document["classes_apart"])
        self.trees_ = Trees(**arrays, depth=document["depth"])
        self.temperature_ = Temperature(**document["temperature"])
        self.rounds_ = document["rounds"]


def nll_by_round(trees: Trees, columns: Tensor, held: Targets) -> Float[Tensor, " round"]:
    """Summed negative log-likelihood of held-out outcomes before the first round, and after each.

    Args:
        trees: that have not learned from them.
        columns: covariates of all agents and times.
        held: outcomes.
    """
    rows = columns[held.mask]
    outcome = held.outcome[held.mask].unsqueeze(-1)
    sums = [-trees.forecast(score).log_probabilities.gather(-1, outcome).sum() for score in trees.scores(rows)]
    return torch.stack(sums)
