"""A fitted model on disk: settings, what it knows of its data, weights, links, calibration, history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sphunc.errors import CheckpointError
from sphunc.model.alignment import Known
from sphunc.model.bundle import read_bundle, write_bundle
from sphunc.model.calibration import TemperatureLaw
from sphunc.model.checkpoint import MODEL, decode_id, encode_id, inside, saved_config, under
from sphunc.model.config import SphUncConfig
from sphunc.model.conformal import ConformalScores
from sphunc.model.fitting import Fitted
from sphunc.model.history import EpochRecord
from sphunc.model.structure import structure_from, structure_state
from sphunc.model.weights import load_weights

MakeNetwork = Callable[[SphUncConfig, Known, torch.Generator], nn.Module]


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
    }
    tensors = {**under("network", dict(fitted.network.state_dict())), **under("structure", links)}
    write_bundle(folder, MODEL, document, {**tensors, "scores": fitted.conformal.scores})


def load_fitted(
    folder: Path, device: str | torch.device, make_network: MakeNetwork
) -> tuple[dict[str, Any], SphUncConfig, Known, Fitted]:
    """Read what :func:`save_fitted` wrote, on ``device``."""
    document, tensors = read_bundle(folder, MODEL)
    try:
        config, known = saved_config(document), _known_from(document["known"])
        network = make_network(config, known, torch.Generator()).to(device).eval()
        load_weights(network, inside("network", tensors))
        fitted = _fitted_from(document, {name: value.to(device) for name, value in tensors.items()}, known, network)
        return {**document["params"], "device": device}, config, known, fitted
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'model.json'} misses {error}; it is damaged or foreign") from None


def _fitted_from(document: Mapping[str, Any], tensors: dict[str, Tensor], known: Known, network: nn.Module) -> Fitted:
    scores = tensors["scores"]
    return Fitted(
        network=network,
        structure=structure_from(document["structure"], inside("structure", tensors), known.agents, scores.device),
        temperature=TemperatureLaw(**document["temperature"]),
        conformal=ConformalScores(scores, document["conformal"]),
        history=[EpochRecord(**record) for record in document["history"]],
        epochs=document["epochs"],
    )


def _known_words(known: Known) -> dict[str, Any]:
    return {**asdict(known), "agents": [encode_id(a) for a in known.agents], "last": encode_id(known.last)}


def _known_from(words: Mapping[str, Any]) -> Known:
    agents = tuple(decode_id(agent) for agent in words["agents"])
    last = decode_id(words["last"])
    return Known(agents, tuple(words["features"]), tuple(words["classes"]), words["outputs"], last)
