"""Work in other processes: failures and killed processes are outcomes, and the rest goes on."""

import os
import time

import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark.engines import LocalEngine, attempt, pinned

KILL = "__import__('os').kill(__import__('os').getpid(), 9)"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_attempt_returns_the_fault_as_a_line_and_an_account() -> None:
    assert attempt(eval, "1 + 1", 1)[:3] == (2, "", "")
    value, error, account, seconds = attempt(eval, "1 / 0", 1)
    assert (value, error) == (None, "ZeroDivisionError: division by zero")
    assert "Traceback" in account
    assert seconds >= 0


def test_threads_are_pinned_for_children_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with pinned(3):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_counts_below_one_are_refused() -> None:
    with pytest.raises(ArgumentError, match="workers=0 must be at least 1"):
        LocalEngine(workers=0)
    with pytest.raises(ArgumentError, match="threads=-1 must be at least 1"):
        LocalEngine(threads=-1)


@pytest.mark.slow
def test_failed_and_killed_tasks_do_not_stop_the_others(tmp_path) -> None:
    seen = str(tmp_path / "seen")
    mark = f"(open({seen!r}, 'w').close(), {KILL}) if not __import__('os').path.exists({seen!r}) else 'second time'"
    threads = "(__import__('torch').get_num_threads(), __import__('os').environ['OMP_NUM_THREADS'])"
    tasks = ["1 / 0", KILL, mark, threads, "40 + 2"]
    outcomes = {outcome.task: outcome for outcome in LocalEngine(workers=2).run(eval, tasks)}
    assert sorted(outcomes) == [0, 1, 2, 3, 4]
    assert outcomes[0].error == "ZeroDivisionError: division by zero"
    assert outcomes[1].error.startswith("its process ended (exit code -9) 2 times; short of memory?")
    assert outcomes[2].value == "second time"
    assert outcomes[3].value == (1, "1")
    assert outcomes[4].value == 42


@pytest.mark.slow
def test_closing_ends_the_processes() -> None:
    running = LocalEngine(workers=2).run(eval, ["__import__('os').getpid()", "__import__('time').sleep(600)"])
    pid = next(running).value
    start = time.monotonic()
    running.close()
    assert time.monotonic() - start < 30
    assert not alive(pid)
