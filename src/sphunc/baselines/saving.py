"""A fitted peer on disk: one bundle of JSON and safetensors, like the model's own, and no pickle."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from sphunc.baselines.influence import InfluenceScores
from sphunc.errors import CheckpointError
from sphunc.legacy.alignment import Known
from sphunc.legacy.bundle import read_bundle, write_bundle
from sphunc.legacy.checkpoint import decode_id, encode_id, inside, under

PEER = "peer"


@dataclass(frozen=True, eq=False)
class Saved:
    """All that a fitted peer is.

    Attributes:
        params: of the constructor.
        known: agents, features and classes of the training data.
        summary: numbers and words, as JSON.
        weights: of its network; empty where it has none.
        tensors: further tensors by name.
        influence: native scores, or None.
    """

    params: dict[str, Any]
    known: Known
    summary: dict[str, Any]
    weights: dict[str, Tensor]
    tensors: dict[str, Tensor]
    influence: InfluenceScores | None = None


def write_peer(folder: Path, name: str, saved: Saved) -> None:
    """Write a fitted peer into ``folder``, in place of what was there."""
    known = {**asdict(saved.known), "agents": [encode_id(a) for a in saved.known.agents]}
    known["last"] = encode_id(saved.known.last)
    tensors = {**under("weights", saved.weights), **under("tensors", saved.tensors)}
    influence = saved.influence
    words: dict[str, Any] | None = None
    if influence is not None:
        words = {"kind": influence.kind, "directed": influence.directed}
        tensors |= {"influence.links": influence.links, "influence.score": influence.score}
    document = {"peer": name, "params": saved.params, "known": known, "summary": saved.summary, "influence": words}
    write_bundle(folder, PEER, document, tensors)


def read_peer(folder: Path, name: str) -> Saved:
    """Read what :func:`write_peer` wrote for the peer of this name."""
    document, tensors = read_bundle(folder, PEER)
    if document.get("peer") != name:
        raise CheckpointError(
            f"{folder} holds the peer {document.get('peer')!r}, not {name!r}; use load_forecaster(folder)"
        )
    try:
        words = document["known"]
        agents = tuple(decode_id(agent) for agent in words["agents"])
        classes, last = tuple(words["classes"]), decode_id(words["last"])
        known = Known(agents, tuple(words["features"]), classes, words["outputs"], last, tuple(words["outcomes"]))
        influence = _influence(document["influence"], inside("influence", tensors), known)
        parts = inside("weights", tensors), inside("tensors", tensors)
        return Saved(document["params"], known, document["summary"], *parts, influence)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'peer.json'} misses {error}; it is damaged or foreign") from None


def saved_name(folder: Path) -> str:
    """Return the name of the peer that ``folder`` holds."""
    return str(read_bundle(folder, PEER)[0].get("peer"))


def _influence(words: dict[str, Any] | None, tensors: dict[str, Tensor], known: Known) -> InfluenceScores | None:
    if words is None:
        return None
    return InfluenceScores(tensors["links"], tensors["score"], known.agents, words["kind"], words["directed"])
