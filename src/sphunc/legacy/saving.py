"""A fitted model on disk: settings, what it knows of its data, weights, links, calibration, history, links told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from sphunc.errors import CheckpointError
from sphunc.legacy.alignment import Known
from sphunc.legacy.bundle import has_bundle, read_bundle, read_words, write_bundle
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.checkpoint import (
    MODEL,
    TRAINING,
    StructureWords,
    decode_id,
    encode_id,
    inside,
    saved_config,
    under,
)
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.conformal import ConformalScores
from sphunc.legacy.fitting import Fitted
from sphunc.legacy.history import EpochRecord
from sphunc.legacy.knowledge import Knowledge, Pair
from sphunc.legacy.structure import Structure, structure_from, structure_state
from sphunc.legacy.weights import load_weights

MakeNetwork = Callable[[SphUncConfig, Known, torch.Generator], nn.Module]


@dataclass(frozen=True)
class _KnownWords:
    agents: list[Any]
    features: tuple[str, ...]
    classes: tuple[str, ...]
    outputs: Annotated[int, Field(ge=1)]
    last: Any
    outcomes: tuple[str, ...]


@dataclass(frozen=True)
class _KnowledgeWords:
    forbidden: list[tuple[Any, Any]]
    required: list[tuple[Any, Any]]


@dataclass(frozen=True)
class _Words:
    params: dict[str, Any]
    known: _KnownWords
    structure: StructureWords
    temperature: TemperatureLaw
    conformal: Literal["times", "agents", "none"]
    epochs: Annotated[int, Field(ge=0)]
    history: list[EpochRecord]
    knowledge: _KnowledgeWords
    fingerprint: str = ""


def save_fitted(folder: Path, params: dict[str, Any], config: SphUncConfig, known: Known, fitted: Fitted) -> None:
    """Write a fitted model into ``folder``, in place of what was there."""
    words, links = structure_state(fitted.structure)
    document = {
        "params": {**params, "device": str(params["device"])},
        "config": config.model_dump(),
        "known": _known_words(known),
        "structure": words,
        "temperature": asdict(fitted.temperature),
        "conformal": fitted.conformal.source,
        "epochs": fitted.epochs,
        "history": [asdict(record) for record in fitted.history],
        "knowledge": {f.name: _encoded(getattr(fitted.knowledge, f.name)) for f in fields(Knowledge)},
        "fingerprint": fitted.fingerprint,
    }
    tensors = {**under("network", dict(fitted.network.state_dict())), **under("structure", links)}
    write_bundle(folder, MODEL, document, {**tensors, "scores": fitted.conformal.scores})


def load_fitted(
    folder: Path, device: str | torch.device, make_network: MakeNetwork
) -> tuple[dict[str, Any], SphUncConfig, Known, Fitted]:
    """Read what :func:`save_fitted` wrote, on ``device``."""
    if has_bundle(folder, TRAINING) and not has_bundle(folder, MODEL):
        raise CheckpointError(
            f"{folder} holds a fit that was stopped before its end; go on with fit(data, resume={str(folder)!r})"
        )
    document, tensors = read_bundle(folder, MODEL)
    words = read_words(document, _Words, folder / "model.json")
    _check_temperature(folder, document["temperature"])
    _check_params(folder, words.params)
    try:
        config, known = saved_config(document), _known_from(words.known)
        network = make_network(config, known, torch.Generator()).to(device).eval()
        load_weights(network, inside("network", tensors))
        placed = {name: value.to(device) for name, value in tensors.items()}
        structure = structure_from(document["structure"], inside("structure", placed), known.agents, device)
        fitted = _fitted_from(words, placed["scores"], structure, network)
        return {**words.params, "device": device}, config, known, fitted
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'model.json'} misses {error}; it is damaged or foreign") from None


def _fitted_from(words: _Words, scores: Tensor, structure: Structure, network: nn.Module) -> Fitted:
    return Fitted(
        network=network,
        structure=structure,
        temperature=words.temperature,
        conformal=ConformalScores(scores, words.conformal),
        history=words.history,
        epochs=words.epochs,
        fingerprint=words.fingerprint,
        knowledge=Knowledge(_decoded(words.knowledge.forbidden), _decoded(words.knowledge.required)),
    )


def _check_temperature(folder: Path, words: Mapping[str, Any]) -> None:
    """Refuse a law that would take its neutral values for what was lost."""
    lost = [f.name for f in fields(TemperatureLaw) if f.name not in words]
    if lost:
        raise CheckpointError(f"{folder / 'model.json'} misses 'temperature.{lost[0]}'; it is damaged or foreign")


def _check_params(folder: Path, params: Mapping[str, Any]) -> None:
    """Refuse parameters that the constructor would not know, or that are of another type than those it has."""
    types = {"dim": int, "horizon": int, "seed": int, "device": str}
    for name, value in params.items():
        is_known = name in types or name in SphUncConfig.model_fields
        if not is_known or type(value) is not types.get(name, type(value)):
            raise CheckpointError(
                f"{folder / 'model.json'} has {value!r} for 'params.{name}', which is no setting of this version; it "
                "is damaged or foreign: copy the folder again"
            )


def _known_words(known: Known) -> dict[str, Any]:
    return {**asdict(known), "agents": [encode_id(a) for a in known.agents], "last": encode_id(known.last)}


def _known_from(words: _KnownWords) -> Known:
    agents = tuple(decode_id(agent) for agent in words.agents)
    last = decode_id(words.last)
    return Known(agents, words.features, words.classes, words.outputs, last, words.outcomes)


def _encoded(pairs: tuple[Pair, ...]) -> list[list[Any]]:
    return [[encode_id(source), encode_id(target)] for source, target in pairs]


def _decoded(pairs: list[tuple[Any, Any]]) -> tuple[Pair, ...]:
    return tuple((decode_id(source), decode_id(target)) for source, target in pairs)
