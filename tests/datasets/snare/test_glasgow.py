from pathlib import Path

import numpy as np
import pytest

from sphunc.datasets.snare.glasgow import ANSWERS, is_glasgow, read_glasgow, read_r
from sphunc.errors import DataError, MissingExtraError


def invented(pupils: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    friendship = np.zeros((3, pupils, pupils), dtype=np.float32)
    friendship[:, 0, 1], friendship[:, 1, 2], friendship[0, 2, 2] = 1, 2, 2
    friendship[2, 3], friendship[1, 0, 3] = 10, np.nan
    return {
        "friendship": friendship,
        **{name: rng.integers(1, 4, (pupils, 3)).astype(np.float32) for name in ANSWERS},
        "music": rng.integers(0, 2, (3, pupils, 2)).astype(np.float32),
        "leisure": rng.integers(1, 5, (3, pupils, 2)).astype(np.float32),
        "music_names": np.array(["polka", "fado"]),
        "leisure_names": np.array(["knitting", "sailing"]),
        "sex": np.ones(pupils, dtype=np.float32),
        "age": np.full(pupils, 13.5, dtype=np.float32),
        "ids": np.array([f"s{i:03d}" for i in range(pupils)]),
    }


def test_two_grades_of_friendship_are_ties(tmp_path: Path) -> None:
    np.savez(tmp_path / "glasgow.npz", **invented())
    assert is_glasgow(tmp_path)
    study = read_glasgow(tmp_path)
    network = study.networks["friendship"]
    assert network.ties == [2, 2, 2]
    assert network.self_ties == (1, 0, 0)
    assert np.isnan(network.tie[1, 0, 3])
    assert not network.answered[2, 3]
    assert study.ids == ("s000", "s001", "s002", "s003")


def test_blocks_become_one_value_per_column(tmp_path: Path) -> None:
    arrays = invented()
    np.savez(tmp_path / "glasgow.npz", **arrays)
    study = read_glasgow(tmp_path)
    assert study.values["music: fado"].shape == (4, 3)
    assert np.array_equal(study.values["music: fado"], arrays["music"][:, :, 1].T)


def test_incomplete_files_are_named(tmp_path: Path) -> None:
    arrays = invented()
    del arrays["tobacco"]
    np.savez(tmp_path / "glasgow.npz", **arrays)
    with pytest.raises(DataError, match=r"lacks the array\(s\) tobacco"):
        read_glasgow(tmp_path)


def test_r_files_need_rdata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rdata", None)
    with pytest.raises(MissingExtraError, match=r'pip install "sphunc\[siena\]"'):
        read_r(tmp_path / "Glasgow-friendship.RData")
