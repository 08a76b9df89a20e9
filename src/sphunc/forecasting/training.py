"""One gradient loop: AdamW by blocks of parameters, early stopping on a held-out score.

The loop knows nothing of networks or data. It trains the network of the paper, block after block
(Algorithm 1), and every baseline that is trained by gradient, all parameters at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from sphunc.errors import ArgumentError

Batch = TypeVar("Batch")

TOTAL = "loss"
"""Name of the part that is minimised; the others are recorded."""
LARGEST_GRADIENT = 1.0
"""Norm to which the gradient of a block is clipped, so that one wild minibatch cannot undo an epoch."""


@dataclass(frozen=True)
class TrainingEpoch:
    """What one epoch gave.

    Attributes:
        epoch: number of the epoch, from 0.
        parts: mean over the minibatches of each part of the objective, the total under "loss".
        validation: held-out score after the epoch (lower is better), or None.
        learning_rate: step size of AdamW.
        seconds: wall-clock time of the epoch.
        is_best: whether no earlier epoch scored lower.
    """

    epoch: int
    parts: Mapping[str, float]
    validation: float | None
    learning_rate: float
    seconds: float
    is_best: bool


def train(
    module: nn.Module,
    blocks: Sequence[Sequence[nn.Parameter]],
    batches: Callable[[], Iterable[Batch]],
    losses: Callable[[Batch], Mapping[str, Tensor]],
    validate: Callable[[], float | None],
    *,
    epochs: int,
    patience: int,
    learning_rate: float,
    weight_decay: float = 1e-2,
    after_epoch: Callable[[TrainingEpoch], None] | None = None,
) -> list[TrainingEpoch]:
    """Minimise an objective by minibatches; stop when the held-out score no longer falls.

    The module ends in evaluation mode with the weights and buffers of the best epoch, or of the
    last one if there is no held-out score.

    Args:
        module: owner of the parameters; its state is what is restored.
        blocks: parameters of each update of a minibatch. Several blocks are updated in turn, each
        on
            the objective as the blocks before it left it; one block is ordinary joint training.
        batches: gives the minibatches of one epoch, called once per epoch.
        losses: parts of the objective on a minibatch as scalars; the one called "loss" is
        minimised.
        validate: held-out score, lower is better; None where nothing is held out.
        epochs: most epochs.
        patience: epochs without a lower score after which training ends.
        learning_rate: step size of AdamW (Loshchilov and Hutter, 2019).
        weight_decay: weight decay of AdamW.
        after_epoch: called with the record of each epoch, before the best state is stored.

    Returns:
        One record per epoch.
    """
    used = [list(block) for block in blocks if len(block) > 0]
    optimizers = [torch.optim.AdamW(block, lr=learning_rate, weight_decay=weight_decay) for block in used]
    history: list[TrainingEpoch] = []
    best_score = math.inf
    best_epoch = 0
    best_state: dict[str, Tensor] | None = None
    for epoch in range(epochs):
        started = time.perf_counter()
        # Update every block on every minibatch.
        module.train()
        records = []
        for batch in batches():
            parts: Mapping[str, Tensor] = {}
            for block, optimizer in zip(used, optimizers, strict=True):
                parts = losses(batch)
                update_block(parts[TOTAL], block, optimizer)
            records.append({name: float(value.detach()) for name, value in parts.items()})
        averages = _averages(records)
        _check_finite(module, averages, epoch, learning_rate)

        # Score what is held out.
        module.eval()
        with torch.no_grad():
            score = validate()
        is_best = score is None or score < best_score
        record = TrainingEpoch(epoch, averages, score, learning_rate, time.perf_counter() - started, is_best)
        if after_epoch is not None:
            after_epoch(record)
        history.append(record)

        # Keep the best state, or give up.
        if is_best:
            best_epoch = epoch
            if score is not None:
                best_score = score
                best_state = {name: value.clone() for name, value in module.state_dict().items()}
        elif epoch - best_epoch >= patience:
            break
    if best_state is not None:
        module.load_state_dict(best_state)
    module.eval()
    return history


def update_block(
    loss: Tensor,
    block: Sequence[nn.Parameter],
    optimizer: torch.optim.Optimizer,
) -> None:
    """Move one block of parameters down the gradient of ``loss``; all others stay.

    Args:
        loss: scalar to minimise.
        block: parameters to move; those that ``loss`` does not depend on stay as well.
        optimizer: over exactly these parameters.
    """
    optimizer.zero_grad(set_to_none=True)
    gradients = torch.autograd.grad(loss, list(block), allow_unused=True)
    for parameter, gradient in zip(block, gradients, strict=True):
        parameter.grad = gradient
    nn.utils.clip_grad_norm_(block, LARGEST_GRADIENT)
    optimizer.step()


def _averages(records: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if not records:
        return {}
    names = records[0].keys()
    return {name: sum(record[name] for record in records) / len(records) for name in names}


def _check_finite(module: nn.Module, averages: Mapping[str, float], epoch: int, learning_rate: float) -> None:
    finite = all(math.isfinite(value) for value in averages.values())
    finite = finite and all(bool(value.isfinite().all()) for value in module.parameters())
    if not finite:
        raise ArgumentError(
            f"learning_rate is {learning_rate:g}, and training diverged in epoch {epoch}; choose a "
            "smaller learning_rate, or look for features with extreme values"
        )
