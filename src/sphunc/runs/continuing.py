"""Later tables on top of the data of a run."""

from __future__ import annotations

import polars as pl

from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import from_frames, to_frames


def continue_data(past: TemporalHypergraph, later: TemporalHypergraph) -> tuple[TemporalHypergraph, str]:
    """Put later data behind the past, and say in a sentence what was done.

    Data that begin after the first time of the past, and share agents with it, continue it: its times before theirs
    come first. Anything else stands by itself.

    Args:
        past: what the model learned from.
        later: read with ``like=past``.
    """
    if not set(past.node_ids) & set(later.node_ids):
        return later, "none of its agents is known to the model; their past is what these tables hold"
    try:
        earlier = [time for time in past.times if time < later.times[0]]
    except TypeError:
        kinds = f"{past.times[0]!r} and {later.times[0]!r}"
        raise DataError(f"times of the run and of the new tables are of different kinds ({kinds})") from None
    if not earlier:
        return later, ""
    head = past.until(earlier[-1])
    merged = _merge(head, later)
    return merged, f"what came before {later.times[0]} is taken from the run ({len(earlier)} times)"


def _merge(head: TemporalHypergraph, later: TemporalHypergraph) -> TemporalHypergraph:
    first = to_frames(head)
    second = to_frames(later)
    frames: dict[str, pl.DataFrame | None] = {}
    for kind in ("features", "groups", "outcomes"):
        parts = [frames_of[kind] for frames_of in (first, second) if kind in frames_of and frames_of[kind].height]
        frames[kind] = pl.concat(parts, how="diagonal_relaxed") if parts else None
    if frames["features"] is None:
        frames["features"] = first["features"]
    known = set(head.node_ids)
    return from_frames(
        features=frames["features"],
        groups=frames["groups"],
        outcomes=frames["outcomes"],
        agents=[*head.node_ids, *(agent for agent in later.node_ids if agent not in known)],  # pyright: ignore[reportArgumentType]
        times=[*head.times, *later.times],
        classes=list(dict.fromkeys([*head.class_names, *later.class_names])),
        outcome_kind=_outcome_kind(head, later),
        allow_empty_groups=True,
        allow_rare_classes=True,
    )


def _outcome_kind(head: TemporalHypergraph, later: TemporalHypergraph) -> str:
    if head.class_names or later.class_names:
        return "class"
    if head.y is None and later.y is None:
        return "auto"
    return "number"
