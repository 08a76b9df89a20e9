"""Format-true miniature AMIGOS: invented signals in the layout of Data_Preprocessed, and an .xlsx of viewing groups."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from scipy.io import savemat

SHORT = ["10", "13", "138", "18", "19", "20", "23", "30", "31", "34", "36", "4", "5", "58", "80", "9"]
LONG = ["U1", "N1", "B1", "P1"]  # on purpose not in their usual order: the name counts
RATE = 128


def cell(values: list) -> np.ndarray:
    array = np.empty((1, len(values)), dtype=object)
    for i, value in enumerate(values):
        array[0, i] = value
    return array


def samples(rng: np.random.Generator, seconds: int) -> np.ndarray:
    t = np.arange(RATE * (5 + seconds)) / RATE
    x = rng.normal(size=(len(t), 17))
    x[:, 14] = 0.05 * rng.normal(size=len(t)) + 5 * np.exp(-(((t % 0.8) - 0.4) ** 2) / (2 * 0.015**2))
    x[:, 16] = 2 + 0.01 * t
    return x


def write_person(folder: Path, person: int, seconds: int = 40) -> Path:
    rng = np.random.default_rng(person)
    joined, own, outside = [], [], []
    for video in SHORT + LONG:
        long = video in LONG
        if long and person in {8, 24, 28}:
            joined.append(np.zeros((0, 0)))
            own.append(np.zeros((1, 0)))
            outside.append(np.zeros((0, 0)))
            continue
        x = samples(rng, seconds if long else 1)
        if person == 9 and video == "B1":
            x[:, 16] = np.nan
            x[:, 0] = np.nan
        joined.append(x)
        high = video in {"P1", "B1"}
        rating = np.concatenate([[8.0 if video in {"B1", "N1"} else 5.0, 7.0 if high else 3.0], np.ones(10)])[None]
        own.append(np.zeros((1, 0)) if long and person == 32 else rating)
        pieces = max(1, seconds // 20) if long else 1
        outside.append(np.column_stack([np.arange(1, pieces + 1), np.full(pieces, 0.5), np.full(pieces, -0.5)]))
    path = folder / f"Data_Preprocessed_P{person:02d}" / f"Data_Preprocessed_P{person:02d}.mat"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"joined_data": joined, "labels_selfassessment": own, "labels_ext_annotation": outside}
    cells = {name: cell(values) for name, values in content.items()}
    # The released files are compressed; packing the noise of one person is enough to test that.
    savemat(path, {**cells, "VideoIDs": cell(SHORT + LONG)}, do_compression=person == 1)
    return path


def write_xlsx(path: Path, sheets: dict[str, list[list[object]]]) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    book.close()


ORDER = [["Session", "UserID(s)", "Video_Number"], [1, "7,1, 9", 17], [2, 32.0, 18], [3, None, 19]]


@pytest.fixture
def person_writer() -> Callable[..., Path]:
    return write_person


@pytest.fixture
def xlsx_writer() -> Callable[..., None]:
    return write_xlsx


@pytest.fixture(scope="session")
def amigos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("amigos")
    for person in (1, 7, 8, 9, 32):
        write_person(root / "Data_Preprocessed", person)
    write_xlsx(root / "Metadata_xlsx/Experiment_Data.xlsx", {"Short_Videos_Order": [["a"]], "Long_Videos_Order": ORDER})
    return root
