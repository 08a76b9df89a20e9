"""Peers of single rows: an ensemble of networks, a kernel density of the true states, lagged cosine of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from model_trivial import LEAST, Evidence, learn_mlp, standardised
from torch import Tensor

import sphunc
from sphunc.causal.peers import lagged_cosine
from sphunc.legacy.signal import reliable_directions
from sphunc.sphere import log_normalizer
from sphunc.worlds import World

MEMBERS = 5
KERNELS = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
MOST_CENTRES = 4096
MOST_NUMBERS = 50_000_000  # gathered at once: 200 MB
RANKS = (3, 5, 8, 12, 16, 24, 32)


def ensemble_scores(
    evidence: Evidence, train: Sequence[int], validation: Sequence[int], origin: int, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Mutual information and predictive entropy ``[N]`` of 5 networks, on all evidence and on today's features."""
    for name, columns in (("all evidence", slice(None)), ("features", slice(0, evidence.now))):
        rows, held = evidence.rows(train), evidence.rows(validation)
        members = [
            learn_mlp(
                (np.ascontiguousarray(rows[0][:, columns]), rows[1]),
                (np.ascontiguousarray(held[0][:, columns]), held[1]),
                evidence.classes,
                width=64,
                decay=1e-2,
                seed=1000 * seed + member,
            )[0](np.ascontiguousarray(evidence.at(origin)[:, columns]))
            for member in range(MEMBERS)
        ]
        each = np.stack(members)
        whole = _entropy(each.mean(0))
        yield f"mutual information, {name}", whole - _entropy(each).mean(0)
        yield f"predictive entropy, {name}", whole


def _entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(np.maximum(p, LEAST))).sum(-1)


def surprise_of_states(world: World, stop: int, origin: int) -> np.ndarray:
    """Minus the log density ``[N]`` of the true states at ``origin`` under a vMF kernel density of training states.

    Centres are the true states before ``stop`` of the agents there; the concentration of the kernel is the one under
    which half of these agents makes the other half likeliest.
    """
    known = ~(world.newcomers | world.out_of_distribution)
    halves = torch.arange(int(known.sum())) % 2 == 0
    path = world.states[:stop, known]
    fit, held = _thinned(path[:, halves]), _thinned(path[:, ~halves])
    best = max(KERNELS, key=lambda kappa: float(_log_density(held, fit, kappa).mean()))
    return -_log_density(world.states[origin], _thinned(path), best).numpy()


def _thinned(states: Tensor) -> Tensor:
    flat = states.flatten(0, 1)
    return flat[:: max(1, -(-len(flat) // MOST_CENTRES))]


def _log_density(points: Tensor, centres: Tensor, kappa: float) -> Tensor:
    logs = (kappa * points @ centres.mT).logsumexp(1) - np.log(len(centres))
    return logs + log_normalizer(torch.tensor(kappa, dtype=torch.double), points.shape[1])


def lagged_cosines(data: sphunc.TemporalHypergraph, candidates: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield lagged cosine of every candidate on the features, their principal and their lasting components.

    "centred" ones subtract each agent's mean over time first: lagged correlation, a stronger relative.
    """
    mask = data.x_mask.numpy()
    x = torch.from_numpy(np.where(mask, standardised(data.x.double().numpy(), mask, data.num_times), 0.0)).float()
    _, _, axes = torch.linalg.svd(x.flatten(0, 1)[:: max(1, x.shape[0] * x.shape[1] // 20_000)], full_matrices=False)
    lasting, reliability = reliable_directions(x, data.present)
    views = {"features": x}
    views |= {f"PCA {rank}": x @ axes[:rank].mT for rank in RANKS if rank < x.shape[2]}
    views |= {f"lasting {r}": x @ (lasting * reliability.sqrt())[:, :r] for r in RANKS if r <= len(reliability)}
    for name, view in views.items():
        yield name, _in_pieces(view, candidates)
        yield f"{name}, centred", _in_pieces(view - view.mean(0), candidates)


def _in_pieces(view: Tensor, candidates: Tensor) -> Tensor:
    rows = max(1, MOST_NUMBERS // (view.shape[0] * view.shape[2]))
    return torch.cat([lagged_cosine(view, piece) for piece in candidates.split(rows, 1)])
