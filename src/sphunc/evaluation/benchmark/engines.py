"""Where work runs: one small interface, and processes of this machine behind it.

Work is a function that other processes can import; a task is a value that can be pickled. An engine
never raises for a task that fails: its outcome says so, and the others go on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from sphunc._checks import whole_number

ATTEMPTS = 2
"""How often a task may take its process down with it before it counts as failed."""
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")

Work = Callable[[Any], Any]
Tasks = Sequence[Any]


class Outcome(NamedTuple):
    """How a task ended.

    Attributes:
        task: its place among those given.
        value: what the work returned; None if it failed.
        error: one line that says why it failed; empty if it did not.
        account: the traceback, or what is known of the end of its process.
        seconds: time that the work took.
    """

    task: int
    value: Any = None
    error: str = ""
    account: str = ""
    seconds: float = 0.0


class Engine(ABC):
    """Runs independent tasks and hands out their outcomes as they come.

    Args:
        workers: tasks at the same time; all cores over ``threads`` unless given.
        threads: threads of each.
    """

    def __init__(self, workers: int | None = None, threads: int = 1) -> None:
        self.threads = whole_number("threads", threads, least=1)
        if workers is None:
            workers = max(1, (os.cpu_count() or 1) // self.threads)
        self.workers = whole_number("workers", workers, least=1)

    @abstractmethod
    def run(self, work: Work, tasks: Tasks) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order in which they end. Closing the iterator stops what is running.

        Args:
            work: what is done with each task.
            tasks: what it is done with.
        """


class LocalEngine(Engine):
    """Processes of this machine, each started anew (spawned) with its threads pinned.

    A process that is killed, say by the system for want of memory, is replaced, and its task tried once more.

    Args:
        workers: processes; all cores over ``threads`` unless given.
        threads: threads of each.
    """

    def run(self, work: Work, tasks: Tasks) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order in which they end.

        Args:
            work: what is done with each task.
            tasks: what it is done with.
        """
        waiting = deque(range(len(tasks)))
        attempts = [0] * len(tasks)
        crew: dict[Any, _Worker] = {}
        try:
            while waiting or crew:
                while waiting and len(crew) < self.workers:
                    worker = _Worker(self.threads)
                    crew[worker.connection] = worker
                    worker.begin(work, tasks, waiting.popleft())
                for connection in wait(list(crew)):
                    worker = crew[connection]
                    index = worker.index
                    outcome = worker.outcome()
                    if outcome is not None and waiting:
                        worker.begin(work, tasks, waiting.popleft())
                    else:
                        code = worker.stop()
                        del crew[connection]
                        if outcome is None:  # the process is gone
                            attempts[index] += 1
                            if attempts[index] < ATTEMPTS:
                                waiting.appendleft(index)
                                continue
                            outcome = _lost(index, code)
                    yield outcome
        finally:
            for worker in crew.values():
                worker.stop()


class _Worker:
    """A process, the pipe to it, and the task that it works on."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, inner = context.Pipe()
        self._process = context.Process(target=_serve, args=(inner, threads), daemon=True)
        with pinned(threads):
            self._process.start()
        inner.close()  # so that the end of the process ends the pipe
        self.index = -1

    def begin(self, work: Work, tasks: Tasks, index: int) -> None:
        self.index = index
        with suppress(BrokenPipeError):  # it has died since: outcome() will say so
            self.connection.send((work, tasks[index]))

    def outcome(self) -> Outcome | None:
        """What came through the pipe, or None if the process is gone."""
        try:
            return Outcome(self.index, *self.connection.recv())
        except (EOFError, ConnectionResetError):
            return None

    def stop(self) -> int | None:
        """End the process; returns its exit code, negative for a signal."""
        self.connection.close()
        self._process.join(0.5)  # one that is idle or gone ends by itself, with its own exit code
        self._process.kill()
        self._process.join()
        return self._process.exitcode


def attempt(work: Work, task: Any, threads: int) -> tuple[Any, str, str, float]:
    """Do the work with its threads pinned; returns value, error, account and seconds, and raises nothing.

    Args:
        work: what is done.
        task: with what.
        threads: that torch may use.
    """
    import torch

    torch.set_num_threads(threads)
    value = None
    error = ""
    account = ""
    start = time.perf_counter()
    try:
        value = work(task)
    except Exception as fault:
        message = " ".join(str(fault).split())
        error = f"{type(fault).__name__}: {message}"
        account = traceback.format_exc()
    return value, error, account, time.perf_counter() - start


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """Let processes started inside have so many threads."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name in _THREAD_VARIABLES:
            del os.environ[name]
            if name in before:
                os.environ[name] = before[name]


def _serve(connection: Connection, threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its processes
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            work, task = connection.recv()
            connection.send(attempt(work, task, threads))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # a killed parent cannot end us, and nobody would take the result


def _lost(index: int, code: int | None) -> Outcome:
    """Say that a task has had its attempts."""
    error = f"its process ended (exit code {code}) {ATTEMPTS} times; short of memory? Try fewer --workers."
    return Outcome(index, error=error, account=error)
