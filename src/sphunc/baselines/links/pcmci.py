"""Scores of tigramite's PCMCI on the same candidates (Runge et al. 2019): an optional comparison.

tigramite is GPL-3 software; it is installed by the extra ``sphunc[pcmci]`` and imported only inside
the function.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sphunc._typing import Float, Links
from sphunc.errors import MissingExtraError


def pcmci(
    latents: Float[Tensor, "time agent dim"], candidates: Links, *, max_lag: int = 1, alpha: float = 0.2
) -> Float[Tensor, " link"]:
    """Minus the logarithm of the smallest p-value over the lags, per candidate.

    Args:
        latents: states; the last axis is taken as independent data sets of the same system, partial
            correlation is the test.
        candidates: links to score; only these and own lags are admitted.
        max_lag: largest lag.
        alpha: tigramite's ``pc_alpha``.
    """
    try:
        from tigramite import data_processing  # pyright: ignore[reportMissingImports]
        from tigramite.independence_tests.parcorr import ParCorr  # pyright: ignore[reportMissingImports]
        from tigramite.pcmci import PCMCI  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingExtraError(
            "pcmci needs tigramite, not installed here; run: pip install 'sphunc[pcmci]' (GPL-3)"
        ) from error
    values = latents.double().cpu().numpy()
    sets = {d: values[:, :, d] for d in range(values.shape[2])}
    frame = data_processing.DataFrame(sets, analysis_mode="multiple")
    method = PCMCI(dataframe=frame, cond_ind_test=ParCorr(), verbosity=0)
    allowed = admitted_links(candidates, values.shape[1], max_lag)
    result = method.run_pcmci(tau_min=1, tau_max=max_lag, pc_alpha=alpha, link_assumptions=allowed)
    source, target = candidates.numpy()
    p_value = result["p_matrix"][source, target, 1:].min(-1)
    size = np.abs(result["val_matrix"][source, target, 1:]).max(-1)
    return torch.from_numpy(-np.log(np.maximum(p_value, 1e-300)) + 1e-6 * size)


def admitted_links(candidates: Links, agents: int, max_lag: int) -> dict[int, dict[tuple[int, int], str]]:
    """Candidates and own lags in tigramite's form.

    Args:
        candidates: links, source and target.
        agents: N.
        max_lag: largest lag.
    """
    lags = range(1, max_lag + 1)
    allowed = {agent: {(agent, -lag): "-?>" for lag in lags} for agent in range(agents)}
    for source, target in candidates.T.tolist():
        allowed[target].update({(source, -lag): "-?>" for lag in lags})
    return allowed
