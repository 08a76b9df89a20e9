import tarfile
import zipfile
from pathlib import Path

import pytest

from sphunc.datasets.pheme.tree import files, is_archive, is_junk, needed, place


@pytest.mark.parametrize(
    ("path", "layout", "event", "thread"),
    [
        ("threads/en/ferguson/12/structure.json", "scheme", "ferguson", "12"),
        ("top/threads/de/ferguson/12/reactions/13.json", "scheme", "ferguson", "12"),
        ("x/ferguson-all-rnr-threads/rumours/12/reactions/13.json", "veracity", "ferguson", "12"),
        ("ferguson/non-rumours/12/source-tweet/12.json", "rnr", "ferguson", "12"),
        ("ferguson/non-rumours/12/source-tweets/12.json", "veracity", "ferguson", "12"),
    ],
)
def test_path_tells_release_event_and_thread(path: str, layout: str, event: str, thread: str) -> None:
    found = place(path)
    assert found is not None
    assert (found.layout, found.event, found.thread) == (layout, event, thread)


@pytest.mark.parametrize(
    "path",
    [
        "threads/en/ferguson/12/._structure.json",
        "threads/en/ferguson/12/reactions/._13.json",
        "__MACOSX/threads/en/ferguson/12/structure.json",
        "threads/en/ferguson/12/images/0123abc",
        "threads/en/ferguson/12/retweets.json",
        "annotation-scheme.json",
        "annotations/._en-scheme-annotations.json",
    ],
)
def test_junk_and_pictures_are_not_read(path: str) -> None:
    assert not needed(path)


def test_junk_is_told_by_any_part_of_the_path() -> None:
    assert is_junk("a/._b/c.json")
    assert is_junk("a/.DS_Store")
    assert not is_junk("a/b.json")


@pytest.mark.parametrize("suffix", ["tar.xz", "tar.bz2", "tgz", "zip"])
def test_archive_holds_the_same_files_as_the_folder(scheme: Path, tmp_path: Path, suffix: str) -> None:
    archive = tmp_path / f"packed.{suffix}"
    if suffix == "zip":
        with zipfile.ZipFile(archive, "w") as packed:
            for path in scheme.rglob("*"):
                packed.write(path, path.relative_to(tmp_path))
    else:
        mode = {"tar.xz": "w:xz", "tar.bz2": "w:bz2", "tgz": "w:gz"}[suffix]
        with tarfile.open(archive, mode) as packed:  # type: ignore[call-overload]
            packed.add(scheme, scheme.name)
    assert is_archive(archive)
    unpacked = {path: content for path, content in files(scheme.parent) if scheme.name in path}
    assert dict(files(archive)) == unpacked
    assert len(unpacked) == 2 + 3 * 2 + 2 + 10


def test_one_event_folder_is_enough(veracity: Path) -> None:
    event = veracity / "zoo-escape-all-rnr-threads"
    assert len(list(files(event))) == 5 * 4
