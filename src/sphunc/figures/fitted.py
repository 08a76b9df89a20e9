"""Figures of a fitted model on its data: what it believes, whom it links, what interventions do."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
import polars as pl
import torch

from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentError
from sphunc.estimator import SphUnc
from sphunc.figures.forecasts import (
    draw_decomposition,
    draw_epistemic_error,
    draw_kappa_box,
    draw_kappa_histogram,
    draw_reliability,
    draw_risk_coverage,
)
from sphunc.figures.influence import Strength, draw_effects, draw_link_calibration, draw_links, draw_strength
from sphunc.figures.results import Drawn, history_figures
from sphunc.figures.style import figure_style, new_figure
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions import Do, Effect, Shift

MOST_LINKS = 15
MOST_EFFECTS = 12
TURNED = 3
"""Targets whose H_causal is followed: those that the agent influences most."""
ANGLES = tuple(float(angle) for angle in np.linspace(0.0, np.pi, 7))
STEPS = 2
"""Steps after the origin: an outcome that is held acts on others at the second."""
SAMPLES = 100
"""S, Monte Carlo samples of an intervention."""
SMALLEST_EFFECT = 1e-6
"""Effects below are rounding; without larger ones their figures are left out."""
EXPECTED_LINKS = 0.5
"""Probability above which a link is drawn."""


def draw_fitted(model: SphUnc, data: TemporalHypergraph, seed: int = 0) -> Iterator[Drawn]:
    """Draw every figure that a fitted model and its data hold; those of later outcomes where data reach beyond the fit.

    Args:
        model: fitted.
        data: what it was fitted on, or more.
        seed: of what is simulated.
    """
    with figure_style():
        yield from _belief_figures(model, data)
        yield from _later_figures(model, data)
        if hasattr(model.history_[0], "epoch"):
            yield from history_figures(pl.DataFrame([vars(record) for record in model.history_]))
        else:
            yield from _influence_figures(model, data, seed)


def _belief_figures(model: SphUnc, data: TemporalHypergraph) -> Iterator[Drawn]:
    forecast = model.predict(data)
    kappa = forecast.kappa.numpy()
    figure, axes = new_figure()
    yield Drawn("kappa-histogram", figure, draw_kappa_histogram(axes[0], kappa))
    groups = {"all": kappa}
    if forecast.class_names:
        named = forecast.prediction.numpy()
        parts = {name: kappa[named == k] for k, name in enumerate(forecast.class_names)}
        groups = {name: values for name, values in parts.items() if len(values)}
    figure, axes = new_figure()
    yield Drawn("kappa-box", figure, draw_kappa_box(axes[0], groups))


def _later_figures(model: SphUnc, data: TemporalHypergraph) -> Iterator[Drawn]:
    """Figures of class forecasts whose outcomes came after the training data."""
    horizon = model.config_.horizon
    known = [k for k, label in enumerate(data.times) if label == model.schema_.last]
    if not known or data.y is None or not data.class_names:
        return
    origins = [o for o in range(data.num_times - horizon) if o + horizon > known[0]]
    if not origins:
        return
    forecasts = [model.predict(data, origin_index=origin) for origin in origins]
    masks = [data.y_mask[origin + horizon] for origin in origins]
    outcome = torch.cat([data.y[o + horizon][mask] for o, mask in zip(origins, masks, strict=True)]).numpy()
    if not len(outcome):
        return

    def rows(name: str) -> np.ndarray:
        values = [getattr(forecast, name)[mask] for forecast, mask in zip(forecasts, masks, strict=True)]
        return torch.cat(values).double().numpy()

    probabilities = rows("probabilities")
    wrong = probabilities.argmax(1) != outcome
    figure, axes = new_figure(2, 1, height=3.6, heights=[3.0, 1.0])
    alt = draw_reliability(axes[0], axes[1], {"SphUnc": (probabilities, outcome)})
    yield Drawn("reliability", figure, alt)
    figure, axes = new_figure()
    curves = {"total": (rows("total"), wrong), "top probability": (1 - probabilities.max(1), wrong)}
    yield Drawn("risk-coverage", figure, draw_risk_coverage(axes[0], curves))
    figure, axes = new_figure()
    alt = draw_decomposition(axes[0], rows("epistemic_scaled"), rows("aleatoric"), wrong)
    yield Drawn("uncertainty", figure, alt)
    figure, axes = new_figure()
    yield Drawn("epistemic-error", figure, draw_epistemic_error(axes[0], rows("epistemic_scaled"), wrong))


def _influence_figures(model: SphUnc, data: TemporalHypergraph, seed: int) -> Iterator[Drawn]:
    try:
        graph = model.influence()
    except ArgumentError:  # no links could be learned, and the fit says why
        return
    frame = graph.to_frame().sort("probability", descending=True)
    true = None
    if data.influence is not None:
        ids = [str(agent) for agent in data.node_ids]
        true = {(ids[s], ids[t]) for s, t in data.influence.T.tolist()}
    names = list(zip(frame["source"].cast(pl.String), frame["target"].cast(pl.String), strict=True))
    if true is not None and frame.height:
        marks = np.array([pair in true for pair in names])
        figure, axes = new_figure(height=3.0)
        alt = draw_link_calibration(axes[0], frame["probability"].to_numpy(), marks)
        yield Drawn("link-calibration", figure, alt)
    found = int((frame["probability"] > EXPECTED_LINKS).sum())
    shown = min(found, MOST_LINKS)
    if shown:
        hits = None
        if true is not None:
            hits = [pair in true for pair in names[:shown]]
        figure, axes = new_figure(height=3.3)
        alt = draw_links(axes[0], names[:shown], frame["probability"].to_list()[:shown], hits)
        yield Drawn("links", figure, alt)
    if not data.class_names:
        return
    reach = torch.zeros(graph.num_agents).index_add(0, graph.links[0], graph.coefficient.abs().float())
    position = {agent: k for k, agent in enumerate(data.node_ids)}
    order = reach.argsort(descending=True, stable=True).tolist()
    source = next((graph.agents[k] for k in order if graph.agents[k] in position), None)
    if source is None:
        return
    toward = data.class_names[0]
    plan = Do(source, outcome=toward)
    if model.dim_:
        plan = Do(source, toward=toward)
    effect = model.intervene(plan, data=data, horizon=STEPS, samples=SAMPLES, seed=seed)
    others = effect.size[~effect.intervened]
    if not bool((others > SMALLEST_EFFECT).any()):
        return
    if model.dim_:
        sweeps = strength_of(model, data, graph, source, toward, seed)
        figure, axes = new_figure()
        axes[0].set_title(f"{source} turned toward {toward}")
        yield Drawn("intervention-strength", figure, draw_strength(axes[0], sweeps))
    figure, axes = new_figure(height=3.2)
    table = effect_rows(effect, toward, MOST_EFFECTS)
    axes[0].set_title(f"{source} held at {toward}: P({toward}) of others after {STEPS} steps")
    yield Drawn("effects", figure, draw_effects(axes[0], table))


def strength_of(
    model: SphUnc, data: TemporalHypergraph, graph: InfluenceGraph, source: Hashable, toward: str, seed: int
) -> dict[str, Strength]:
    """H_causal of the agents that one influences most, for each angle by which its state is turned.

    Args:
        model: fitted, with states.
        data: the past.
        graph: its links.
        source: id of the agent that is turned.
        toward: class in whose direction it is turned.
        seed: of what is simulated; all angles share it.
    """
    place = graph.agents.index(source)
    own = (graph.links[0] == place).nonzero().flatten()
    order = graph.coefficient[own].abs().argsort(descending=True, stable=True)[:TURNED]
    targets = [graph.agents[k] for k in graph.links[1][own[order]].tolist()]
    position = {agent: k for k, agent in enumerate(data.node_ids)}
    rows = [position[target] for target in targets if target in position]
    entropies = []
    for angle in ANGLES:
        plan = Shift(source, toward, angle)
        effect = model.intervene(plan, data=data, horizon=STEPS, samples=SAMPLES, seed=seed)
        entropies.append([float(effect.entropy[row]) for row in rows])
    values = np.array(entropies)
    return {str(data.node_ids[row]): (ANGLES, values[:, k]) for k, row in enumerate(rows)}


def effect_rows(effect: Effect, outcome: str, most: int) -> pl.DataFrame:
    """The largest effects on the probability of a class, as :func:`draw_effects` takes them.

    Args:
        effect: of an intervention, class outcomes.
        outcome: name of the class.
        most: rows at most.
    """
    column = list(effect.class_names).index(outcome)
    change = effect.difference[:, column]
    others = (~effect.intervened).nonzero().flatten()
    chosen = others[change[others].abs().argsort(descending=True, stable=True)[:most]]
    columns: dict[str, Sequence[object]] = {
        "name": [str(effect.agents[k]) for k in chosen.tolist()],
        "change": change[chosen].tolist(),
        "low": effect.interval[chosen, column, 0].tolist(),
        "high": effect.interval[chosen, column, 1].tolist(),
        "monte_carlo_error": effect.monte_carlo_error[chosen, column].nan_to_num().tolist(),
    }
    return pl.DataFrame(columns)
