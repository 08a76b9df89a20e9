"""One process at a time works in a folder; what a process left that is gone counts for nothing."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sphunc.errors import ArgumentError

NAME = "lock.json"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder; a second process is refused with the one that holds it.

    Args:
        folder: made if it does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    _take(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _take(path: Path) -> None:
    # A second attempt, as the lock may be stale, or be released between looking and reading.
    for _ in range(2):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            _remove_if_stale(path)
            continue
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(_holder(), stream)
        return
    raise ArgumentError(f"{path.parent} is in use by another run; wait for it, or give another folder")


def _holder() -> dict[str, object]:
    return {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "started": _start_of(os.getpid()),
        "command": " ".join(["sphunc", *sys.argv[1:]]),
    }


def _remove_if_stale(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    try:
        holder = json.loads(text)
        process = int(holder["process"])
        host = holder["host"]
    except (ValueError, KeyError, TypeError):
        # It is being written, or the machine stopped while it was.
        raise ArgumentError(
            f"{path} cannot be read: another run may be starting. Try again; remove the file if none is"
        ) from None
    command = holder.get("command") or "another run"
    if host != socket.gethostname():
        raise ArgumentError(
            f"{path.parent} is in use by process {process} on the machine {host} ({command}); wait for it. If it is "
            f"no longer there, remove {path}"
        )
    if _is_running(process, holder.get("started")):
        raise ArgumentError(
            f"{path.parent} is in use by process {process} ({command}); wait for it, stop it, or give another folder"
        )
    if path.read_text(encoding="utf-8") == text:
        path.unlink(missing_ok=True)


def _is_running(process: int, started: object) -> bool:
    """Say whether a process is there and is the one that took the lock, not a later one of the same number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    now = _start_of(process)
    return started is None or now is None or started == now


def _start_of(process: int) -> int | None:
    """Return the start of a process in ticks since the machine came up; None where the system does not say."""
    try:
        content = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return int(content.rpartition(")")[2].split()[19])
