"""The Glasgow "Teenage Friends and Lifestyle Study": 160 pupils, 3 waves, from R files or their numpy conversion."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from sphunc.errors import DataError
from sphunc.io import SienaStudy, decode, load_extra

WAVES = (1, 2, 3)
ANSWERS = ("tobacco", "alcohol", "cannabis", "money", "romantic", "familysmoking")
PARTS = ("friendship", "substances", "lifestyle", "various", "demographic")
ARRAYS = ("friendship", *ANSWERS, "music", "leisure", "music_names", "leisure_names", "sex", "age", "ids")


def is_glasgow(root: Path) -> bool:
    """Whether a folder holds the study as ``glasgow.npz`` or ``Glasgow-*.RData``."""
    return (root / "glasgow.npz").is_file() or (root / "Glasgow-friendship.RData").is_file()


def read_glasgow(root: Path) -> SienaStudy:
    """Read the study; the numpy conversion is preferred because it needs no further package.

    Codes 1 and 2 are two grades of friendship, both taken as a tie; 10 says that the pupil was not there.
    """
    path = root / "glasgow.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    else:
        arrays = _from_r(root)
    absent = [name for name in ARRAYS if name not in arrays]
    if absent:
        raise DataError(f"{path}: lacks the array(s) {', '.join(absent)}; convert the R files anew")
    network = decode(arrays["friendship"], missing=(), ties=(1, 2))
    values = {name: arrays[name] for name in ANSWERS}
    for block in ("music", "leisure"):
        for column, name in enumerate(arrays[f"{block}_names"]):
            values[f"{block}: {name}"] = arrays[block][:, :, column].T
    constants = {"sex": arrays["sex"], "age": arrays["age"]}
    return SienaStudy(tuple(map(str, arrays["ids"])), WAVES, {"friendship": network}, values, constants)


def read_r(path: Path) -> dict[str, np.ndarray]:
    """Read the matrices and vectors of an R file (.RData, .rda) as numpy arrays; needs the package ``rdata``.

    The names of the columns of a matrix ``m`` are the array ``m columns``.
    """
    rdata = load_extra("rdata", "siena")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rdata warns that old files do not state their encoding; they are ASCII
        objects = rdata.read_rda(path)
    arrays = {}
    for name, value in objects.items():
        arrays[name] = np.asarray(value)
        if getattr(value, "ndim", 0) == 2 and value.dims[-1] in value.coords:
            arrays[f"{name} columns"] = np.asarray(value.coords[value.dims[-1]])
    return arrays


def _from_r(root: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {"friendship.1 columns": np.arange(1, 161)}
    for part in PARTS:
        file = root / f"Glasgow-{part}.RData"
        if not file.is_file():
            raise DataError(f"{file}: is not there; the study consists of Glasgow-{{{','.join(PARTS)}}}.RData")
        found |= read_r(file)
    for name, dot in (("friendship", "."), ("music", ""), ("leisure", "")):
        found[name] = np.stack([found[f"{name}{dot}{wave}"] for wave in WAVES])
    return found | {
        "music_names": found["music1 columns"],
        "leisure_names": found["leisure1 columns"],
        "sex": found["sex.F"],
        "ids": found["friendship.1 columns"],
    }
