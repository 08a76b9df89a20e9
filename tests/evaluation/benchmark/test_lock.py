"""One run at a time in a folder; whoever is killed holds nothing."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark import lock
from sphunc.evaluation.benchmark.lock import HOLDER, only_run

HOLD = """
import sys, time
from pathlib import Path
from sphunc.evaluation.benchmark.lock import only_run

with only_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_second_run_is_told_who_holds_the_folder_and_what_to_do(tmp_path: Path) -> None:
    words = (
        rf"at work in {re.escape(str(tmp_path))}: process {os.getpid()} on .+, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d"
    )
    with only_run(tmp_path):
        for _ in range(2):
            with (
                pytest.raises(ArgumentError, match=words + r".* Wait until it ends, or stop that process \(kill"),
                only_run(tmp_path),
            ):
                pass
    with only_run(tmp_path), only_run_elsewhere(tmp_path):
        pass


def only_run_elsewhere(folder: Path):
    (folder / "other").mkdir()
    return only_run(folder / "other")


def test_folder_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), only_run(tmp_path):
        raise KeyboardInterrupt
    with only_run(tmp_path):
        pass


def test_killed_process_holds_nothing_whatever_its_file_says(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "held\n"
        with pytest.raises(ArgumentError, match=f"process {run.pid} on"), only_run(tmp_path):
            pass
        run.kill()
    assert str(run.pid) in (tmp_path / HOLDER).read_text()
    with only_run(tmp_path):
        pass


@pytest.mark.parametrize("said", ["", "{", "[]", '{"process": 3}'])
def test_holder_that_has_not_said_who_it_is_is_refused_too(tmp_path: Path, said: str) -> None:
    with only_run(tmp_path):
        (tmp_path / HOLDER).write_text(said)
        with pytest.raises(ArgumentError, match=r"a process that has not said yet .* give this one another folder"):
            only_run(tmp_path).__enter__()


def test_file_system_without_locks_is_told_of_and_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(handle: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", no_locks)
    with pytest.warns(UserWarning, match=r"cannot be locked \(No locks available\): see to it"), only_run(tmp_path):
        pass


def test_folder_that_cannot_be_written_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"results cannot be kept in .* Give a folder"), only_run(tmp_path / "none"):
        pass
