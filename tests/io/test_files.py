"""A file is written whole or not at all."""

import os
import stat

import pytest

from sphunc.io.files import replacing, write_text


def test_a_failed_write_leaves_the_old_file_and_no_scrap(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_follow_the_umask(tmp_path):
    mask = os.umask(0o022)
    try:
        write_text(tmp_path / "a.txt", "é")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o644
    assert (tmp_path / "a.txt").read_bytes() == "é".encode()
