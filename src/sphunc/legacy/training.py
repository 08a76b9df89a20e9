"""The training loop: passes over the training outcomes, judged on what is held out, resumable at every pass.

A :class:`Stage` trains one network, or one per fold of the agents in step. In a stage with folds, every agent is judged
by the network that did not learn from it, and its error there is the empirical uncertainty that the *other* networks
are held to: cross-fitting without a second round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sphunc.errors import ArgumentError
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.history import EpochRecord, top_label_ece
from sphunc.legacy.outlook import Outlook, merge
from sphunc.legacy.structure import Structure
from sphunc.legacy.targets import Targets
from sphunc.legacy.weights import load_weights

LossFunction = Callable[..., Any]  # (network, run, observed, targets, config, empirical) -> the parts by name
WARM_UP = 10
"""Passes before the best one is looked for (a tenth of all, where there are fewer than 100): the heads of uncertainty
start with no opinion, which a few held-out outcomes may happen to like best."""
PARTS = ("prediction", "entropy", "causal", "total")


@dataclass(eq=False)
class Member:
    """A network, what moves it, and the outcomes it may learn from."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    targets: Targets


@dataclass(eq=False)
class Stage:
    """Where training stands; all of it is saved at every pass.

    Attributes:
        name: "cross-fit", "train" or "refit".
        members: one network, or one per fold.
        observed: the times that training sees.
        watched: the times up to the last judged origin; None when nothing is held out.
        judged: held-out outcomes, in the rows of ``watched``.
        fold: member that judges each agent ``[N]``; None for a single member.
        epochs: most passes.
        structure: links in use.
        empirical: cross-fitted errors ``[T, N]``, or None.
        epoch: next pass.
        best_epoch, best, best_structure, best_outlook: of the pass that predicted held-out outcomes best,
            the first ones apart; a later one has to be better by a standard error.
        lowest_score, lowest_epoch: of the lowest score from the best pass on, be it by chance; training ends when no
            pass has gone lower for long.
    """

    name: str
    members: list[Member]
    observed: Any
    watched: Any | None
    judged: Targets | None
    fold: Tensor | None
    epochs: int
    structure: Structure
    empirical: Tensor | None = None
    epoch: int = 0
    best_epoch: int = -1
    lowest_score: float = math.inf
    lowest_epoch: int = -1
    best: list[dict[str, Tensor]] | None = None
    best_structure: Structure | None = None
    best_outlook: Outlook | None = None

    def is_over(self, patience: int) -> bool:
        """Say whether the last pass is done, or held-out outcomes have not improved for ``patience`` passes."""
        waited = self.epoch - 1 - self.lowest_epoch
        return self.epoch >= self.epochs or (self.judged is not None and waited >= patience)


def outlook_of(run: Any) -> Outlook:
    """Return the predictive law of a run of the network, without gradients."""
    if run.log_probabilities is not None:
        return Outlook(run.log_probabilities.detach(), None, None, run.total.detach())
    left_open = None if run.left_open is None else run.left_open.detach()
    return Outlook(None, run.mean.detach(), run.variance.detach(), run.total.detach(), run.unit, left_open)


def make_optimizer(network: Any, config: SphUncConfig) -> torch.optim.Optimizer:
    """AdamW with groups of parameters by block of the network and pace: weight matrices are slower than gains."""
    slow = network.matrices()
    groups: list[dict[str, Any]] = []
    for block in network.blocks().values():
        paces = [config.matrix_pace * slow[parameter] if parameter in slow else 1.0 for parameter in block]
        for pace in sorted(set(paces)):
            mine = [parameter for parameter, its in zip(block, paces, strict=True) if its == pace]
            groups.append({"params": mine, "lr": config.learning_rate * pace})
    return torch.optim.AdamW(groups, lr=config.learning_rate, weight_decay=config.weight_decay)


def turns(network: Any, config: SphUncConfig) -> list[list[nn.Parameter]]:
    """Parameters of each update of a step: all at once, or block by block (Algorithm 1)."""
    blocks = [list(block) for block in network.blocks().values() if block]
    return blocks if config.updates == "alternating" else [[p for block in blocks for p in block]]


def train_step(
    member: Member, targets: Targets, stage: Stage, config: SphUncConfig, losses: LossFunction
) -> list[float]:
    """Update a member once on the outcomes that count, and return the three losses and their sum."""
    links, gates = stage.structure.links, stage.structure.gates
    values = [0.0] * len(PARTS)
    for parameters in turns(member.network, config):
        run = member.network(stage.observed, links, gates, generator=member.generator)
        parts = losses(member.network, run, stage.observed, targets, config, stage.empirical)
        member.optimizer.zero_grad(set_to_none=True)
        parts.total.backward(inputs=parameters)
        if config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(parameters, config.gradient_clip)
        member.optimizer.step()
        values = [float(getattr(parts, name).detach()) for name in PARTS]
    return values


def train_pass(stage: Stage, config: SphUncConfig, losses: LossFunction) -> list[float]:
    """Train every member on all of its outcomes once; return the losses, averaged over steps and members."""
    steps = []
    for member in stage.members:
        member.network.train()
        some = batches(member.targets, config.batch_size, member.generator)
        steps += [train_step(member, targets, stage, config, losses) for targets in some]
    return [sum(column) / len(steps) for column in zip(*steps, strict=True)]


