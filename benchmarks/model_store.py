"""Measurements as values on disk: one JSON file each, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import sphunc

SOURCE = Path(sphunc.__file__).parent
HERE = Path(__file__).parent
Figures = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One measurement.

    Attributes:
        unit: name of the measurement.
        preset: world, or data set.
        seed: of the world and the model.
        agents: cap on the agents of the world; None leaves the preset's own.
        times: times of the world; None leaves the preset's own.
        settings: of the model, as JSON (sorted by name).
    """

    unit: str
    preset: str
    seed: int
    agents: int | None = None
    times: int | None = None
    settings: str = "{}"

    @property
    def model_settings(self) -> dict[str, Any]:
        """Settings of the model by name."""
        return json.loads(self.settings)


@dataclass(frozen=True)
class Unit:
    """How a kind of task is measured, and the code that its result depends on."""

    measure: Callable[[Task], Figures]
    code: tuple[str, ...]
    alone: bool = False

    def fingerprint(self, task: Task) -> str:
        """Hash of the code and of all that the task asks for."""
        paths = [path for name in self.code for path in _sources(name)]
        digest = hashlib.sha256(repr(task).encode())
        for path in sorted(paths):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:12]


def _sources(name: str) -> list[Path]:
    return [HERE / name] if name.endswith(".py") else sorted((SOURCE / name).rglob("*.py"))


@dataclass(frozen=True)
class Store:
    """A folder of results; None keeps nothing."""

    folder: Path | None

    def path(self, task: Task, fingerprint: str) -> Path | None:
        """File of a task under the present code."""
        if self.folder is None:
            return None
        return self.folder / f"{task.unit}-{task.preset}-seed{task.seed}-{fingerprint}.json"

    def load(self, task: Task, fingerprint: str) -> Figures | None:
        """Return what was measured before, if anything."""
        path = self.path(task, fingerprint)
        return json.loads(path.read_text())["figures"] if path is not None and path.exists() else None

    def save(self, task: Task, fingerprint: str, figures: Figures) -> None:
        """Write a result as a whole or not at all."""
        path = self.path(task, fingerprint)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps({"task": vars(task), "figures": figures}, indent=1))
        part.replace(path)


def run(tasks: Iterable[Task], units: dict[str, Unit], store: Store, jobs: int) -> Iterator[tuple[Task, Figures]]:
    """Yield every task with its figures: stored ones first, then the rest as they finish; times are taken alone."""
    waiting = {}
    for task in dict.fromkeys(tasks):
        fingerprint = units[task.unit].fingerprint(task)
        found = store.load(task, fingerprint)
        if found is None:
            waiting[task] = fingerprint
        else:
            yield task, found
    together = {task: found for task, found in waiting.items() if not units[task.unit].alone}
    alone = {task: found for task, found in waiting.items() if units[task.unit].alone}
    yield from _pool(together, units, store, jobs)
    yield from _pool(alone, units, store, 1)


def _pool(tasks: dict[Task, str], units: dict[str, Unit], store: Store, jobs: int) -> Iterator[tuple[Task, Figures]]:
    if not tasks:
        return
    context = multiprocessing.get_context("spawn")
    # A fresh process for each task: what one leaves in memory must not slow the next down.
    with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool:
        futures = {pool.submit(_work, units[task.unit], task, store, begun): task for task, begun in tasks.items()}
        for done, future in enumerate(as_completed(futures), 1):
            task = futures[future]
            figures, words = future.result()
            print(f"[{done}/{len(tasks)}] {task.unit} {task.preset} seed {task.seed}: {words}", flush=True)
            if figures is not None:
                yield task, figures


def _work(unit: Unit, task: Task, store: Store, begun: str) -> tuple[Figures | None, str]:
    torch.set_num_threads(1)
    fingerprint, start = unit.fingerprint(task), time.perf_counter()
    try:
        figures = unit.measure(task)
    except Exception:  # one world that fails must not take the others with it; the table counts it as missing
        return None, f"FAILED\n{traceback.format_exc()}"
    words = f"{time.perf_counter() - start:.0f} s"
    if unit.fingerprint(task) != fingerprint:
        return figures, f"{words}; the code changed meanwhile, so that the result is shown but not stored"
    store.save(task, fingerprint, figures)
    return figures, words + "; the code is not what it was when this run began" * (fingerprint != begun)
