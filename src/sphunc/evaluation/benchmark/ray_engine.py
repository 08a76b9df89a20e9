"""The same interface on a Ray cluster, or on a local Ray; needs the extra ``ray``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sphunc.evaluation.benchmark.engines import ATTEMPTS, Engine, Outcome, attempt, check_count, crew_size
from sphunc.io.extras import load_extra


class RayEngine(Engine):
    """Tasks on a Ray cluster. Its nodes need the same sphunc, and paths to data that hold there too.

    A task whose process or node is lost is tried once more.

    Args:
        workers: tasks that run at the same time on a local Ray; a cluster decides for itself.
        threads: threads, and Ray's CPUs, of each.
        address: of a cluster; the variable ``RAY_ADDRESS`` unless given, and a local Ray without either.
    """

    def __init__(self, workers: int | None = None, threads: int = 1, address: str | None = None) -> None:
        self._ray = load_extra("ray", "ray")
        self._threads = check_count("threads", threads)
        self._address = address or os.environ.get("RAY_ADDRESS")
        self._workers = crew_size(workers, threads)

    @property
    def workers(self) -> int:
        """Tasks that run at the same time, as far as is known before the cluster is there."""
        return self._workers

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order in which they end."""
        ray = self._ray
        with self._cluster():
            options = {"num_cpus": self._threads, "max_retries": ATTEMPTS - 1}
            remote = ray.remote(**options)(attempt)
            running = {remote.remote(work, task, self._threads): index for index, task in enumerate(tasks)}
            try:
                while running:
                    (done,), _ = ray.wait(list(running), num_returns=1)
                    yield self._outcome(running.pop(done), done)
            finally:
                for left in running:
                    ray.cancel(left, force=True)

    def _outcome(self, index: int, done: Any) -> Outcome:
        try:
            return Outcome(index, *self._ray.get(done))
        except self._ray.exceptions.RayError as error:
            line = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            return Outcome(index, error=line, account=str(error))

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        ray = self._ray
        if ray.is_initialized():
            yield
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self._address:
            ray.init(self._address, **quiet)
        else:
            cpus = self._workers * self._threads
            ray.init("local", num_cpus=cpus, include_dashboard=False, **quiet)
        try:
            yield
        finally:
            ray.shutdown()
