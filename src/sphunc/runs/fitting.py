"""Fit into a folder: begun once, resumed after a stop, finished once."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from sphunc.errors import ArgumentError
from sphunc.estimator import SphUnc
from sphunc.hypergraph import TemporalHypergraph, summarise, suspicions
from sphunc.model import fingerprint_of
from sphunc.runs.lock import locked
from sphunc.runs.run import (
    CONFIG,
    MODEL,
    OWN_ENTRIES,
    STATUS,
    Run,
    RunSettings,
    read_data,
    time_of,
    write_config,
    write_data,
    write_json,
)
from sphunc.runs.spreadsheets import write_csv

PACKAGES = ("sphunc", "torch", "numpy", "scipy", "polars", "safetensors", "pydantic")
Callback = Callable[[Any], None]


def fit_run(
    folder: str | os.PathLike[str],
    data: TemporalHypergraph | None,
    settings: RunSettings | None = None,
    *,
    layout: dict[str, Any] | None = None,
    source: str = "",
    notes: Sequence[str] = (),
    callbacks: Sequence[Callback] = (),
    overwrite: bool = False,
) -> Run:
    """Fit ``data`` and keep all of it in a folder; the same call goes on with a fit that was stopped.

    Args:
        folder: of the run; made if it does not exist.
        data: what to learn from; None goes on with that of the run.
        settings: of the fit; None takes those of the run, or the defaults.
        layout: how the tables are written, to read later ones the same.
        source: where the tables were, for the record.
        notes: sentences on how the tables were read, for the record.
        callbacks: called with a record of every stage.
        overwrite: begin anew where the folder holds another fit.
    """
    path = Path(folder)
    _check_folder(path)
    with locked(path):
        run = Run(path)
        if overwrite:
            _clear(path)
        if (path / CONFIG).is_file():
            settings, data = _same_fit(run, settings, data)
            if run.state == "done":
                return Run.open(path)
            run.log("resumed")
        else:
            if data is None:
                raise ArgumentError(f"{path} holds no fit to go on with; give the tables: sphunc fit TABLES")
            settings = settings or RunSettings()
            _begin(run, data, settings, layout or {}, source, notes)
        return _fit(run, data, settings, callbacks)


def _fit(run: Run, data: TemporalHypergraph, settings: RunSettings, callbacks: Sequence[Callback]) -> Run:
    started = time.perf_counter()
    learned = data
    if settings.until is not None:
        learned = data.until(time_of(data, settings.until))
    kept = run.folder / MODEL
    model = settings.model()
    has_stages = any(kept.glob("stage_*.json"))
    _set_state(run, "running")
    try:
        model.fit(
            learned,
            checkpoint=None if has_stages else kept,
            resume=kept if has_stages else None,
            verbose=False,
            callbacks=[lambda record: run.log(f"{record.share:4.0%} {record.stage}"), *callbacks],
        )
        _write_results(run, model, learned, settings, time.perf_counter() - started)
    except KeyboardInterrupt:
        run.log("stopped")
        _set_state(run, "stopped")
        raise
    except Exception as error:
        run.log(f"failed: {error}")
        _set_state(run, "failed")
        raise
    _set_state(run, "done")
    run.log(f"done: {model.verdict_}")
    return Run.open(run.folder)


def _write_results(run: Run, model: SphUnc, data: TemporalHypergraph, settings: RunSettings, seconds: float) -> None:
    folder = run.folder
    forecast = model.predict(data, coverage=settings.coverage)
    write_csv(forecast.to_frame(), folder / "forecast.csv")
    write_csv(model.comparison_, folder / "comparison.csv")
    history = [asdict(record) for record in model.history_]
    write_csv(pl.DataFrame(history), folder / "history.csv")
    metrics = {
        "verdict": model.verdict_,
        "comparison": model.comparison_.to_dicts(),
        "state_axes": model.dim_,
        "links": _write_links(run, model),
        "forecast": {"origin": str(forecast.origin), "target": str(forecast.target), "coverage": forecast.coverage},
        "coverage_rests_on": forecast.caveat,
        "seconds_of_last_session": round(seconds, 2),
        "fingerprint": model.fingerprint_,
    }
    write_json(folder / "metrics.json", metrics)


def _write_links(run: Run, model: SphUnc) -> dict[str, Any]:
    """Write the links, where the fit has any to speak of, and return what they are worth."""
    try:
        graph = model.influence()
    except ArgumentError as error:
        return {"candidates": 0, "verdict": str(error), "confidence": 0.0}
    write_csv(graph.to_frame(), run.folder / "influence.csv")
    return {
        "candidates": graph.links.shape[1],
        "verdict": graph.verdict,
        "confidence": graph.confidence,
        "notes": list(graph.notes),
    }


def _begin(
    run: Run,
    data: TemporalHypergraph,
    settings: RunSettings,
    layout: dict[str, Any],
    source: str,
    notes: Sequence[str],
) -> None:
    if settings.until is not None:
        time_of(data, settings.until)  # refused before anything is written
    write_data(run.folder, data)
    document = {
        "fingerprint": fingerprint_of(data),
        "summary": summarise(data).to_dict(),
        "warnings": suspicions(data),
        "notes": list(notes),
    }
    write_json(run.folder / "data.json", document)
    write_json(run.folder / "versions.json", _versions())
    _set_state(run, "running")
    # Last, as its presence says that all else is there.
    write_config(run.folder, settings, layout, source)
    run.log(f"begun with {data!r}")


def _same_fit(
    run: Run, settings: RunSettings | None, data: TemporalHypergraph | None
) -> tuple[RunSettings, TemporalHypergraph]:
    """Return settings and data of the run; refuse others."""
    remedy = "give another --out, or --overwrite to begin anew"
    kept = run.settings
    if settings is not None and settings != kept:
        old, new = asdict(kept), asdict(settings)
        changed = [f"{name} was {old[name]!r}, now {new[name]!r}" for name in old if old[name] != new[name]]
        raise ArgumentError(f"{run.folder} holds a fit with other settings ({'; '.join(changed)}); {remedy}")
    own = read_data(run.folder)
    if data is not None and fingerprint_of(data) != fingerprint_of(own):
        raise ArgumentError(f"{run.folder} holds a fit of other data ({own!r}, now {data!r}); {remedy}")
    return kept, own


def _check_folder(path: Path) -> None:
    """Refuse a file, and a folder with things that are not of a run."""
    if path.exists() and not path.is_dir():
        raise ArgumentError(f"{path} is a file; give a folder for the run")
    if not path.is_dir() or (path / CONFIG).is_file():
        return
    foreign = sorted(entry.name for entry in path.iterdir() if entry.name not in OWN_ENTRIES)
    if foreign:
        raise ArgumentError(f"{path} is no run and holds other things ({', '.join(foreign[:5])}); give a new folder")


def _clear(path: Path) -> None:
    """Remove what a run wrote, and nothing else."""
    for name in OWN_ENTRIES:
        entry = path / name
        if name == "lock.json":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def _set_state(run: Run, state: str) -> None:
    write_json(run.folder / STATUS, {"state": state})


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
