"""Collaboration: people who write papers or sit on committees together."""

from sphunc.datasets.collaboration.dataset import CARD, DATASET, CollaborationOptions

__all__ = ["CARD", "DATASET", "CollaborationOptions"]
