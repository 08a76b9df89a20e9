"""The .mat files of AMIGOS Data_Preprocessed: nested cells, read by video name, with what is missing left missing."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

LONG_VIDEOS = ("N1", "P1", "B1", "U1")
_KEYS = ("joined_data", "labels_selfassessment", "labels_ext_annotation", "VideoIDs")
_COLUMNS = 17


@dataclass(frozen=True, eq=False)
class Recording:
    """One person and one video: signals (samples x 17), own rating (12 numbers), outside ratings (segments x 3)."""

    person: int
    video: str
    samples: np.ndarray | None
    own: np.ndarray | None
    outside: np.ndarray | None


def recording_files(root: Path) -> dict[int, Path]:
    """Return the file of each person, in ``Data_Preprocessed_P01/`` folders or flat."""
    found = {}
    for path in sorted(root.rglob("Data_Preprocessed_P*.mat")):
        number = re.fullmatch(r"Data_Preprocessed_P(\d+)", path.stem)
        if number and not path.name.startswith("._"):
            found.setdefault(int(number[1]), path)
    return found


def read_recordings(path: Path, person: int) -> list[Recording]:
    """Read all videos of a person.

    Raises:
        ValueError: the file is not as the data set's description says.
    """
    cells = _load(path)
    if absent := [key for key in _KEYS if key not in cells]:
        raise ValueError(f"lacks {', '.join(absent)}")
    counts = {key: np.asarray(cells[key]).size for key in _KEYS}
    if len(set(counts.values())) > 1:
        raise ValueError(f"cells differ in number: {counts}")
    columns = [np.asarray(cells[key]).ravel() for key in _KEYS]
    return [_recording(person, *entries) for entries in zip(*columns, strict=True)]


def _load(path: Path) -> dict[str, Any]:
    try:
        # Some of the released files carry a wrong checksum in their compressed parts.
        return loadmat(path, variable_names=_KEYS, verify_compressed_data_integrity=False)
    except (MatReadError, zlib.error, OSError, TypeError, NotImplementedError, ValueError, EOFError) as error:
        raise ValueError(f"is not a readable MATLAB v5 file ({error})") from error


def _recording(person: int, joined: Any, own: Any, outside: Any, video: Any) -> Recording:
    samples = _filled(joined)
    if samples is not None and (samples.ndim != 2 or samples.shape[1] != _COLUMNS):
        raise ValueError(f"joined_data of a video has shape {samples.shape}; expected samples x {_COLUMNS}")
    rating, outer = _filled(own), _filled(outside)
    return Recording(
        person=person,
        video="".join(map(str, np.asarray(video).ravel())).strip(),
        samples=samples,
        own=None if rating is None else rating.ravel(),
        outside=outer if outer is not None and outer.ndim == 2 and outer.shape[1] >= 3 else None,
    )


def _filled(cell: Any) -> np.ndarray | None:
    """Return the array in a cell, or None where the cell is empty or not a number at all."""
    array = np.asarray(cell)
    while array.dtype == object and array.size == 1:
        array = np.asarray(array.ravel()[0])
    if array.size == 0 or array.dtype == object:
        return None
    array = array.astype(float)
    return None if np.isnan(array).all() else array
