"""Stages of a fit kept on disk, so that a fit that was killed goes on to the result it would have had."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sphunc.errors import CheckpointError
from sphunc.forecasting import has_bundle, read_bundle, remove_bundle, write_bundle
from sphunc.hypergraph import TemporalHypergraph, tensors
from sphunc.model.persistence import deserialise, serialise

Value = TypeVar("Value")
STAGES = ("begun", "base", "held_out", "chains", "final")


class StageStore:
    """Runs the stages of a fit, reading those that are kept in a folder.

    Args:
        folder: where results of stages are kept; None keeps none.
        fingerprint: digest of data and settings; results of another fit are refused.
    """

    def __init__(self, folder: Path | None = None, fingerprint: str = "") -> None:
        self.folder = folder
        self.fingerprint = fingerprint

    def run(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return the result of a stage, read from the folder where it is kept there.

        Args:
            name: of the stage.
            compute: makes the result.
        """
        if self.folder is None:
            return compute()
        if has_bundle(self.folder, _bundle(name)):
            document, found = read_bundle(self.folder, _bundle(name))
            if document.get("fingerprint") != self.fingerprint:
                raise CheckpointError(
                    f"{self.folder} holds a fit of other data or settings; resume with these, or begin anew with "
                    "checkpoint="
                )
            return deserialise(document["value"], found)  # pyright: ignore[reportReturnType]
        value = compute()
        kept: dict = {}
        document = {"fingerprint": self.fingerprint, "value": serialise(value, "value", kept)}
        write_bundle(self.folder, _bundle(name), document, kept)
        return value

    def begin(self) -> None:
        """Note that a fit began, so that it can be resumed before its first stage has ended."""
        self.run("begun", lambda: None)

    def has_any(self) -> bool:
        """Say whether a fit began here and has not ended."""
        return self.folder is not None and any(has_bundle(self.folder, _bundle(name)) for name in STAGES)

    def clear(self) -> None:
        """Remove what is kept."""
        if self.folder is not None:
            for name in STAGES:
                remove_bundle(self.folder, _bundle(name))


def _bundle(name: str) -> str:
    return f"stage_{name}"


def fingerprint_of(data: TemporalHypergraph, *words: object) -> str:
    """Digest of data and of whatever else decides the result of a fit.

    Args:
        data: training data.
        *words: settings, by their text.
    """
    digest = hashlib.sha256()
    for name, value in sorted(tensors(data).items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    for value in (data.node_ids, data.feature_names, data.class_names, data.outcome_names, data.times, *words):
        digest.update(repr(value).encode())
    return digest.hexdigest()
