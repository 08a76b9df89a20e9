"""Times of the model, each as a ratio within one run where there is something to compare with."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import torch
from model_store import Figures, Task
from model_worlds import fit_model, make_world

import sphunc
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.fitting import TRAIN, Carry, Session, make_stage
from sphunc.legacy.training import Stage, advance

ROUNDS = 5
STRIPPED = {"layers": 0, "scm": False}
LAYER_ROUNDS = 9


def epoch(task: Task) -> Figures:
    """One pass of training in full, and of the same network without attention, links and pull of groups."""
    data = make_world(task).data
    start = time.perf_counter()
    full = _begin(task, data, {})
    begun = time.perf_counter() - start
    bare = _begin(task, without_groups(data), STRIPPED)
    times = [(_seconds(*full), _seconds(*bare)) for _ in range(ROUNDS + 1)][1:]
    return {
        "agents": data.num_nodes,
        "ratio": statistics.median(a / b for a, b in times),
        "ratios": [a / b for a, b in times],
        "full": statistics.median(a for a, _ in times),
        "bare": statistics.median(b for _, b in times),
        "first_structure": begun,
    }


def _begin(task: Task, data: TemporalHypergraph, changes: dict[str, Any]) -> tuple[Session, Stage]:
    settings = {**task.model_settings, **changes}
    model = sphunc.SphUnc(seed=task.seed, **settings)
    session = model._session(data, None, SphUncConfig(**{"dim": model.dim, **settings}))
    return session, make_stage(session, TRAIN, Carry(epochs=1))


def _seconds(session: Session, stage: Stage) -> float:
    start = time.process_time()  # processor time, one thread: a busy machine does not decide
    advance(stage, session.config, session.losses)
    return time.process_time() - start


def without_groups(data: TemporalHypergraph) -> TemporalHypergraph:
    """The same agents, who never meet."""
    none = torch.zeros(2, 0, dtype=torch.long)
    return replace(
        data,
        hyperedge_index=none,
        hyperedge_time=none[0],
        num_hyperedges=0,
        hyperedge_ids=(),
        influence=None,
        influence_kind="",
        incidence_weight=None,
    )


def layer(task: Task) -> Figures:
    """Forward and backward of one layer against PyG's HypergraphConv; benchmarks/attention.py has the whole table."""
    # Here, because PyG takes seconds to import and is installed for development only.
    from attention import REFERENCE, keep_memory, make_case, make_layers, measure

    case = make_case(10_000, 30_000, 128)
    layers = make_layers(case)
    ours = [name for name in layers if name == "AngularLayer" or name.startswith("AngularHypergraphConv")]
    upstream = torch.randn(case.agents, case.dim, generator=torch.Generator().manual_seed(2))
    compared = {name: layers[name] for name in (REFERENCE, *ours)}
    times = {"": measure(compared, upstream, LAYER_ROUNDS, time.process_time)}
    if keep_memory():
        times[", allocator that keeps memory"] = measure(compared, upstream, LAYER_ROUNDS, time.process_time)
    return {
        name + how: {
            "ratio": statistics.median(a / b for a, b in zip(found[name], found[REFERENCE], strict=True)),
            "ms": statistics.median(found[name]),
            "reference_ms": statistics.median(found[REFERENCE]),
        }
        for how, found in times.items()
        for name in ours
    }


def fit(task: Task) -> Figures:
    """Seconds of one fit on two threads."""
    torch.set_num_threads(2)
    data = make_world(task).data
    start = time.process_time()
    model, seconds = fit_model(task, data)
    return {"seconds": seconds, "processor": time.process_time() - start, "passes": len(model.history_)}
