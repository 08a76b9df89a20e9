"""The files of a PHEME release, from an unpacked folder or straight from its archive, junk left out."""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ARCHIVES = (".tar.xz", ".tar.bz2", ".tar.gz", ".tgz", ".tbz2", ".txz", ".tar", ".zip")

_SCHEME = re.compile(r"^(?P<top>(?:.*/)?)threads/(?P<part>[a-z]{2})/(?P<event>[^/]+)/(?P<thread>\d+)/(?P<rest>.+)$")
_RUMOURS = re.compile(r"^(?P<top>(?:.*/)?)(?P<event>[^/]+)/(?P<part>rumours|non-rumours)/(?P<thread>\d+)/(?P<rest>.+)$")
_STANCES = re.compile(r"^(?P<top>(?:.*/)?)annotations/[a-z]{2}-scheme-annotations\.json$")
_WANTED = re.compile(
    r"^(?:annotation\.json|structure\.json|who-follows-whom\.dat|(?:source-tweets?|reactions)/\d+\.json)$"
)
_VERACITY_SUFFIX = "-all-rnr-threads"


class ThreadFile(NamedTuple):
    """What the path of a file of a thread says."""

    top: str
    layout: str
    part: str
    event: str
    thread: str
    rest: str


def is_archive(path: Path) -> bool:
    """Whether the name is one of an archive that can be read in place."""
    return path.name.lower().endswith(ARCHIVES)


def is_junk(path: str) -> bool:
    """Whether a path is what macOS leaves behind (AppleDouble ``._*``, ``.DS_Store``, ``__MACOSX``)."""
    return any(part.startswith("._") or part in {".DS_Store", "__MACOSX"} for part in path.split("/"))


def place(path: str) -> ThreadFile | None:
    """Read a path: the release, event and thread that it belongs to, or None when it is no file we need."""
    match = _SCHEME.match(path) or _RUMOURS.match(path)
    if is_junk(path) or match is None or not _WANTED.match(match["rest"]):
        return None
    event = match["event"].removesuffix(_VERACITY_SUFFIX)
    layout = "rnr"
    if match.re is _SCHEME:
        layout = "scheme"
    elif event != match["event"] or match["rest"].startswith("source-tweets/"):
        # A reaction alone does not distinguish rnr from veracity: only these two do.
        layout = "veracity"
    return ThreadFile(match["top"], layout, match["part"], event, match["thread"], match["rest"])


def is_stance_file(path: str) -> bool:
    """Whether a path is one of the scheme release's lists of annotated tweets."""
    return not is_junk(path) and _STANCES.match(path) is not None


def needed(path: str) -> bool:
    """Whether a file is read at all; images, pages and retweets are not."""
    return is_stance_file(path) or place(path) is not None


def files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every needed file under a folder or inside an archive."""
    if root.is_dir():
        yield from _folder_files(root)
    elif zipfile.is_zipfile(root):
        with zipfile.ZipFile(root) as archive:
            for name in sorted(filter(needed, archive.namelist())):
                yield name, archive.read(name)
    else:
        with tarfile.open(root) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                if member.isfile() and needed(name) and (handle := archive.extractfile(member)) is not None:
                    yield name, handle.read()


def _folder_files(root: Path) -> Iterator[tuple[str, bytes]]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            file = Path(folder) / name
            path = file.relative_to(root).as_posix()
            # A user may point at one event folder: its own name then carries the event.
            for candidate in (path, f"{root.name}/{path}"):
                if needed(candidate):
                    yield candidate, file.read_bytes()
                    break
