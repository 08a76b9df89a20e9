"""Figures of influence: links, their calibration, and what interventions do."""

from sphunc.figures.influence.effects import draw_effects
from sphunc.figures.influence.graph import draw_links
from sphunc.figures.influence.link_calibration import draw_link_calibration
from sphunc.figures.influence.strength import Strength, draw_strength

__all__ = ["Strength", "draw_effects", "draw_link_calibration", "draw_links", "draw_strength"]
