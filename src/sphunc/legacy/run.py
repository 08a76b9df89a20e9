"""What a network gives: forecasts and what they rest on, the origin of a simulation, beliefs at every time."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Run:
    """Forecasts from every origin of a stretch of times, and what they rest on; shapes ``[T, N, ...]``.

    Attributes:
        log_probabilities: of C classes, or None.
        mean: of K numbers, or None.
        variance: aleatoric part, of the logits ``[T, N]``; or all of it, of the numbers ``[T, N, K]`` in squares of
            ``unit``.
        kappa: concentration of the state that the forecast reads.
        epistemic: its entropy in nats; ``epistemic_scaled`` the same in [0, 1].
        total: both parts, fused.
        latents: node-wise directions.
        ahead: direction of the structural step, one time ahead.
        ahead_strength: concentration by which the causal loss weighs it.
        unit: spread of the numbers in training, or None.
        noise: aleatoric part of ``variance`` of the numbers, before any temperature; or None.
        left_open: part of ``variance`` that the past leaves open; or None.
    """

    log_probabilities: Tensor | None
    mean: Tensor | None
    variance: Tensor
    kappa: Tensor
    epistemic: Tensor
    epistemic_scaled: Tensor
    total: Tensor
    latents: Tensor
    ahead: Tensor
    ahead_strength: Tensor
    unit: Tensor | None = None
    noise: Tensor | None = None
    left_open: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a simulation starts: beliefs at every time, and the forecasts from the last one, step by step.

    Attributes:
        evidence: natural parameter of what was seen at each time ``[T, N, D]``.
        eta: natural parameter of the belief at each time ``[T, N, D]``.
        lasting: persistent prior at the last time ``[N, D]``.
        run: forecasts 1 ... H steps after the last time, steps in place of times ``[H, N, ...]``.
    """

    evidence: Tensor
    eta: Tensor
    lasting: Tensor
    run: Run


@dataclass(frozen=True, eq=False)
class Filtered:
    """Evidence and beliefs at every time, the states one step and ``horizon`` steps on ``[T, N, D]``, and u."""

    evidence: list[Tensor]
    beliefs: list[Tensor]
    ahead: Tensor
    states: Tensor
    lasting: list[Tensor]


def joined(runs: list[Run]) -> Run:
    """Forecasts of several steps, one after another."""
    parts = [[getattr(run, f.name) for run in runs] for f in fields(Run)]
    return Run(*(None if part[0] is None else torch.cat(part) for part in parts))  # pyright: ignore[reportArgumentType]
