"""A fitted peer on disk: one bundle of JSON and safetensors, like the model's own, and no pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from sphunc.baselines.influence import InfluenceScores
from sphunc.errors import CheckpointError
from sphunc.forecasting.identifiers import encode_id
from sphunc.forecasting.schema import TrainingSchema, decode_schema
from sphunc.forecasting.storage import read_bundle, write_bundle

PEER = "peer"


@dataclass(frozen=True, eq=False)
class Saved:
    """All that a fitted peer is.

    Attributes:
        params: of the constructor.
        schema: agents, features and classes of the training data.
        summary: numbers and words, as JSON.
        weights: of its network; empty where it has none.
        tensors: further tensors by name.
        influence: native scores, or None.
    """

    params: dict[str, Any]
    schema: TrainingSchema
    summary: dict[str, Any]
    weights: dict[str, Tensor]
    tensors: dict[str, Tensor]
    influence: InfluenceScores | None = None


def write_peer(folder: Path, name: str, saved: Saved) -> None:
    """Write a fitted peer into ``folder``, in place of what was there."""
    schema = asdict(saved.schema)
    schema["agents"] = [encode_id(agent) for agent in saved.schema.agents]
    schema["last"] = encode_id(saved.schema.last)
    tensors = {**_with_prefix("weights", saved.weights), **_with_prefix("tensors", saved.tensors)}
    influence = saved.influence
    words: dict[str, Any] | None = None
    if influence is not None:
        words = {"kind": influence.kind, "directed": influence.directed}
        tensors |= {"influence.links": influence.links, "influence.score": influence.score}
    document = {"peer": name, "params": saved.params, "schema": schema, "summary": saved.summary, "influence": words}
    write_bundle(folder, PEER, document, tensors)


def read_peer(folder: Path, name: str) -> Saved:
    """Read what :func:`write_peer` wrote for the peer of this name."""
    document, tensors = read_bundle(folder, PEER)
    if document.get("peer") != name:
        raise CheckpointError(
            f"{folder} holds the peer {document.get('peer')!r}, not {name!r}; use load_forecaster(folder)"
        )
    try:
        schema = decode_schema(document["schema"])
        influence = _influence(document["influence"], _without_prefix("influence", tensors), schema)
        weights = _without_prefix("weights", tensors)
        others = _without_prefix("tensors", tensors)
        return Saved(document["params"], schema, document["summary"], weights, others, influence)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'peer.json'} misses {error}; it is damaged or foreign") from None


def saved_name(folder: Path) -> str:
    """Return the name of the peer that ``folder`` holds."""
    return str(read_bundle(folder, PEER)[0].get("peer"))


def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Put saved weights into a network; parameters must fit, buffers may have been learned at another length.

    Args:
        network: as its constructor made it.
        weights: by name, as ``state_dict`` gives them.
    """
    buffers = {name for name, _ in network.named_buffers()}
    for name, value in weights.items():
        home, _, leaf = name.rpartition(".")
        if name in buffers:
            module = network.get_submodule(home)
            module.register_buffer(leaf, value.detach().clone().to(module.get_buffer(leaf).device))
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as error:
        first = " ".join(str(error).split())[:300]
        raise CheckpointError(f"the saved weights do not fit the saved configuration: {first}") from None


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def _without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name[len(prefix) + 1 :]: value for name, value in tensors.items() if name.startswith(f"{prefix}.")}


def _influence(
    words: dict[str, Any] | None, tensors: dict[str, Tensor], schema: TrainingSchema
) -> InfluenceScores | None:
    if words is None:
        return None
    return InfluenceScores(tensors["links"], tensors["score"], schema.agents, words["kind"], words["directed"])
