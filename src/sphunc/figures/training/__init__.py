"""Figures over the epochs of Algorithm 1."""

from sphunc.figures.training.losses import draw_losses
from sphunc.figures.training.tracking import draw_tracking

__all__ = ["draw_losses", "draw_tracking"]
