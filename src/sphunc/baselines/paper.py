"""The paper's model to the letter, as a system of a comparison."""

from __future__ import annotations

import torch

from sphunc._checks import whole_number
from sphunc._typing import Whole
from sphunc.baselines.settings import Setting
from sphunc.estimator import SphUnc
from sphunc.model import SphUncConfig


def sphunc_paper(
    *, horizon: Whole = 1, seed: Whole = 0, device: str | torch.device = "cpu", **settings: Setting
) -> SphUnc:
    """Make SphUnc with ``SphUncConfig.paper()``: settings are those of the paper's model.

    Args:
        horizon: steps ahead.
        seed: of every random choice.
        device: where to compute.
        **settings: that differ from the paper's table of hyperparameters.
    """
    steps = whole_number("horizon", horizon, least=1)
    return SphUnc(SphUncConfig.paper(horizon=steps, **settings), seed=seed, device=device)
