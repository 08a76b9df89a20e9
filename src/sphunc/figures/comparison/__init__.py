"""Figures that set systems side by side."""

from sphunc.figures.comparison.ablation import draw_ablation
from sphunc.figures.comparison.cost import draw_cost
from sphunc.figures.comparison.disentanglement import draw_disentanglement
from sphunc.figures.comparison.dropout import draw_dropout

__all__ = ["draw_ablation", "draw_cost", "draw_disentanglement", "draw_dropout"]
