"""PHEME: rumour threads on Twitter, in all three public releases."""

from sphunc.datasets.pheme.dataset import CARD, DATASET, PhemeOptions

__all__ = ["CARD", "DATASET", "PhemeOptions"]
