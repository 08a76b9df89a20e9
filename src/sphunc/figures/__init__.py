"""Figures: pure functions from numbers to axes, and the sets of them that results and fitted models give.

Every ``draw_...`` function draws on axes that it is given and returns the alternative text.
"""

from sphunc.figures.comparison import draw_ablation, draw_cost, draw_disentanglement, draw_dropout
from sphunc.figures.fitted import draw_fitted, effect_rows
from sphunc.figures.forecasts import (
    draw_decomposition,
    draw_epistemic_error,
    draw_kappa_box,
    draw_kappa_histogram,
    draw_reliability,
    draw_risk_coverage,
)
from sphunc.figures.influence import draw_effects, draw_link_calibration, draw_links, draw_strength
from sphunc.figures.results import Drawn, draw_results, history_figures
from sphunc.figures.saving import FORMATS, figure_bytes, save_figure
from sphunc.figures.style import figure_style, new_figure
from sphunc.figures.training import draw_losses, draw_tracking

__all__ = [
    "FORMATS",
    "Drawn",
    "draw_ablation",
    "draw_cost",
    "draw_decomposition",
    "draw_disentanglement",
    "draw_dropout",
    "draw_effects",
    "draw_epistemic_error",
    "draw_fitted",
    "draw_kappa_box",
    "draw_kappa_histogram",
    "draw_link_calibration",
    "draw_links",
    "draw_losses",
    "draw_reliability",
    "draw_results",
    "draw_risk_coverage",
    "draw_strength",
    "draw_tracking",
    "effect_rows",
    "figure_bytes",
    "figure_style",
    "history_figures",
    "new_figure",
    "save_figure",
]
