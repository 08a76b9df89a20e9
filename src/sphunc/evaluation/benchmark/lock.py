"""One run at a time in a folder: a lock of the operating system, which ends with the process that holds it.

The lock is on an open file, and not the file itself: after a kill or a power cut nobody holds it, whatever the file
says. What it says is who holds it, for the message to whoever comes second.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from sphunc.errors import ArgumentError

HOLDER = ".holder.json"
"""Says who runs in a folder. It stays there: were it removed, one could lock the old file and another a new one."""
_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_BEYOND = 2**30  # Windows locks bytes, and nobody else may read them: one far behind what the file says


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold a folder while the block runs; refuse if another run holds it.

    Raises:
        ArgumentError: names the process that holds it, since when, and what to do.
    """
    with _opened(folder) as file:
        if not _taken(file, folder):
            raise ArgumentError(_refusal(folder, file))
        _write(file, {"process": os.getpid(), "machine": socket.gethostname(), "since": _now()})
        try:
            yield
        finally:
            _write(file, {})  # closing the file ends the lock


def _opened(folder: Path) -> IO[str]:
    try:
        return os.fdopen(os.open(folder / HOLDER, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="utf-8")
    except OSError as error:
        raise ArgumentError(
            f"results cannot be kept in {folder} ({error.strerror}). Give a folder, new or of an earlier run, that may "
            "be written to."
        ) from None


def _taken(file: IO[str], folder: Path) -> bool:
    """Try to lock the file; False if another process has. A file system without locks is told of, and taken."""
    try:
        _lock(file.fileno())
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        warnings.warn(
            f"{folder} cannot be locked ({error.strerror}): see to it that no other run uses it at the same time, or "
            "cells are measured twice",
            UserWarning,
            stacklevel=5,
        )
    return True


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write(file: IO[str], holder: dict[str, str | int]) -> None:
    file.seek(0)
    file.truncate()
    file.write(json.dumps(holder) if holder else "")
    file.flush()


def _refusal(folder: Path, file: IO[str]) -> str:
    try:
        holder = json.loads(file.read())
        who = f"process {holder['process']} on {holder['machine']}, since {holder['since']}"
        stop = f"stop that process (kill {holder['process']})"
    except (ValueError, KeyError, TypeError, OSError):  # it has only just begun, or is just ending
        who, stop = "a process that has not said yet which it is", "stop it"
    return (
        f"another run is at work in {folder}: {who}. Wait until it ends, or {stop}, then run the same command: what it "
        "finished stays. To run both at once, give this one another folder (--out)."
    )


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
