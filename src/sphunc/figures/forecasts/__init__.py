"""Figures of forecasts: are they calibrated, what are they uncertain of, do errors follow."""

from sphunc.figures.forecasts.decomposition import draw_decomposition
from sphunc.figures.forecasts.epistemic_error import draw_epistemic_error
from sphunc.figures.forecasts.kappa import draw_kappa_box, draw_kappa_histogram
from sphunc.figures.forecasts.reliability import draw_reliability
from sphunc.figures.forecasts.risk_coverage import draw_risk_coverage

__all__ = [
    "draw_decomposition",
    "draw_epistemic_error",
    "draw_kappa_box",
    "draw_kappa_histogram",
    "draw_reliability",
    "draw_risk_coverage",
]
