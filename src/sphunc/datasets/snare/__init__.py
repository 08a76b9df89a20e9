"""SNARE and its kind: pupils who name their friends wave after wave."""

from sphunc.datasets.snare.dataset import CARD, DATASET, SnareOptions

__all__ = ["CARD", "DATASET", "SnareOptions"]
