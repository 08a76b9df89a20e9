"""Rows of `benchmarks/core.py` on cost and on fits that were killed; also the script of their child processes."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from core_lines import Figures, Line, estimator
from panels import Groups, Panel

import sphunc

RESUME_CASE = "panel 300 x 29"


@dataclass(frozen=True)
class Case:
    """Data to be fitted, with what the fit may cost.

    Attributes:
        agents: N.
        times: T.
        features: F.
        big_group: members of one group that meets at every time; 0 for none.
        seconds: CPU seconds that a fit may take.
        megabytes: peak memory of the process; None without a bound.
        ratio: times that it must be faster than the earlier version; None is not compared.
        quick: fits the regression alone.
        world: preset whose own sizes are taken, instead of a panel.
    """

    agents: int = 0
    times: int = 0
    features: int = 6
    big_group: int = 0
    seconds: float = 60.0
    megabytes: float | None = None
    ratio: float | None = None
    quick: bool = False
    world: str = ""


CASES = {
    "panel 120 x 6": Case(120, 6, seconds=3, ratio=15),
    "panel 120 x 6, quick": Case(120, 6, seconds=1, quick=True),
    "world snare": Case(world="snare", seconds=10),
    "panel 300 x 29": Case(300, 29, big_group=200, seconds=20, ratio=15),
    "panel 5,000 x 10": Case(5_000, 10, seconds=60, megabytes=1000),
    "group of 2,000": Case(2_000, 6, big_group=2_000, seconds=30),
}


def make_case(case: Case) -> Panel:
    """A school-like panel: features that walk, friends in fives, a big group, outcomes with habit and company."""
    rng = np.random.default_rng([case.agents, case.times, case.big_group])
    N = case.agents
    T = case.times
    x = np.empty((T, N, case.features))
    x[0] = rng.standard_normal((N, case.features))
    for t in range(1, T):
        x[t] = 0.8 * x[t - 1] + 0.6 * rng.standard_normal((N, case.features))
    friends: Groups = [np.sort(part) for part in np.array_split(rng.permutation(N), N // 5)]
    groups = [list(friends) for _ in range(T)]
    if case.big_group:
        everyone = np.sort(rng.permutation(N)[: case.big_group])
        groups = [[*of_time, everyone] for of_time in groups]
    own = rng.standard_normal((N, 3))
    y = np.empty((T, N))
    for t in range(T):
        score = own.copy()
        score[:, 0] += x[t, :, 0]
        score[:, 1] += 0.5 * x[t, :, 1]
        if t:
            score[np.arange(N), y[t - 1].astype(int)] += 1.0
        y[t] = (score + rng.gumbel(size=(N, 3))).argmax(1)
    x[rng.random(x.shape) < 0.05] = np.nan
    y[rng.random(y.shape) < 0.03] = np.nan
    agents = tuple(f"a{i + 1:05d}" for i in range(N))
    times = tuple(range(1, T + 1))
    return Panel("school", times, agents, x, groups, y, ("never", "sometimes", "often"), (T - 2,))


def load_case(name: str, folder: Path) -> Any:
    """Data of a case: simulated, or read from the tables in ``folder``, which are written if they are not there."""
    case = CASES[name]
    if case.world:
        return sphunc.simulate(case.world, seed=0).data
    if not (folder / "outcomes.csv").exists():
        make_case(case).write(folder)
    return sphunc.read_tables(folder, outcome_kind="class")


def timed_fit(data: Any, seed: int = 0, **settings: Any) -> tuple[Any, float]:
    """Fit quietly; the model and the CPU seconds it took.

    Args:
        data: to be learned from.
        seed: of the model.
        **settings: of the model.
    """
    # Imports count in the time of a process, not of a fit.
    model = estimator()(seed=seed, **settings)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data, verbose=False)
    return model, time.process_time() - start


# Child processes ----------------------------------------------------------------------------------------------------


def child(arguments: Sequence[str]) -> None:
    """Measure one fit, or fit with a checkpoint, in this process."""
    torch.set_num_threads(1)
    what = arguments[0]
    name = arguments[1]
    data = load_case(name, Path(arguments[2]))
    if what == "cost":
        settings = {"quick": True} if CASES[name].quick else {}
        _, seconds = timed_fit(data, **settings)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "megabytes": peak}))
        return
    checkpoint = arguments[3]
    print("begun", flush=True)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator()(seed=0).fit(data, verbose=False, **{what: checkpoint})
        seconds = time.perf_counter() - start
        forecast = model.predict(data)
    named = ("probabilities", "epistemic", "aleatoric", "total")
    values = {name: getattr(forecast, name).numpy().tobytes().hex() for name in named}
    print(json.dumps({"values": values, "seconds": seconds}))


def _command(*arguments: str) -> list[str]:
    return [sys.executable, str(Path(__file__).resolve()), *arguments]


def _environment(source: Path | None = None) -> dict[str, str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    return environment


def run_child(*arguments: str, source: Path | None = None) -> Figures:
    """Run this file in a process of its own; the figures it prints last.

    Args:
        *arguments: of :func:`child`.
        source: ``src`` folder of an earlier version to be imported instead of this one.
    """
    done = subprocess.run(_command(*arguments), env=_environment(source), capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": last}
    return json.loads(done.stdout.strip().splitlines()[-1])


def cost_rows(names: Sequence[str], against: Path | None = None, repeats: int = 2) -> Iterator[Line]:
    """CPU seconds and peak memory of fits; the least of the repeats, since other processes only add to them.

    Args:
        names: of :data:`CASES`.
        against: ``src`` folder of an earlier version; None compares with none.
        repeats: of every measurement; the two versions take turns.
    """
    for name in names:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            mine: list[Figures] = []
            earlier: list[Figures] = []
            for _ in range(repeats):
                mine.append(run_child("cost", name, folder))
                if against is not None and case.ratio is not None:
                    earlier.append(run_child("cost", name, folder, source=against))
        if any("error" in found for found in mine):
            yield Line("cost", name, "CPU seconds of fit", np.nan, None, case.seconds, mine[0])
            continue
        seconds = [found["seconds"] for found in mine]
        peak = min(found["megabytes"] for found in mine)
        yield Line("cost", name, "CPU seconds of fit", min(seconds), None, case.seconds, {"runs": seconds})
        yield Line("cost", name, "peak memory of the process, MB", peak, None, case.megabytes)
        taken = [found["seconds"] for found in earlier if "error" not in found]
        if taken:
            notes = {"earlier": taken, "now": seconds}
            yield Line("cost", name, "ratio to the earlier version", min(taken) / min(seconds), case.ratio, None, notes)


def resume_rows(kills: int) -> Iterator[Line]:
    """Kill a fit at a random moment, resume it, and compare its forecast bit by bit with that of a whole fit."""
    rng = random.Random(0)
    same = 0
    outcomes = []
    with tempfile.TemporaryDirectory() as place:
        tables = str(Path(place) / "tables")
        whole = run_child("checkpoint", RESUME_CASE, tables, str(Path(place) / "whole"))
        seconds = whole["seconds"]
        for k in range(kills):
            folder = str(Path(place) / f"kept{k}")
            moment = rng.uniform(0.0, seconds)
            stopped = _killed_after(moment, "checkpoint", RESUME_CASE, tables, folder)
            resumed = run_child("resume", RESUME_CASE, tables, folder)
            is_same = resumed.get("values") == whole["values"]
            same += is_same
            told = resumed.get("error", "identical" if is_same else "differs")
            outcomes.append(f"{moment:.1f} s of {seconds:.1f}{'' if stopped else ' (was done)'}: {told}")
    notes = {"kills": outcomes}
    yield Line("resume", RESUME_CASE, "share of killed fits with an identical result", same / kills, 1.0, None, notes)


def _killed_after(moment: float, *arguments: str) -> bool:
    """Run a child and kill it so many seconds after its fit began; False if it was done before."""
    with subprocess.Popen(
        _command(*arguments), env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True
    return False


if __name__ == "__main__":
    child(sys.argv[1:])
