"""Plain ways to score candidate links, to be compared with: similarity, Granger tests, lasso, PCMCI."""

from sphunc.baselines.links.granger import conditional_granger, false_discovery, pairwise_granger
from sphunc.baselines.links.lasso import lasso
from sphunc.baselines.links.pcmci import pcmci
from sphunc.baselines.links.similarity import cosine, lagged_cosine

__all__ = [
    "conditional_granger",
    "cosine",
    "false_discovery",
    "lagged_cosine",
    "lasso",
    "pairwise_granger",
    "pcmci",
]
