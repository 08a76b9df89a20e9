"""The same interface on a Ray cluster, or on a local Ray; needs the extra ``ray``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sphunc.evaluation.benchmark.engines import ATTEMPTS, Engine, Outcome, Tasks, Work, attempt
from sphunc.io import load_extra


class RayEngine(Engine):
    """Tasks on a Ray cluster. Its nodes need the same sphunc, and paths to data that hold there too.

    A task whose process or node is lost is tried once more.

    Args:
        workers: tasks that run at the same time on a local Ray; a cluster decides for itself.
        threads: threads, and Ray's CPUs, of each.
        address: of a cluster; the variable ``RAY_ADDRESS`` unless given, and a local Ray without either.
    """

    def __init__(self, workers: int | None = None, threads: int = 1, address: str | None = None) -> None:
        super().__init__(workers, threads)
        self._ray = load_extra("ray", "ray")
        self._address = address or os.environ.get("RAY_ADDRESS")

    def run(self, work: Work, tasks: Tasks) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order in which they end.

        Args:
            work: what is done with each task.
            tasks: what it is done with.
        """
        ray = self._ray
        with self._cluster():
            remote = ray.remote(num_cpus=self.threads, max_retries=ATTEMPTS - 1)(attempt)
            running = {remote.remote(work, task, self.threads): index for index, task in enumerate(tasks)}
            try:
                while running:
                    (done,), _ = ray.wait(list(running), num_returns=1)
                    index = running.pop(done)
                    try:
                        yield Outcome(index, *ray.get(done))
                    except ray.exceptions.RayError as error:
                        line = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                        yield Outcome(index, error=line, account=str(error))
            finally:
                for left in running:
                    ray.cancel(left, force=True)

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        ray = self._ray
        if ray.is_initialized():
            yield
            return
        if self._address:
            ray.init(self._address, log_to_driver=False, logging_level="ERROR")
        else:
            cpus = self.workers * self.threads
            ray.init("local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        try:
            yield
        finally:
            ray.shutdown()
