"""A fit that has to prove itself: where something plainly seen counts, a rival is fitted without it.

Before the first pass, what is plainly seen may tell outcomes of others better only because states have not been learned
yet. Whether it still does in the end, the outcomes decide that neither network learned from, the latest where agents
are held out: it is kept if these are likelier by more than two standard errors over agents. A map found in one year may
be gone in the next, and other agents of the same year do not show that; states are the safer guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.legacy.alignment import Known
from sphunc.legacy.bundle import remove_bundle
from sphunc.legacy.calibration import FEWEST_TO_CALIBRATE
from sphunc.legacy.checkpoint import TRAINING, is_begun, save_training, take_up
from sphunc.legacy.direct_choice import error_over_units
from sphunc.legacy.fitting import Carry, Session, fit_stages
from sphunc.legacy.history import Callback, EpochRecord
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.targets import targets_of

COUNTS = "direct.counts"
LEAST_ERRORS = 2.0
"""Of what the outcomes gain, in standard errors over agents."""
WITHOUT = "without"
"""Folder inside that of a checkpoint, for the rival."""

Done = tuple[Carry, list[EpochRecord]]


def fit_rivals(
    session: Session,
    rival: Session,
    callback: Callback,
    say: Callable[[str], None],
    *,
    folder: Path | None = None,
    resume: bool = False,
) -> Done:
    """Run all stages, and those of the rival where it is needed; return what the better one learned.

    Args:
        session: what to fit.
        rival: the same, without what is plainly seen.
        callback: called with the record of every pass.
        say: shows a line to whoever looks.
        folder: where to save every pass, or None.
        resume: whether a run in ``folder`` goes on.
    """
    if folder is not None and not (resume and is_begun(folder)):
        forget_rival(folder)
    first = _fit(session, callback, say, folder, resume=resume)
    if not uses_what_is_seen(first[0]):
        return first
    say("what is plainly seen counts; once more without it, to compare")

    def told(record: EpochRecord) -> None:
        callback(replace(record, rival=True))

    second = _fit(rival, told, say, None if folder is None else folder / WITHOUT, resume=resume)
    return first if _is_worth_it(session, first[0], second[0]) else second


def without_what_is_seen(session: Session, make_network: Callable[..., torch.nn.Module], known: Known) -> Session:
    """Return the session of the rival; networks are made from settings, what is known, and a generator."""
    config = session.config.model_copy(update={"direct": False})
    return replace(session, config=config, make_network=partial(make_network, config, known))


def forget_rival(folder: Path) -> None:
    """Remove what a rival left in the folder of a checkpoint."""
    inner = folder / WITHOUT
    if is_begun(inner):
        remove_bundle(inner, TRAINING)
    if inner.is_dir() and not any(inner.iterdir()):
        inner.rmdir()


def uses_what_is_seen(carry: Carry) -> bool:
    """Whether anything plainly seen counts in the network that was trained."""
    return carry.network is not None and COUNTS in carry.network and bool(carry.network[COUNTS].any())


def is_likelier(gain: Float[Tensor, " row"], agent: Int[Tensor, " row"]) -> bool:
    """Whether the mean gain is larger than twice its standard error over agents."""
    return bool(len(gain)) and float(gain.mean()) > LEAST_ERRORS * error_over_units(gain, agent)


def _fit(
    session: Session, callback: Callback, say: Callable[[str], None], folder: Path | None, *, resume: bool
) -> Done:
    if folder is None:
        return fit_stages(session, callback)
    folder.mkdir(parents=True, exist_ok=True)
    goes_on = resume and is_begun(folder)
    begun = take_up(folder, session, resume=goes_on)
    if goes_on and begun is None:
        say(f"the run in {folder} was stopped before its first pass ended: it begins anew")
    return fit_stages(session, callback, keep=partial(save_training, folder, session), begun=begun)


def _is_worth_it(session: Session, seen: Carry, without: Carry) -> bool:
    plan = session.plan
    origins = plan.train if plan.by_agents else (*plan.validation, *plan.calibration)
    targets = targets_of(session.data, session.config.horizon, origins)
    targets = targets.latest(FEWEST_TO_CALIBRATE) if plan.by_agents else targets
    truth, agent = targets.outcome[targets.mask], targets.mask.nonzero()[:, 1]

    def surprise(outlook: Outlook | None) -> Tensor:
        assert outlook is not None
        return outlook.rows(targets.mask).surprise(truth).double()

    return is_likelier(surprise(without.outlook) - surprise(seen.outlook), agent)
