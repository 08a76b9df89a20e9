"""Where work runs: one small interface, and processes of this machine behind it.

Work is a function that other processes can import; a task is a value that can be pickled. An engine never raises for a
task that fails: its outcome says so, and the others go on.
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
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from sphunc.errors import ArgumentError

ATTEMPTS = 2
"""How often a task may take its process down with it before it counts as failed."""
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
_PATIENCE = 5.0  # seconds that a process gets to end before it is killed


@dataclass(frozen=True)
class Outcome:
    """How a task ended.

    Attributes:
        index: place of the task among those given.
        value: what the work returned; None if it failed.
        error: one line that says why it failed; empty if it did not.
        account: the traceback, or what is known of the end of its process.
        seconds: time that the work took.
    """

    index: int
    value: Any = None
    error: str = ""
    account: str = ""
    seconds: float = 0.0


class Engine(ABC):
    """Runs independent tasks and hands out their outcomes as they come."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Tasks that run at the same time."""

    @abstractmethod
    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order in which they end. Closing the iterator stops what is running."""


def crew_size(workers: int | None, threads: int) -> int:
    """Return how many tasks run at the same time: as given, else as many as the cores of this machine allow."""
    return max(1, (os.cpu_count() or 1) // threads) if workers is None else check_count("workers", workers)


class LocalEngine(Engine):
    """Processes of this machine, each started anew (spawned) with its threads pinned.

    A process that is killed, say by the system for want of memory, is replaced, and its task tried once more.

    Args:
        workers: processes; all cores over ``threads`` unless given.
        threads: threads of each.
    """

    def __init__(self, workers: int | None = None, threads: int = 1) -> None:
        self._threads = check_count("threads", threads)
        self._workers = crew_size(workers, threads)

    @property
    def workers(self) -> int:
        """Processes that run at the same time."""
        return self._workers

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order in which they end."""
        waiting = deque((index, 1) for index in range(len(tasks)))
        crew: dict[Any, _Worker] = {}
        try:
            while waiting or crew:
                while waiting and len(crew) < self._workers:
                    worker = _Worker(self._threads)
                    crew[worker.connection] = worker
                    worker.begin(work, tasks, *waiting.popleft())
                for connection in wait(list(crew)):
                    worker = crew[connection]
                    outcome = worker.outcome() or _lost(worker, waiting)
                    if worker.is_alive and waiting:
                        worker.begin(work, tasks, *waiting.popleft())
                    else:
                        crew.pop(connection).stop()
                    if outcome is not None:
                        yield outcome
        finally:
            for worker in crew.values():
                worker.stop()


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        inner: Any
        self.connection: Any
        self.connection, inner = context.Pipe()
        self._process = context.Process(target=_serve, args=(inner, threads), daemon=True)
        with pinned(threads):
            self._process.start()
        inner.close()  # so that the end of the process ends the pipe
        self.index, self.attempt, self.is_alive = -1, 0, True

    def begin(self, work: Callable[[Any], Any], tasks: Sequence[Any], index: int, attempt: int) -> None:
        self.index, self.attempt = index, attempt
        with suppress(BrokenPipeError):  # it has died since: outcome() will say so
            self.connection.send((work, tasks[index]))

    def outcome(self) -> Outcome | None:
        """What came through the pipe, or None if the process is gone."""
        try:
            return Outcome(self.index, *self.connection.recv())
        except (EOFError, ConnectionResetError):
            self.is_alive = False
            return None

    def stop(self) -> int | None:
        """End the process; returns its exit code, negative for a signal."""
        self.connection.close()
        self._process.join(0.5)  # an idle one ends by itself
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return self._process.exitcode


def attempt(work: Callable[[Any], Any], task: Any, threads: int) -> tuple[Any, str, str, float]:
    """Do the work with its threads pinned; returns value, error, account and seconds, and raises nothing."""
    import torch

    torch.set_num_threads(threads)
    start = time.perf_counter()
    try:
        value, error, account = work(task), "", ""
    except Exception as fault:
        message = " ".join(str(fault).split())
        value, error, account = None, f"{type(fault).__name__}: {message}", traceback.format_exc()
    return value, error, account, time.perf_counter() - start


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """Let processes started inside have so many threads."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def check_count(name: str, value: int) -> int:
    """A number of processes or threads, refused below 1."""
    if value < 1:
        raise ArgumentError(f"{name}: got {value}, expected 1 or more.")
    return value


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


def _lost(worker: _Worker, waiting: deque[tuple[int, int]]) -> Outcome | None:
    """Put the task of a process that is gone back to the front, or say that it has had its chances."""
    code = worker.stop()
    if worker.attempt < ATTEMPTS:
        waiting.appendleft((worker.index, worker.attempt + 1))
        return None
    name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
    error = f"its process ended ({name}) {ATTEMPTS} times; short of memory? Try fewer --workers."
    return Outcome(worker.index, error=error, account=error)
