"""The .mat files of AMIGOS Data_Preprocessed: nested cells, read by video name, with what is missing left missing."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

LONG_VIDEOS = ("N1", "P1", "B1", "U1")
KEYS = ("joined_data", "labels_selfassessment", "labels_ext_annotation", "VideoIDs")
COLUMNS = 17


@dataclass(frozen=True, eq=False)
class Recording:
    """One person and one video.

    Attributes:
        person: number of the person.
        video: name of the video.
        samples: signals, samples x 17, or None.
        own: the person's own rating, 12 numbers, or None.
        outside: ratings of outside observers, segments x 3, or None.
    """

    person: int
    video: str
    samples: np.ndarray | None
    own: np.ndarray | None
    outside: np.ndarray | None


def recording_files(root: Path) -> dict[int, Path]:
    """Return the file of each person, in ``Data_Preprocessed_P01/`` folders or flat."""
    files = {}
    for path in sorted(root.rglob("Data_Preprocessed_P*.mat")):
        number = re.fullmatch(r"Data_Preprocessed_P(\d+)", path.stem)
        if number:
            files.setdefault(int(number[1]), path)
    return files


def read_recordings(path: Path, person: int) -> list[Recording]:
    """Read all videos of a person.

    Args:
        path: the person's file.
        person: the person's number.

    Raises:
        ValueError: the file is not as the data set's description says.
    """
    try:
        # Some of the released files carry a wrong checksum in their compressed parts.
        cells = loadmat(path, variable_names=KEYS, verify_compressed_data_integrity=False)
    except (MatReadError, zlib.error, OSError, TypeError, NotImplementedError, ValueError, EOFError) as error:
        raise ValueError(f"is not a readable MATLAB v5 file ({error})") from error
    absent = [key for key in KEYS if key not in cells]
    if absent:
        raise ValueError(f"lacks {', '.join(absent)}")
    columns = [np.ravel(cells[key]) for key in KEYS]
    if len({len(column) for column in columns}) > 1:
        counts = {key: len(column) for key, column in zip(KEYS, columns, strict=True)}
        raise ValueError(f"cells differ in number: {counts}")

    recordings = []
    for joined, own, outside, video in zip(*columns, strict=True):
        samples = _numbers(joined)
        if samples is not None and (samples.ndim != 2 or samples.shape[1] != COLUMNS):
            raise ValueError(f"joined_data of a video has shape {samples.shape}; expected samples x {COLUMNS}")
        rating = _numbers(own)
        if rating is not None:
            rating = rating.ravel()
        segments = _numbers(outside)
        if segments is not None and (segments.ndim != 2 or segments.shape[1] < 3):
            segments = None
        name = "".join(map(str, np.ravel(video))).strip()
        recordings.append(Recording(person, name, samples, rating, segments))
    return recordings


def _numbers(cell: object) -> np.ndarray | None:
    """Return the array in a cell, or None where the cell is empty or holds no number at all."""
    array = np.asarray(cell)
    while array.dtype == object and array.size == 1:
        array = np.asarray(array.item())
    if array.size == 0 or array.dtype == object:
        return None
    array = array.astype(float)
    if np.isnan(array).all():
        return None
    return array
