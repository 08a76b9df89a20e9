"""Simulated temporal hypergraphs whose truth is known; their dynamics share no code with the model."""

from sphunc.worlds.presets import PRESETS, settings_for
from sphunc.worlds.settings import WorldSettings
from sphunc.worlds.simulate import simulate
from sphunc.worlds.world import World

__all__ = ["PRESETS", "World", "WorldSettings", "settings_for", "simulate"]
