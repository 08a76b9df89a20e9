"""How hard the worlds are: oracle, trivial models and links, beside the figures of the paper.

    python benchmarks/worlds.py [--presets snare amigos] [--seeds 10]

Every row predicts the last time from the one before, trained on earlier times only. Printed with the mean over seeds
and its standard error: the oracle with and without the true links and the pull of groups, persistence (the last
outcome), a logistic regression and an MLP on the features at the origin, and a logistic regression that also has past
outcomes and mean features. Then the worlds' other vital signs, and the time to make one.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.neural_network import MLPClassifier

from sphunc.worlds import World, simulate

METRIC = {"snare": "macro-F1", "pheme": "macro AUC"}  # accuracy elsewhere
PAPER = {"snare": (78.5, 63.2), "pheme": (85.2, 71.1), "amigos": (75.1, 58.7)}
SEEDS = {"snare": 10, "pheme": 10, "amigos": 50, "financial": 2, "collaboration": 1}
MOST_ROWS = 12_000  # training rows, so that the large worlds stay runnable on two cores
FEW_ROWS = 300


def score(preset: str, outcomes: np.ndarray, probabilities: np.ndarray) -> float:
    """The paper's headline metric of a preset, in points."""
    if METRIC.get(preset) == "macro-F1":
        return 100 * float(f1_score(outcomes, probabilities.argmax(1), average="macro"))
    if METRIC.get(preset) == "macro AUC":
        return 100 * float(roc_auc_score(outcomes, probabilities, multi_class="ovr", average="macro"))
    return 100 * float((probabilities.argmax(1) == outcomes).mean())


def standardised(world: World) -> np.ndarray:
    """Features with the mean and spread of the training times; unobserved entries at the mean."""
    x, seen = world.data.x.double().numpy(), world.data.x_mask.numpy()
    early = slice(0, world.data.num_times - 1)
    count = np.maximum(seen[early].sum((0, 1)), 1)
    mean = (x[early] * seen[early]).sum((0, 1)) / count
    spread = np.sqrt((np.square(x[early] - mean) * seen[early]).sum((0, 1)) / count)
    return np.where(seen, (x - mean) / np.where(spread > 0, spread, 1.0), 0.0)


def predict(model, inputs: np.ndarray, world: World) -> np.ndarray:
    """Fit on x_t -> y_(t+1) for the times before the last origin, predict from the last origin."""
    y, origin = world.outcomes.numpy(), world.data.num_times - 2
    rows, targets = inputs[:origin].reshape(-1, inputs.shape[-1]), y[1 : origin + 1].reshape(-1)
    chosen = np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows[chosen], targets[chosen])
    probabilities = np.full((len(inputs[origin]), world.data.num_classes), 1e-9)
    probabilities[:, model.classes_] = model.predict_proba(inputs[origin])
    return probabilities / probabilities.sum(1, keepdims=True)


def mlp_forecast(world: World) -> np.ndarray:
    """An MLP on the features at the origin, the weakest model that is not trivial."""
    rows = min(MOST_ROWS, (world.data.num_times - 2) * world.data.num_nodes)
    model = MLPClassifier(
        (64,), alpha=1e-2, early_stopping=rows > FEW_ROWS, validation_fraction=0.15, n_iter_no_change=8, max_iter=100,
        random_state=0,
    )  # fmt: skip
    return predict(model, standardised(world), world)


def history_forecast(world: World) -> np.ndarray:
    """A logistic regression on features and outcomes at the origin and their means so far."""
    x, seen = standardised(world), np.eye(world.data.num_classes)[world.outcomes.numpy()]
    so_far = np.arange(1, len(x) + 1)[:, None, None]
    inputs = np.concatenate([x, seen, np.cumsum(x, 0) / so_far, np.cumsum(seen, 0) / so_far], axis=-1)
    return predict(LogisticRegression(C=0.1, max_iter=100), inputs, world)


def without_links(world: World) -> World:
    """The same truth, asked as if nobody influenced anybody."""
    return replace(world, law=replace(world.law, influence=csr_matrix(world.law.influence.shape)))


def without_pull(world: World) -> World:
    """The same truth, asked as if groups did not pull."""
    return replace(world, law=replace(world.law, settings=replace(world.settings, group_pull=0.0)))


def measure(preset: str, seed: int) -> dict[str, float]:
    """All figures of one world."""
    started = time.perf_counter()
    world = simulate(preset, seed=seed)
    seconds = time.perf_counter() - started
    origin, y = world.data.num_times - 2, world.outcomes[-1].numpy()
    forecasts = {
        "oracle": world.oracle(origin).numpy(),
        "oracle, no links": without_links(world).oracle(origin).numpy(),
        "oracle, no group pull": without_pull(world).oracle(origin).numpy(),
        "persistence": np.eye(world.data.num_classes)[world.outcomes[origin].numpy()],
        "logistic on features": predict(LogisticRegression(C=0.1, max_iter=100), standardised(world), world),
        "MLP on features": mlp_forecast(world),
        "logistic on history": history_forecast(world),
    }
    figures = {name: score(preset, y, forecast) for name, forecast in forecasts.items()}
    rows = np.arange(len(y))
    for name in ("oracle", "oracle, no links", "oracle, no group pull", "logistic on history"):
        figures[f"NLL {name}"] = -float(np.log(np.maximum(forecasts[name][rows, y], 1e-12)).mean())
    figures["rank correlation driver, label entropy"] = float(spearmanr(world.driver[-1], world.label_entropy[-1])[0])
    figures["links per agent"] = world.links.shape[1] / world.data.num_nodes
    figures["seconds to make"] = seconds
    return figures


def table(presets: list[str], seeds: int | None) -> str:
    """The difficulty table, in Markdown."""
    columns = {name: [measure(name, seed) for seed in range(seeds or SEEDS[name])] for name in presets}
    lines = ["| | " + " | ".join(f"{p} ({METRIC.get(p, 'accuracy')})" for p in presets) + " |"]
    lines.append("|---" * (len(presets) + 1) + "|")
    lines.append("| seeds | " + " | ".join(str(len(columns[p])) for p in presets) + " |")
    for place, name in enumerate(("paper, best (quoted)", "paper, weakest (quoted)")):
        lines.append(f"| {name} | " + " | ".join(str(PAPER[p][place]) if p in PAPER else "-" for p in presets) + " |")
    figures = next(iter(columns.values()))[0]
    lines += [f"| {f} | " + " | ".join(_cell([run[f] for run in columns[p]]) for p in presets) + " |" for f in figures]
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    digits = 1 if abs(np.mean(values)) >= 10 else 2
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{error}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--presets", nargs="+", default=list(SEEDS), choices=list(SEEDS))
    parser.add_argument(
        "--seeds", type=int, default=None, help="seeds per preset; a number that suits its size unless given"
    )
    arguments = parser.parse_args()
    print(table(arguments.presets, arguments.seeds))


if __name__ == "__main__":
    main()
