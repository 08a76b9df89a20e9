"""AMIGOS: EEG, heart and skin of people who watch films alone or in groups."""

from sphunc.datasets.amigos.dataset import CARD, DATASET, AmigosOptions

__all__ = ["CARD", "DATASET", "AmigosOptions"]