def batches(targets: Targets, size: int | None, generator: torch.Generator) -> Iterator[Targets]:
    """Outcomes by batches of ``size`` agents in random order, or all at once; batches without outcomes are left out."""
    agents = targets.mask.shape[1]
    if size is None or size >= agents:
        yield targets
        return
    order = torch.randperm(agents, generator=generator, device=generator.device).to(targets.mask.device)
    for part in order.split(size):
        chosen = torch.zeros(agents, dtype=torch.bool, device=part.device)
        chosen[part] = True
        batch = targets.only(chosen)
        if batch.count:
            yield batch


@torch.no_grad()
def judge(stage: Stage) -> Outlook | None:
    """Forecast what is held out; with folds, every agent by the member that did not learn from it."""
    if stage.watched is None:
        return None
    outlooks = []
    for member in stage.members:
        member.network.eval()
        outlooks.append(outlook_of(member.network(stage.watched, stage.structure.links, stage.structure.gates)))
    return outlooks[0] if stage.fold is None else merge(outlooks, stage.fold)


def advance(stage: Stage, config: SphUncConfig, losses: LossFunction) -> EpochRecord:
    """Do one pass: train, judge, keep the best so far."""
    started = time.perf_counter()
    try:
        parts = train_pass(stage, config, losses)
        _check_finite(parts[-1], stage)
        outlook = judge(stage)
    except (ArgumentError, torch.linalg.LinAlgError, FloatingPointError) as error:
        # Features were found fit before: what the network cannot compute with now is of its own making.
        raise _divergence(error, stage.epoch, config) from error
    score, ece = _score(outlook, stage.judged)
    is_best = score is None or stage.epoch < min(WARM_UP, stage.epochs // WARM_UP) or _is_better(outlook, stage)
    if score is not None and (score < stage.lowest_score or is_best):
        stage.lowest_score, stage.lowest_epoch = score, stage.epoch
    if is_best:
        _keep(stage, score, outlook)
    if stage.fold is not None and outlook is not None and stage.judged is not None:
        stage.empirical = outlook.squared_error(stage.judged.outcome, stage.judged.mask)
    stage.epoch += 1
    seconds = time.perf_counter() - started
    return EpochRecord(
        stage=stage.name,
        epoch=stage.epoch - 1,
        epochs=stage.epochs,
        **dict(zip(PARTS, parts, strict=True)),
        validation=score,
        ece=ece,
        confidence=stage.structure.confidence,
        seconds=seconds,
        is_best=is_best,
    )


def restore_best(stage: Stage) -> None:
    """Put every member, and the structure, back to the best pass."""
    assert stage.best is not None
    assert stage.best_structure is not None
    for member, weights in zip(stage.members, stage.best, strict=True):
        load_weights(member.network, weights)
        member.network.eval()
    stage.structure = stage.best_structure


def _check_finite(total: float, stage: Stage) -> None:
    if not math.isfinite(total):
        raise FloatingPointError(f"the loss became {total}")
    for member in stage.members:
        for name, parameter in member.network.named_parameters():
            if not bool(parameter.isfinite().all()):
                raise FloatingPointError(f"{name} is no longer finite")


def _divergence(error: Exception, epoch: int, config: SphUncConfig) -> ArgumentError:
    fault = f" ({error})" if isinstance(error, FloatingPointError) else ""
    return ArgumentError(
        f"learning_rate is {config.learning_rate:g}, and training diverged in pass {epoch}{fault}; choose a smaller "
        "learning_rate, or look for features with extreme values"
    )


def _score(outlook: Outlook | None, judged: Targets | None) -> tuple[float | None, float | None]:
    if outlook is None or judged is None:
        return None, None
    score = float(_surprise(outlook, judged).mean())
    if outlook.log_probabilities is None:
        return score, None
    return score, top_label_ece(outlook.log_probabilities, judged.outcome, judged.mask)


def _surprise(outlook: Outlook, judged: Targets) -> Tensor:
    return outlook.rows(judged.mask).surprise(judged.outcome[judged.mask])


def _is_better(outlook: Outlook | None, stage: Stage) -> bool:
    """Whether held-out outcomes are predicted better than by the best pass so far, by more than a standard error.

    Later passes that are better by chance alone know the training agents better, and nobody else.
    """
    if stage.best_outlook is None or outlook is None or stage.judged is None:
        return True
    now, best = (_surprise(one, stage.judged).double() for one in (outlook, stage.best_outlook))
    gain = best - now
    if not bool(gain.isfinite().all()):  # what was thought impossible came true in one of them
        return float(now.mean()) < float(best.mean())
    return float(gain.mean()) > float(gain.std(correction=0)) / len(gain) ** 0.5


def _keep(stage: Stage, score: float | None, outlook: Outlook | None) -> None:
    stage.best_epoch = stage.epoch
    last = score is not None or stage.epoch == stage.epochs - 1
    if last:  # without held-out outcomes only the last pass is ever restored
        stage.best = [{k: v.clone() for k, v in member.network.state_dict().items()} for member in stage.members]
    stage.best_structure, stage.best_outlook = stage.structure, outlook
