"""The five data sets of the paper, from their official layouts to temporal hypergraphs."""

from sphunc.datasets.card import DatasetCard
from sphunc.datasets.load import NAMES, card, load_dataset

__all__ = ["NAMES", "DatasetCard", "card", "load_dataset"]
