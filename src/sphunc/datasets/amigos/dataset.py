"""The AMIGOS data set: its card, its options, and the way from recordings to tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from sphunc.datasets.amigos.recordings import LONG_VIDEOS, Recording, read_recordings, recording_files
from sphunc.datasets.amigos.sheet import EXPERIMENT_DATA, KNOWN_GROUPS, viewing_groups
from sphunc.datasets.amigos.signals import BASELINE_SECONDS, RATE, feature_names, video_features
from sphunc.datasets.card import Dataset, DatasetCard, refuse, refuse_faults
from sphunc.datasets.reading import Reading, at_least, choose, large_groups
from sphunc.errors import ArgumentError

SEGMENT_SECONDS = 20
CLASSES = (
    "low valence, low arousal",
    "low valence, high arousal",
    "high valence, low arousal",
    "high valence, high arousal",
)
SELF_THRESHOLD, OUTSIDE_THRESHOLD = 5.0, 0.0
_NO_LONG_VIDEOS = 3  # P08, P24, P28

CARD = DatasetCard(
    name="amigos",
    title="AMIGOS: EEG, ECG and skin conductance of 40 people who watch films alone and in groups",
    source=("http://www.eecs.qmul.ac.uk/mmv/datasets/amigos/",),
    licence="end user licence agreement of Queen Mary University of London; must not be passed on",
    citation="Miranda-Correa, Abadi, Sebe, Patras 2021, IEEE Transactions on Affective Computing 12(2), 479-493",
    obtain="sign the EULA on the AMIGOS page, then unpack Data_Preprocessed and Metadata_xlsx into one folder",
    layout=(
        "Data_Preprocessed/Data_Preprocessed_P01/Data_Preprocessed_P01.mat ... P40 (folders or flat)",
        "Metadata_xlsx/Experiment_Data.xlsx, sheet Long_Videos_Order (who watched together)",
    ),
    redistributable=False,
    expected={"preprocessed": {"people": 40, "people with long videos": 40 - _NO_LONG_VIDEOS, "long videos": 4}},
)


@dataclass(frozen=True, kw_only=True)
class AmigosOptions:
    """How recordings become agents, times, groups and outcomes.

    Attributes:
        outcome: "self" = the person's own rating of the film, high above 5; "external" = outside observers, high above
            0. The class is the quadrant of valence and arousal.
        times: "videos" = the four long videos N1, P1, B1, U1 are times 1 to 4, features are means over their segments;
            "segments" = every 20 s piece is a time (needs outcome="external").
        baseline: subtract the log band powers of the 5 s before the film.
        same_setting: add two groups per time, all who watch alone and all who watch in a group.
        leave_out: people with unusable signals, e.g. (9, 12, 21, 22, 23, 24, 33).
    """

    outcome: str = "self"
    times: str = "videos"
    baseline: bool = True
    same_setting: bool = False
    leave_out: Sequence[int] = ()

    def __post_init__(self) -> None:
        choose("outcome", self.outcome, ("self", "external"))
        choose("times", self.times, ("videos", "segments"))
        choose("baseline", self.baseline, (True, False))
        choose("same_setting", self.same_setting, (True, False))
        for person in self.leave_out:
            at_least("leave_out", person, 1)
        if (self.outcome, self.times) == ("self", "segments"):
            raise ArgumentError("outcome='self' rates whole videos; with times='segments' pass outcome='external'")


def read(root: Path, options: AmigosOptions) -> Reading:
    """Read the recordings of the long videos and the viewing groups."""
    files = recording_files(root) if root.is_dir() else {}
    if not files:
        refuse(CARD, root, "holds no Data_Preprocessed_P*.mat")
    recordings = _recordings(files, options.leave_out)
    rows = [row for recording in recordings for row in _rows(recording, options)]
    if not any(row["values"] is not None for row in rows):
        refuse(CARD, root, f"no file holds a recording of a long video ({', '.join(LONG_VIDEOS)})")
    people, note = _groups(root, {recording.person for recording in recordings})
    agents = tuple(_name(person) for person in files if person not in options.leave_out)
    return replace(_tables(rows, people, options), counts=_counts(files, recordings), notes=(note,), agents=agents)


def _recordings(files: dict[int, Path], leave_out: Sequence[int]) -> list[Recording]:
    recordings, faults = [], []
    for person, path in files.items():
        try:
            found = read_recordings(path, person) if person not in leave_out else []
            recordings += [recording for recording in found if recording.video in LONG_VIDEOS]
        except ValueError as error:
            faults.append(f"{path}: {error}; unpack it anew, or pass leave_out=({person},)")
    refuse_faults("AMIGOS", faults)
    return recordings


def _rows(recording: Recording, options: AmigosOptions) -> list[dict[str, object]]:
    """Return one row per time: its features (None where there is no signal) and its class (None where not rated)."""
    video = LONG_VIDEOS.index(recording.video)
    values = _segments(recording.samples, options.baseline)
    if options.times == "videos":
        outcome = own_quadrant(recording.own) if options.outcome == "self" else outside_quadrant(recording.outside)
        mean = None if values is None else _mean(values)
        return [{"time": video + 1, "agent": _name(recording.person), "values": mean, "outcome": outcome}]
    rated = {int(row[0]): row[None] for row in recording.outside} if recording.outside is not None else {}
    count = max(0 if values is None else len(values), max(rated, default=0))
    return [
        {
            "time": 1000 * (video + 1) + segment,
            "agent": _name(recording.person),
            "values": values[segment - 1] if values is not None and segment <= len(values) else None,
            "outcome": outside_quadrant(rated.get(segment)),
        }
        for segment in range(1, count + 1)
    ]


def _segments(samples: np.ndarray | None, baseline: bool) -> np.ndarray | None:
    if samples is None or len(samples) <= (BASELINE_SECONDS + 1) * RATE:
        return None
    return video_features(samples, SEGMENT_SECONDS, baseline=baseline)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over the segments where a feature is known; NaN where it is known in none."""
    known = ~np.isnan(values)
    return np.where(known.any(0), np.where(known, values, 0).sum(0) / np.maximum(known.sum(0), 1), np.nan)


