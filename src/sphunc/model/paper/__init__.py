"""The paper to the letter: its equations one by one, trained by its Algorithm 1.

Where the paper says too little, the docstring beside the choice says what was chosen:
:mod:`~sphunc.model.paper.equations` (how messages join, what F_i reads, how uncertainty enters the
prediction), :mod:`~sphunc.model.paper.structure` (posterior of links),
:mod:`~sphunc.model.paper.objective` (the causal loss).
"""

from sphunc.model.paper.config import ABLATIONS, PaperConfig
from sphunc.model.paper.fitted import FittedPaper, PaperForecast, fit_paper
from sphunc.model.paper.tracking import TrackedIntervention
from sphunc.model.paper.training import EpochRecord

__all__ = [
    "ABLATIONS",
    "EpochRecord",
    "FittedPaper",
    "PaperConfig",
    "PaperForecast",
    "TrackedIntervention",
    "fit_paper",
]
