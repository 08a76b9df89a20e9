"""The Glasgow "Teenage Friends and Lifestyle Study": 160 pupils, 3 waves, from R files or their numpy conversion."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sphunc.errors import DataError, MissingExtraError
from sphunc.io import SienaStudy, decode

WAVES = (1, 2, 3)
ANSWERS = ("tobacco", "alcohol", "cannabis", "money", "romantic", "familysmoking")
_PARTS = ("friendship", "substances", "lifestyle", "various", "demographic")


def is_glasgow(root: Path) -> bool:
    """Whether a folder holds the study as ``glasgow.npz`` or ``Glasgow-*.RData``."""
    return (root / "glasgow.npz").is_file() or (root / "Glasgow-friendship.RData").is_file()


def read_glasgow(root: Path) -> SienaStudy:
    """Read the study; the numpy conversion is preferred because it needs no further package.

    Codes 1 and 2 are two grades of friendship, both taken as a tie; 10 says that the pupil was not there.
    """
    arrays = _from_npz(root / "glasgow.npz") if (root / "glasgow.npz").is_file() else _from_r(root)
    network = decode(arrays["friendship"], missing=(), ties=(1, 2))
    values = {name: arrays[name] for name in ANSWERS}
    for block in ("music", "leisure"):
        for column, name in enumerate(arrays[f"{block}_names"]):
            values[f"{block}: {name}"] = arrays[block][:, :, column].T
    constants = {"sex": arrays["sex"], "age": arrays["age"]}
    return SienaStudy(tuple(map(str, arrays["ids"])), WAVES, {"friendship": network}, values, constants)


def _from_npz(path: Path) -> Mapping[str, np.ndarray]:
    needed = ("friendship", *ANSWERS, "music", "leisure", "music_names", "leisure_names", "sex", "age", "ids")
    with np.load(path, allow_pickle=False) as archive:
        if absent := [name for name in needed if name not in archive]:
            raise DataError(f"{path}: lacks the array(s) {', '.join(absent)}; convert the R files anew")
        return {name: archive[name] for name in needed}


def read_r(path: Path) -> dict[str, np.ndarray]:
    """Read the matrices and vectors of an R file (.RData, .rda) as numpy arrays; needs the package ``rdata``."""
    try:
        import rdata
    except ImportError as error:
        raise MissingExtraError(f"{path.name}: reading R files needs the package rdata; pip install rdata") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rdata warns that old files do not state their encoding; they are ASCII
        objects = rdata.read_rda(path)
    return {name: np.asarray(value) for name, value in objects.items()} | {
        f"{name} columns": np.asarray(value.coords[value.dims[-1]])
        for name, value in objects.items()
        if getattr(value, "ndim", 0) == 2 and value.dims[-1] in value.coords
    }


def _from_r(root: Path) -> Mapping[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for part in _PARTS:
        file = root / f"Glasgow-{part}.RData"
        if not file.is_file():
            raise DataError(f"{file}: is not there; the study consists of Glasgow-{{{','.join(_PARTS)}}}.RData")
        found |= read_r(file)
    stacked = {
        name: np.stack([found[f"{name}{dot}{wave}"] for wave in WAVES])
        for name, dot in (("friendship", "."), ("music", ""), ("leisure", ""))
    }
    pupils = found["friendship.1 columns"] if "friendship.1 columns" in found else np.arange(1, 161)
    return {
        **{name: found[name] for name in ANSWERS},
        **stacked,
        "music_names": found["music1 columns"],
        "leisure_names": found["leisure1 columns"],
        "sex": found["sex.F"],
        "age": found["age"],
        "ids": pupils,
    }