def _name(person: int) -> str:
    return f"P{person:02d}"


def quadrant(valence: float, arousal: float, threshold: float) -> str | None:
    """Return the class of a rating; None where one of the two is not known."""
    if np.isnan(valence) or np.isnan(arousal):
        return None
    return CLASSES[2 * (valence > threshold) + (arousal > threshold)]


def own_quadrant(own: np.ndarray | None) -> str | None:
    """Return the class of a self-assessment, whose first two numbers are arousal and valence, 1 to 9."""
    return None if own is None or len(own) < 2 else quadrant(own[1], own[0], SELF_THRESHOLD)


def outside_quadrant(outside: np.ndarray | None) -> str | None:
    """Return the class of the mean outside rating; columns are segment, valence, arousal, from -1 to 1."""
    if outside is None or np.isnan(outside[:, 1:3]).all(0).any():
        return None
    valence, arousal = np.nanmean(outside[:, 1:3], axis=0)
    return quadrant(valence, arousal, OUTSIDE_THRESHOLD)


def _groups(root: Path, present: set[int]) -> tuple[list[tuple[str, ...]], str]:
    sheet = next(iter(sorted(root.rglob(EXPERIMENT_DATA))), None)
    people = viewing_groups(sheet) if sheet is not None else KNOWN_GROUPS
    note = (
        f"viewing groups from {EXPERIMENT_DATA}"
        if sheet is not None
        else (f"viewing groups from the list of a public loader, because {EXPERIMENT_DATA} is not there; not confirmed")
    )
    shared = [tuple(_name(person) for person in group if person in present) for group in people if len(group) > 1]
    return [group for group in shared if len(group) > 1], note


def _tables(rows: list[dict[str, object]], people: list[tuple[str, ...]], options: AmigosOptions) -> Reading:
    names = feature_names()
    seen = [row for row in rows if row["values"] is not None]
    matrix = np.stack([np.asarray(row["values"]) for row in seen])
    keys = {"time": [row["time"] for row in seen], "agent": [row["agent"] for row in seen]}
    features = pl.DataFrame({**keys, **{name: matrix[:, i] for i, name in enumerate(names)}})
    rated = [row for row in rows if row["outcome"] is not None]
    schema = {"time": pl.Int64, "agent": pl.String, "outcome": pl.String}
    return Reading(
        features=features.with_columns(pl.col(pl.Float64).fill_nan(None)),
        groups=large_groups(_memberships(features, people, options.same_setting), 2),
        outcomes=pl.DataFrame([[row[name] for name in schema] for row in rated], schema=schema, orient="row"),
        class_names=CLASSES,
        release="preprocessed",
    )


def _memberships(features: pl.DataFrame, people: list[tuple[str, ...]], same_setting: bool) -> pl.DataFrame:
    """Return a group per time for those of a viewing group who were recorded then."""
    setting = {person: f"viewing group {number + 1}" for number, group in enumerate(people) for person in group}
    there = features.select("time", "agent")
    group = pl.col("agent").replace_strict(setting, default=None, return_dtype=pl.String).alias("group")
    together = there.with_columns(group)
    shared = together.drop_nulls()
    if same_setting:
        kind = pl.when(pl.col("group").is_null()).then(pl.lit("alone")).otherwise(pl.lit("in a group")).alias("group")
        shared = pl.concat([shared, together.with_columns(kind)])
    return shared.select("time", "group", "agent")


def _counts(files: dict[int, Path], recordings: list[Recording]) -> dict[str, int]:
    recorded = [recording for recording in recordings if recording.samples is not None]
    return {
        "people": len(files),
        "people with long videos": len({recording.person for recording in recorded}),
        "people with own ratings": len({recording.person for recording in recordings if recording.own is not None}),
        "long videos": len({recording.video for recording in recorded}),
        "recordings": len(recorded),
    }


DATASET = Dataset(CARD, AmigosOptions, read)
