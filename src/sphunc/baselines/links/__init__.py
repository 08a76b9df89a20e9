"""Baselines of link discovery: similarity, Granger tests, lasso, PCMCI."""

from sphunc.baselines.links.granger import conditional_granger, false_discovery_rates, pairwise_granger
from sphunc.baselines.links.lasso import lasso
from sphunc.baselines.links.pcmci import pcmci
from sphunc.baselines.links.similarity import cosine, lagged_cosine

__all__ = [
    "conditional_granger",
    "cosine",
    "false_discovery_rates",
    "lagged_cosine",
    "lasso",
    "pairwise_granger",
    "pcmci",
]
