"""Training states and fitted models as bundles: everything that decides how to go on, and nothing that runs code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor

from sphunc.errors import CheckpointError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.hypergraph.temporal import tensors as tensors_of
from sphunc.legacy.bundle import has_bundle, is_bare, read_bundle, read_words, write_bundle
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.fitting import Begun, Carry, Session, stage_names
from sphunc.legacy.history import EpochRecord
from sphunc.legacy.knowledge import Knowledge
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.plan import Plan
from sphunc.legacy.structure import structure_from, structure_state
from sphunc.legacy.training import Member, Stage
from sphunc.legacy.weights import load_weights

TRAINING, MODEL = "training", "model"


@dataclass(frozen=True)
class GraphWords:
    """What JSON keeps of an influence graph."""

    calibrated: bool
    fit: dict[str, float]
    diagnostics: dict[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class StructureWords:
    """What JSON keeps of a structure."""

    graph: GraphWords | None


@dataclass(frozen=True)
class _StageWords:
    name: str
    epoch: int
    best_epoch: int
    lowest_score: float
    lowest_epoch: int
    structure: StructureWords
    best_structure: StructureWords


@dataclass(frozen=True)
class _CarryWords:
    epochs: int
    structure: StructureWords | None


@dataclass(frozen=True)
class _TrainingWords:
    stage: _StageWords
    carry: _CarryWords
    history: list[EpochRecord]


def fingerprint(data: TemporalHypergraph, plan: Plan | None = None, knowledge: Knowledge | None = None) -> str:
    """Digest of everything that training reads: tensors, ids, names, times, links told; and of what it does with it."""
    digest = hashlib.sha256()
    for name, value in tensors_of(data).items():
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    names = data.feature_names, data.class_names, data.outcome_names
    digest.update(repr((data.node_ids, *names, data.times)).encode())
    digest.update(repr(plan).encode())
    if knowledge is not None:
        digest.update(repr([sorted(map(repr, pairs)) for pairs in (knowledge.forbidden, knowledge.required)]).encode())
    return digest.hexdigest()


def is_begun(folder: Path) -> bool:
    """Say whether a run that is not at its end was begun in ``folder``, be it that nothing of it was saved yet."""
    return has_bundle(folder, TRAINING) or is_bare(folder, TRAINING)


def take_up(folder: Path, session: Session, *, resume: bool) -> Begun | None:
    """Where a run to resume stood; None where it begins, which is saved before anything is learned.

    What comes before the first pass may take long: a run that is killed there is known as its own all the same.
    """
    begun = load_training(folder, session) if resume and has_bundle(folder, TRAINING) else None
    if begun is None:
        write_bundle(folder, TRAINING, {**_belonging(session), "stage": None}, {})
    return begun


def _belonging(session: Session) -> dict[str, Any]:
    data = fingerprint(session.data, session.plan, session.knowledge)
    return {"config": session.config.model_dump(), "seed": session.seed, "data": data}


def save_training(folder: Path, session: Session, stage: Stage, carry: Carry, history: list[EpochRecord]) -> None:
    """Save where training stands."""
    words, tensors = _stage_state(stage)
    carried, more = _carry_state(carry)
    document = {
        **_belonging(session),
        "stage": words,
        "carry": carried,
        "history": [asdict(record) for record in history],
    }
    write_bundle(folder, TRAINING, document, {**under("stage", tensors), **under("carry", more)})


def load_training(folder: Path, session: Session) -> Begun | None:
    """Read where training stood, None before its first pass; another configuration, seed or data is refused."""
    document, tensors = read_bundle(folder, TRAINING)
    _check_same(folder, document, session)
    if document.get("stage", "") is None:
        return None
    saved = read_words(document, _TrainingWords, folder / f"{TRAINING}.json")
    _check_stage(folder, saved.stage.name, session)
    agents, device = session.data.node_ids, session.data.device
    tensors = {name: value if value.dtype == torch.uint8 else value.to(device) for name, value in tensors.items()}
    try:
        carry = _carry_from(document["carry"], inside("carry", tensors), agents, device)
        words, state = document["stage"], inside("stage", tensors)
        return saved.stage.name, carry, saved.history, _setter(words, state, agents)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder} misses {error}; it is damaged: begin anew with fit(checkpoint=)") from None


def _check_same(folder: Path, document: Mapping[str, Any], session: Session) -> None:
    for name, value in _belonging(session).items():
        saved = document.get(name)
        if saved != value:
            which = "other data, another split of it, or other links told" if name == "data" else f"another {name}"
            if isinstance(saved, dict) and isinstance(value, dict):
                differ = [key for key in value if saved.get(key) != value[key]]
                which = f"another config ({', '.join(f'{key} was {saved.get(key)!r}' for key in differ)})"
            raise CheckpointError(
                f"{folder} belongs to a run with {which}; resume with the same settings, seed and data, "
                "or begin anew with fit(checkpoint=)"
            )


def _check_stage(folder: Path, name: str, session: Session) -> None:
    known = stage_names(session.config, session.plan)
    if name not in known:
        raise CheckpointError(
            f"{folder} stopped in the stage {name!r}, but this run has {', '.join(known)}; it is damaged: begin anew "
            "with fit(checkpoint=)"
        )


def _stage_state(stage: Stage) -> tuple[dict[str, Any], dict[str, Tensor]]:
    assert stage.best_structure is not None
    now, now_tensors = structure_state(stage.structure)
    best, best_tensors = structure_state(stage.best_structure)
    words = {
        "name": stage.name,
        "epoch": stage.epoch,
        "best_epoch": stage.best_epoch,
        "lowest_score": stage.lowest_score,
        "lowest_epoch": stage.lowest_epoch,
        "structure": now,
        "best_structure": best,
    }
    tensors = {**under("structure", now_tensors), **under("best_structure", best_tensors)}
    tensors |= under("outlook", _outlook_state(stage.best_outlook))
    if stage.empirical is not None:
        tensors["empirical"] = stage.empirical
    for k, member in enumerate(stage.members):
        tensors |= under(f"member.{k}", _member_state(member))
        tensors |= under(f"best.{k}", stage.best[k] if stage.best else {})
    return words, tensors


def _setter(
    words: Mapping[str, Any], state: dict[str, Tensor], agents: tuple[Hashable, ...]
) -> Callable[[Stage], None]:
    def set_up(stage: Stage) -> None:
        device = stage.structure.links.device
        for name in ("epoch", "best_epoch", "lowest_epoch", "lowest_score"):
            setattr(stage, name, words[name])
        stage.structure = structure_from(words["structure"], inside("structure", state), agents, device)
        stage.best_structure = structure_from(words["best_structure"], inside("best_structure", state), agents, device)
        stage.best_outlook = _outlook_from(inside("outlook", state))
        stage.empirical = state.get("empirical")
        best = [inside(f"best.{k}", state) for k in range(len(stage.members))]
        stage.best = best if best[0] else None
        for k, member in enumerate(stage.members):
            _set_member(member, inside(f"member.{k}", state))

    return set_up


def _member_state(member: Member) -> dict[str, Tensor]:
    tensors = under("network", dict(member.network.state_dict()))
    for index, values in member.optimizer.state_dict()["state"].items():
        tensors |= under(f"optimizer.{index}", values)
    return {**tensors, "generator": member.generator.get_state()}


def _set_member(member: Member, state: dict[str, Tensor]) -> None:
    load_weights(member.network, inside("network", state))
    saved = member.optimizer.state_dict()
    count = sum(len(group["params"]) for group in saved["param_groups"])
    values = {index: inside(f"optimizer.{index}", state) for index in range(count)}
    saved["state"] = {index: value for index, value in values.items() if value}
    member.optimizer.load_state_dict(saved)
    member.generator.set_state(state["generator"].cpu())


def _carry_state(carry: Carry) -> tuple[dict[str, Any], dict[str, Tensor]]:
    words: dict[str, Any] = {"epochs": carry.epochs, "structure": None}
    tensors = {**under("outlook", _outlook_state(carry.outlook)), **under("network", carry.network or {})}
    if carry.empirical is not None:
        tensors["empirical"] = carry.empirical
    if carry.structure is not None:
        words["structure"], more = structure_state(carry.structure)
        tensors |= under("structure", more)
    return words, tensors


def _carry_from(
    words: Mapping[str, Any], tensors: dict[str, Tensor], agents: tuple[Hashable, ...], device: torch.device
) -> Carry:
    structure = None
    if words["structure"] is not None:
        structure = structure_from(words["structure"], inside("structure", tensors), agents, device)
    outlook = _outlook_from(inside("outlook", tensors))
    return Carry(words["epochs"], tensors.get("empirical"), outlook, inside("network", tensors) or None, structure)


def _outlook_state(outlook: Outlook | None) -> dict[str, Tensor]:
    values = {} if outlook is None else {f.name: getattr(outlook, f.name) for f in fields(outlook)}
    return {name: value for name, value in values.items() if value is not None}


def _outlook_from(tensors: Mapping[str, Tensor]) -> Outlook | None:
    return Outlook(**{f.name: tensors.get(f.name) for f in fields(Outlook)}) if tensors else None  # pyright: ignore


def saved_config(document: Mapping[str, Any]) -> SphUncConfig:
    """Return the configuration of a document."""
    try:
        return SphUncConfig.model_validate(document["config"])
    except (KeyError, ValidationError) as error:
        raise CheckpointError(f"the saved configuration cannot be read: {error}") from None


def encode_id(one: Hashable) -> Any:
    """Return an id as JSON: strings and numbers as they are, dates and tuples tagged; others are refused.

    Numbers and dates of numpy are those of Python, which equal them.
    """
    if isinstance(one, np.generic) and (plain := one.item()) == one:
        one = plain
    if isinstance(one, datetime | date):
        return {"date" if type(one) is date else "datetime": one.isoformat()}
    if isinstance(one, tuple):
        return {"tuple": [encode_id(part) for part in one]}
    if one is None or isinstance(one, str | int | float | bool):
        return one
    raise CheckpointError(
        f"id {one!r} is a {type(one).__name__}, which JSON cannot keep; use strings, numbers, dates or tuples of them"
    )


def check_ids(data: TemporalHypergraph) -> None:
    """Refuse ids and times that could not be saved, before anything is learned about them."""
    for one in (*data.node_ids, data.times[-1]):
        encode_id(one)


def decode_id(one: Any) -> Hashable:
    """Return the id that :func:`encode_id` wrote."""
    if one is None or isinstance(one, str | int | float):
        return one
    kind, value = next(iter(one.items())) if isinstance(one, dict) and len(one) == 1 else ("", None)
    if kind == "tuple" and isinstance(value, list):
        return tuple(decode_id(part) for part in value)
    try:
        return {"date": date, "datetime": datetime}[kind].fromisoformat(value)
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"{one!r} is no id that sphunc saves; the folder is damaged: copy it again") from None


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with ``prefix.`` before every name."""
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def inside(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose name begins with ``prefix.``, without it."""
    return {name[len(prefix) + 1 :]: value for name, value in tensors.items() if name.startswith(f"{prefix}.")}
