"""Predictions of the simple systems, kept on disk: they change only with the data and with their own code."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from golden_systems import Prediction

from sphunc.hypergraph import TemporalHypergraph

Kept = tuple[Prediction, str, float]
"""Prediction, note on what was chosen, processor seconds."""


def store_folder() -> Path:
    """SPHUNC_GOLDEN, or a folder among temporary files."""
    return Path(os.environ.get("SPHUNC_GOLDEN", Path(tempfile.gettempdir()) / "sphunc-golden"))


def simple_predictions(
    data: TemporalHypergraph, origins: Sequence[int], names: Sequence[str], learn: Callable[[str], Kept]
) -> dict[str, Kept]:
    """Predictions by system, learned where they are not kept yet.

    Args:
        data: the set.
        origins: its test origins.
        names: of the systems.
        learn: learns one of them.
    """
    folder = store_folder()
    folder.mkdir(parents=True, exist_ok=True)
    key = _digest(data, origins)
    found: dict[str, Kept] = {}
    for name in names:
        path = folder / f"{key}-{name}.npz"
        if not path.exists():
            _save(path, learn(name))
        found[name] = _load(path)
    return found


def _digest(data: TemporalHypergraph, origins: Sequence[int]) -> str:
    digest = hashlib.sha256(Path(__file__).with_name("golden_systems.py").read_bytes())
    assert data.y is not None
    parts = (data.x, data.x_mask, data.y, data.y_mask, data.hyperedge_index, data.hyperedge_time)
    for tensor in parts:
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    digest.update(repr(tuple(origins)).encode())
    return digest.hexdigest()[:20]


def _save(path: Path, kept: Kept) -> None:
    prediction, note, seconds = kept
    arrays = {name: value for name, value in vars(prediction).items() if value is not None}
    temporary = path.with_name(f"{path.stem}.{os.getpid()}.part.npz")
    np.savez(temporary, note=np.array(note), seconds=np.array(seconds), **arrays)
    temporary.replace(path)


def _load(path: Path) -> Kept:
    with np.load(path) as arrays:
        parts = {name: arrays[name] for name in ("probabilities", "mean", "variance") if name in arrays}
        return Prediction(**parts), str(arrays["note"]), float(arrays["seconds"])
