"""The AMIGOS data set: its card, its options, and the way from recordings to tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sphunc._checks import whole_number
from sphunc.datasets.amigos.recordings import LONG_VIDEOS, Recording, read_recordings, recording_files
from sphunc.datasets.amigos.sheet import EXPERIMENT_DATA, KNOWN_GROUPS, viewing_groups
from sphunc.datasets.amigos.signals import BASELINE_SECONDS, RATE, feature_names, video_features
from sphunc.datasets.card import Dataset, DatasetCard, refuse, refuse_faults
from sphunc.datasets.tables import OUTCOME_SCHEMA, DatasetTables, choose, large_groups
from sphunc.errors import ArgumentError

SEGMENT_SECONDS = 20
CLASSES = (
    "low valence, low arousal",
    "low valence, high arousal",
    "high valence, low arousal",
    "high valence, high arousal",
)
SELF_THRESHOLD = 5.0  # ratings from 1 to 9
OUTSIDE_THRESHOLD = 0.0  # ratings from -1 to 1
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
            whole_number("leave_out", person, least=1)
        if (self.outcome, self.times) == ("self", "segments"):
            raise ArgumentError("outcome='self' rates whole videos; with times='segments' pass outcome='external'")


def read(root: Path, options: AmigosOptions) -> DatasetTables:
    """Read the recordings of the long videos and the viewing groups.

    Args:
        root: folder of the data set.
        options: how recordings become tables.
    """
    files = recording_files(root)
    if not files:
        refuse(CARD, root, "holds no Data_Preprocessed_P*.mat")
    recordings = _recordings(files, options.leave_out)
    features = []
    outcomes = []
    for recording in recordings:
        _add_rows(recording, options, features, outcomes)
    if not features:
        refuse(CARD, root, f"no file holds a recording of a long video ({', '.join(LONG_VIDEOS)})")
    schema = {"time": pl.Int64, "agent": pl.String, **dict.fromkeys(feature_names(), pl.Float64)}
    table = pl.DataFrame(features, schema=schema, orient="row").fill_nan(None)
    present = {recording.person for recording in recordings}
    people, note = _viewing_groups(root, present)
    return DatasetTables(
        features=table,
        groups=large_groups(_memberships(table, people, options.same_setting), 2),
        outcomes=pl.DataFrame(outcomes, schema=OUTCOME_SCHEMA, orient="row"),
        class_names=CLASSES,
        release="preprocessed",
        counts=_counts(files, recordings),
        agents=tuple(_agent(person) for person in files if person not in options.leave_out),
        notes=(note,),
    )


def _recordings(files: dict[int, Path], leave_out: Sequence[int]) -> list[Recording]:
    recordings = []
    faults = []
    for person, path in files.items():
        if person in leave_out:
            continue
        try:
            videos = read_recordings(path, person)
        except ValueError as error:
            faults.append(f"{path}: {error}; unpack it anew, or pass leave_out=({person},)")
            continue
        recordings += [recording for recording in videos if recording.video in LONG_VIDEOS]
    refuse_faults("AMIGOS", faults)
    return recordings


def _add_rows(
    recording: Recording, options: AmigosOptions, features: list[list[object]], outcomes: list[tuple[int, str, str]]
) -> None:
    """Add a row per time to ``features`` where there is a signal, and to ``outcomes`` where there is a rating."""
    agent = _agent(recording.person)
    video = LONG_VIDEOS.index(recording.video) + 1
    values = np.zeros((0, 0))
    if recording.samples is not None and len(recording.samples) > (BASELINE_SECONDS + 1) * RATE:
        values = video_features(recording.samples, SEGMENT_SECONDS, baseline=options.baseline)
    if options.times == "videos":
        if len(values):
            features.append([video, agent, *_known_mean(values)])
        rated = {video: own_quadrant(recording.own)}
        if options.outcome == "external":
            rated = {video: outside_quadrant(recording.outside)}
    else:
        first = 1000 * video
        for segment, row in enumerate(values, start=1):
            features.append([first + segment, agent, *row])
        rated = {}
        if recording.outside is not None:
            rated = {first + int(row[0]): outside_quadrant(row[None]) for row in recording.outside}
    outcomes += [(time, agent, quadrant) for time, quadrant in rated.items() if quadrant is not None]


def _known_mean(values: np.ndarray) -> np.ndarray:
    """Mean over the segments where a feature is known; NaN where it is known in none."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(0)
    return np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan)


def _agent(person: int) -> str:
    return f"P{person:02d}"


def quadrant(valence: float, arousal: float, threshold: float) -> str | None:
    """Return the class of a rating; None where one of the two is not known.

    Args:
        valence: how pleasant.
        arousal: how exciting.
        threshold: what is above it is high.
    """
    if np.isnan(valence) or np.isnan(arousal):
        return None
    return CLASSES[2 * (valence > threshold) + (arousal > threshold)]


def own_quadrant(own: np.ndarray | None) -> str | None:
    """Return the class of a self-assessment, whose first two numbers are arousal and valence, 1 to 9."""
    if own is None or len(own) < 2:
        return None
    return quadrant(own[1], own[0], SELF_THRESHOLD)


def outside_quadrant(outside: np.ndarray | None) -> str | None:
    """Return the class of the mean outside rating; columns are segment, valence, arousal, from -1 to 1."""
    if outside is None or np.isnan(outside[:, 1:3]).all(0).any():
        return None
    valence, arousal = np.nanmean(outside[:, 1:3], axis=0)
    return quadrant(valence, arousal, OUTSIDE_THRESHOLD)


def _viewing_groups(root: Path, present: set[int]) -> tuple[list[list[str]], str]:
    """Return the agents of each viewing group, and where the groups come from."""
    people: Sequence[tuple[int, ...]] = KNOWN_GROUPS
    note = f"viewing groups from the list of a public loader, because {EXPERIMENT_DATA} is not there; not confirmed"
    for sheet in sorted(root.rglob(EXPERIMENT_DATA))[:1]:
        people = viewing_groups(sheet)
        note = f"viewing groups from {EXPERIMENT_DATA}"
    groups = [[_agent(person) for person in group if person in present] for group in people]
    return [group for group in groups if len(group) > 1], note


def _memberships(features: pl.DataFrame, people: list[list[str]], same_setting: bool) -> pl.DataFrame:
    """Return a group per time for those of a viewing group who were recorded then."""
    setting = {person: f"viewing group {number}" for number, group in enumerate(people, start=1) for person in group}
    group = pl.col("agent").replace_strict(setting, default=None, return_dtype=pl.String).alias("group")
    together = features.select("time", group, "agent")
    shared = together.drop_nulls()
    if same_setting:
        alone = pl.col("group").is_null()
        kind = pl.when(alone).then(pl.lit("alone")).otherwise(pl.lit("in a group")).alias("group")
        shared = pl.concat([shared, together.with_columns(kind)])
    return shared


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
