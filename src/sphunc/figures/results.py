"""Figures of the results of an experiment: what `sphunc benchmark` or `sphunc tables` left in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sphunc._typing import Bool, Float
from sphunc.evaluation.benchmark import ORACLE, Store, standing
from sphunc.figures.comparison import draw_ablation, draw_cost, draw_dropout
from sphunc.figures.forecasts import (
    draw_decomposition,
    draw_epistemic_error,
    draw_kappa_box,
    draw_kappa_histogram,
    draw_reliability,
    draw_risk_coverage,
)
from sphunc.figures.influence import draw_link_calibration, draw_links
from sphunc.figures.style import PAGE, figure_style, new_figure
from sphunc.figures.training import draw_losses, draw_tracking

OURS = "sphunc"
COMPARED = "causal_sphhn"
"""The system that the paper's reliability diagrams set beside its own."""
MOST_LINKS = 15
FIRST_SEEN = 2
"""Agents observed at most so often are the ones of whom little is known, in the box plot of concentrations."""
LOSSES = {
    "loss": "total",
    "prediction": "prediction",
    "entropy": "entropy",
    "causal": "causal",
    "validation": "held out",
}
POINTS = {"macro_f1": "macro-F1", "macro_auc": "AUC"}


class Drawn(NamedTuple):
    """A figure with its name and its alternative text."""

    name: str
    figure: Figure
    alt: str


def draw_results(store: Store) -> Iterator[Drawn]:
    """Draw every figure that a folder of results holds the numbers for.

    Args:
        store: of an experiment that has run.
    """
    table = store.table().filter(pl.col("model") != ORACLE)
    with figure_style():
        for (data,), cells in table.group_by("data", maintain_order=True):
            usual = cells.filter(variant="default")
            if usual.is_empty():
                usual = cells.filter(variant=cells["variant"][0])
            yield from _forecast_figures(store, usual, str(data))
            yield from _link_figures(store, usual, str(data))
        yield from _training_figures(store, table)
        yield from _dropout_figure(table)
        yield from _ablation_figures(table)
        yield from _cost_figure(table)


def pooled(store: Store, cells: pl.DataFrame, label: str, name: str) -> pl.DataFrame | None:
    """Frames of one system, all seeds below each other; None where there are none.

    Args:
        store: of the experiment.
        cells: rows of its table.
        label: of the system.
        name: "forecasts", "links" or "history".
    """
    frames = [store.frame(key, name) for key in cells.filter(label=label)["key"].to_list()]
    found = [frame for frame in frames if frame is not None]
    if not found:
        return None
    return pl.concat(found, how="diagonal_relaxed")


def class_probabilities(forecasts: pl.DataFrame) -> Float[np.ndarray, "row class"]:
    """Probabilities of the classes ``[n, C]``."""
    return np.array(forecasts["probabilities"].to_list())


def errors(forecasts: pl.DataFrame) -> Bool[np.ndarray, " row"]:
    """True where the most probable class did not occur ``[n]``."""
    return class_probabilities(forecasts).argmax(1) != forecasts["outcome"].to_numpy()


def _forecast_figures(store: Store, cells: pl.DataFrame, data: str) -> Iterator[Drawn]:
    labels = cells["label"].unique(maintain_order=True).to_list()
    frames = {label: pooled(store, cells, label, "forecasts") for label in labels}
    found = {label: frame for label, frame in frames.items() if frame is not None}
    shown = [label for label in (OURS, COMPARED) if label in found] or labels[:2]
    systems = {label: (class_probabilities(found[label]), found[label]["outcome"].to_numpy()) for label in shown}
    if systems:
        figure, axes = new_figure(2, 1, height=3.6, heights=[3.0, 1.0])
        alt = draw_reliability(axes[0], axes[1], systems, data)
        yield Drawn(f"reliability-{file_name(data)}", figure, alt)
    curves = {label: (frame["total"].to_numpy(), errors(frame)) for label, frame in found.items()}
    if curves:
        figure, axes = new_figure()
        yield Drawn(f"risk-coverage-{file_name(data)}", figure, draw_risk_coverage(axes[0], curves))
    ours = found.get(OURS)
    if ours is not None and "kappa" in ours.columns:
        yield from _uncertainty_figures(ours, data)


def _uncertainty_figures(ours: pl.DataFrame, data: str) -> Iterator[Drawn]:
    wrong = errors(ours)
    epistemic = ours["epistemic_scaled"].to_numpy()
    figure, axes = new_figure()
    alt = draw_decomposition(axes[0], epistemic, ours["aleatoric"].to_numpy(), wrong)
    yield Drawn(f"uncertainty-{file_name(data)}", figure, alt)
    figure, axes = new_figure()
    yield Drawn(f"epistemic-error-{file_name(data)}", figure, draw_epistemic_error(axes[0], epistemic, wrong))
    kappa = ours["kappa"].to_numpy()
    figure, axes = new_figure()
    yield Drawn(f"kappa-histogram-{file_name(data)}", figure, draw_kappa_histogram(axes[0], kappa))
    often = ours["times_observed"].to_numpy() > FIRST_SEEN
    parts = {f"observed {FIRST_SEEN} times or less": kappa[~often], "observed more often": kappa[often]}
    groups = {name: values for name, values in parts.items() if len(values)}
    figure, axes = new_figure()
    yield Drawn(f"kappa-box-{file_name(data)}", figure, draw_kappa_box(axes[0], groups))


