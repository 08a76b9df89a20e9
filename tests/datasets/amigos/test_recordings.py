from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from sphunc.datasets.amigos.recordings import read_recordings, recording_files


def test_files_in_folders_or_flat(amigos: Path, tmp_path: Path) -> None:
    assert list(recording_files(amigos)) == [1, 7, 8, 9, 32]
    (tmp_path / "Data_Preprocessed_P03.mat").touch()
    (tmp_path / "._Data_Preprocessed_P04.mat").touch()
    assert list(recording_files(tmp_path)) == [3]


def test_videos_are_known_by_name(amigos: Path) -> None:
    found = read_recordings(recording_files(amigos)[1], 1)
    assert [recording.video for recording in found[16:]] == ["U1", "N1", "B1", "P1"]
    assert found[16].samples is not None
    assert found[16].samples.shape == (128 * 45, 17)
    assert found[16].own is not None
    assert found[16].own.shape == (12,)


def test_empty_cells_are_missing(amigos: Path) -> None:
    files = recording_files(amigos)
    without_long = read_recordings(files[8], 8)
    assert all(r.samples is None and r.own is None and r.outside is None for r in without_long[16:])
    assert all(r.own is None and r.samples is not None for r in read_recordings(files[32], 32)[16:])


def test_broken_files_are_told(tmp_path: Path, person_writer: Callable[..., Path]) -> None:
    path = tmp_path / "Data_Preprocessed_P01.mat"
    savemat(path, {"joined_data": np.zeros((1, 1))})
    with pytest.raises(ValueError, match="lacks labels_selfassessment, labels_ext_annotation, VideoIDs"):
        read_recordings(path, 1)
    path.write_bytes(b"this is no MATLAB file at all, just text" * 10)
    with pytest.raises(ValueError, match="not a readable MATLAB v5 file"):
        read_recordings(path, 1)
    good = person_writer(tmp_path, 2, 6)
    good.write_bytes(good.read_bytes()[:5000])
    with pytest.raises(ValueError, match="not a readable MATLAB v5 file"):
        read_recordings(good, 2)
