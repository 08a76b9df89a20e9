import shutil
from pathlib import Path

import numpy as np
import pytest

import sphunc
from sphunc.datasets.amigos.dataset import CLASSES, outside_quadrant, own_quadrant, quadrant


def test_four_videos_are_four_times(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos)
    assert data.times == (1, 2, 3, 4)
    assert data.node_ids == ("P01", "P07", "P08", "P09", "P32")
    assert data.num_features == 63
    assert data.class_names == CLASSES
    counts = data.attributes["dataset"]["counts"]
    assert (counts["people"], counts["people with long videos"], counts["recordings"]) == (5, 4, 16)


def test_quadrants_follow_the_videos_whatever_their_order(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos)
    assert data.y is not None
    # N1 low valence, high arousal; P1 high, low; B1 high, high; U1 low, low (a rating of 5 is not above 5)
    assert data.y[:, 0].tolist() == [1, 2, 3, 0]


def test_missing_people_ratings_and_channels(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos)
    at = data.node_ids.index
    assert not data.present[:, at("P08")].any()
    assert not data.y_mask[:, at("P32")].any()
    assert data.x_mask[:, at("P32")].all()
    known = data.x_mask[2, at("P09")]  # B1
    unknown = {name for name, there in zip(data.feature_names, known.tolist(), strict=True) if not there}
    assert unknown == {f"AF3_{band}" for band in ("theta", "alpha", "beta", "gamma")} | {
        "skin_mean",
        "skin_sd",
        "skin_slope",
        "skin_rises",
    }


def test_groups_come_from_the_sheet(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos)
    assert data.num_hyperedges == 4
    members = {data.node_ids[i] for i in data.hyperedge_index[0, data.hyperedge_index[1] == 0].tolist()}
    assert members == {"P01", "P07", "P09"}
    assert data.attributes["dataset"]["notes"] == ["viewing groups from Experiment_Data.xlsx"]


def test_without_sheet_the_known_groups_are_used_and_said(amigos: Path, tmp_path: Path) -> None:
    shutil.copytree(amigos / "Data_Preprocessed", tmp_path / "flat")
    data = sphunc.load_dataset("amigos", tmp_path)
    assert "not confirmed" in data.attributes["dataset"]["notes"][0]
    members = {data.node_ids[i] for i in data.hyperedge_index[0].tolist()}
    assert members == {"P01", "P07"}


def test_same_setting_adds_two_groups(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos, same_setting=True)
    assert set(data.hyperedge_ids) == {"viewing group 1", "in a group"}  # one person alone makes no group


def test_segments_as_times_with_outside_ratings(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos, times="segments", outcome="external")
    assert data.times == (1001, 1002, 2001, 2002, 3001, 3002, 4001, 4002)
    assert data.y is not None
    assert set(data.y[data.y_mask].tolist()) == {2}
    with pytest.raises(sphunc.ArgumentError, match="pass outcome='external'"):
        sphunc.load_dataset("amigos", amigos, times="segments")


def test_heart_rate_is_the_one_that_was_put_in(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos)
    rate = data.x[:, 0, data.feature_names.index("heart_rate")]
    assert np.allclose(rate.numpy(), 75, rtol=0.02)


def test_people_can_be_left_out(amigos: Path) -> None:
    data = sphunc.load_dataset("amigos", amigos, leave_out=(9, 12))
    assert "P09" not in data.node_ids


def test_broken_file_is_named_with_a_way_out(amigos: Path, tmp_path: Path) -> None:
    shutil.copytree(amigos / "Data_Preprocessed", tmp_path / "copy")
    (tmp_path / "copy/Data_Preprocessed_P07/Data_Preprocessed_P07.mat").write_bytes(b"x" * 300)
    with pytest.raises(sphunc.DataError, match=r"P07\.mat: is not a readable .* or pass leave_out=\(7,\)"):
        sphunc.load_dataset("amigos", tmp_path)
    assert sphunc.load_dataset("amigos", tmp_path, leave_out=(7,)).num_nodes == 4


def test_thresholds() -> None:
    assert own_quadrant(np.array([5.1, 5.0])) == "low valence, high arousal"
    assert own_quadrant(None) is None
    assert outside_quadrant(np.array([[1, 0.3, 0.2], [2, np.nan, -0.6]])) == "high valence, low arousal"
    assert outside_quadrant(np.array([[1, np.nan, 0.2]])) is None
    assert quadrant(np.nan, 1.0, 0.0) is None