def _link_figures(store: Store, cells: pl.DataFrame, data: str) -> Iterator[Drawn]:
    first = cells.filter(label=OURS).head(1)
    links = pooled(store, first, OURS, "links")
    if links is None:
        return
    top = links.sort("score", descending=True).head(MOST_LINKS)
    pairs = list(zip(top["source"].to_list(), top["target"].to_list(), strict=True))
    figure, axes = new_figure(height=3.3)
    alt = draw_links(axes[0], pairs, top["score"].to_list(), top["is_true"].to_list())
    yield Drawn(f"links-{file_name(data)}", figure, alt)
    every = pooled(store, cells, OURS, "links")
    assert every is not None
    figure, axes = new_figure(height=3.0)
    alt = draw_link_calibration(axes[0], every["score"].to_numpy(), every["is_true"].to_numpy())
    yield Drawn(f"link-calibration-{file_name(data)}", figure, alt)


def _training_figures(store: Store, table: pl.DataFrame) -> Iterator[Drawn]:
    """Figures over epochs of the first cell that has them."""
    for key in table.filter(variant="default")["key"].to_list():
        history = store.frame(key, "history")
        if history is not None:
            yield from history_figures(history)
            return


def history_figures(history: pl.DataFrame) -> Iterator[Drawn]:
    """Draw losses, and what was tracked, over the epochs of Algorithm 1.

    Args:
        history: a row per epoch, columns as in ``SphUnc.history_`` of the paper's model.
    """
    epochs = history["epoch"].to_numpy().astype(float)
    series = {column: history[column].cast(pl.Float64).fill_null(np.nan).to_numpy() for column in history.columns}
    figure, axes = new_figure()
    losses = {title: series[column] for column, title in LOSSES.items()}
    yield Drawn("losses", figure, draw_losses(axes[0], epochs, losses))
    pairs = {
        "ece-p10": (("ece", "ECE"), ("precision_at_10", "P@10")),
        "h-causal": (("h_causal", "H_causal (nats)"), ("confidence", "identification confidence")),
    }
    for name, ((left, left_title), (right, right_title)) in pairs.items():
        if np.isfinite(series[left]).any() or np.isfinite(series[right]).any():
            figure, axes = new_figure()
            alt = draw_tracking(axes[0], epochs, (left_title, series[left]), (right_title, series[right]))
            yield Drawn(name, figure, alt)


def _dropout_figure(table: pl.DataFrame) -> Iterator[Drawn]:
    lost = table.with_columns(pl.col("source").map_elements(share_lost, return_dtype=pl.Float64).alias("lost"))
    lost = lost.filter(pl.col("lost").is_not_null())
    if lost["lost"].n_unique() < 2:
        return
    curves = {}
    for (label,), rows in lost.group_by("label", maintain_order=True):
        by_share = {
            share: _mean_and_half(100 * part["macro_f1"].to_numpy()) for (share,), part in rows.group_by("lost")
        }
        shares = sorted(by_share)
        means = [by_share[share][0] for share in shares]
        halves = [by_share[share][1] for share in shares]
        curves[str(label)] = (shares, means, halves)
    figure, axes = new_figure(width=PAGE, height=3.2)
    yield Drawn("dropout", figure, draw_dropout(axes[0], curves, "macro-F1, in points"))


def share_lost(source: str) -> float | None:
    """Share of features lost at test time in a world, from the entry of its cell; None elsewhere."""
    entry = json.loads(source)
    if "world" not in entry:
        return None
    return float(entry.get("knobs", {}).get("lost_at_test", 0.0))


def _ablation_figures(table: pl.DataFrame) -> Iterator[Drawn]:
    for (label,), rows in table.group_by("label", maintain_order=True):
        variants = rows["variant"].unique(maintain_order=True).to_list()
        if len(variants) < 2 or "default" not in variants:
            continue
        variants.sort(key=lambda name: name != "default")
        measures = {}
        for (data,), part in rows.group_by("data", maintain_order=True):
            for column, title in POINTS.items():
                values = [100 * part.filter(variant=name)[column].to_numpy() for name in variants]
                measures[f"{data}, {title}"] = [_mean_and_half(value) for value in values]
        names = ["full model" if name == "default" else name for name in variants]
        figure, axes = new_figure(width=PAGE, height=0.9 + 0.42 * len(variants))
        yield Drawn(f"ablation-{file_name(str(label))}", figure, draw_ablation(axes[0], names, measures))


def _cost_figure(table: pl.DataFrame) -> Iterator[Drawn]:
    labels = table["label"].unique(maintain_order=True).to_list()
    if len(labels) < 2:
        return
    columns = {"seconds_fit": "training (s)", "seconds_predict": "forecasts (s)", "peak_megabytes": "memory (MB)"}
    costs = {}
    for column, title in columns.items():
        if column in table.columns:
            means = {label: table.filter(label=label)[column].mean() for label in labels}
            costs[title] = [float("nan") if value is None else float(value) for value in means.values()]  # pyright: ignore[reportArgumentType]
    figure, axes = new_figure(1, len(costs), width=PAGE, height=0.8 + 0.22 * len(labels))
    yield Drawn("cost", figure, draw_cost(axes, labels, costs))


def _mean_and_half(values: Float[np.ndarray, " seed"]) -> tuple[float, float]:
    """Mean over seeds and half the width of its 95 % interval; 0 with one seed."""
    if not len(values):
        return float("nan"), 0.0
    found = standing(values)
    return found.mean, found.half or 0.0


def file_name(label: str) -> str:
    """A label as part of the name of a file."""
    kept = "".join(letter if letter.isalnum() else "-" for letter in label.lower())
    return "-".join(part for part in kept.split("-") if part)
