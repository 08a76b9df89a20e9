"""A second process is refused with the one that holds the folder; what a dead one left does not count."""

import json
import os
import socket
import subprocess
import sys

import pytest

from sphunc.errors import ArgumentError
from sphunc.runs.lock import locked


def holder(**changes):
    return json.dumps({"process": os.getpid(), "host": socket.gethostname(), "command": "sphunc fit t", **changes})


def test_a_second_one_is_refused_with_the_process_that_holds_it(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(ArgumentError, match=rf"is in use by process {os.getpid()} \(.*\); wait for it, stop it"),
        locked(tmp_path),
    ):
        pass
    assert not (tmp_path / "lock.json").exists()
    with locked(tmp_path / "new"):
        assert (tmp_path / "new" / "lock.json").exists()


def test_locks_of_processes_that_are_gone_do_not_count(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for text in (holder(process=gone.pid), holder(started=1)):  # the second: the number belongs to a later process
        (tmp_path / "lock.json").write_text(text)
        with locked(tmp_path):
            assert json.loads((tmp_path / "lock.json").read_text())["process"] == os.getpid()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (holder(host="elsewhere", process=4711), "on the machine elsewhere .*If it is no longer there, remove"),
        ("{", "cannot be read: another run may be starting"),
    ],
    ids=["elsewhere", "broken"],
)
def test_locks_that_cannot_be_judged_are_kept(tmp_path, text, message):
    (tmp_path / "lock.json").write_text(text)
    with pytest.raises(ArgumentError, match=message), locked(tmp_path):
        pass
    assert (tmp_path / "lock.json").read_text() == text
