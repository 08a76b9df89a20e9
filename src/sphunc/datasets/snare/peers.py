"""A study of peers as the four tables: everyone with those whom they name, wave after wave."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from sphunc.datasets.tables import OUTCOME_SCHEMA, DatasetTables, distinct_links, large_groups
from sphunc.errors import ArgumentError
from sphunc.io import SienaNetwork, SienaStudy

# The answers that the questionnaires offered, from the code books of s50 and Glasgow.
CLASS_NAMES: Mapping[str, tuple[str, ...]] = {
    "tobacco": ("none", "occasional", "regular"),
    "alcohol": ("none", "once or twice a year", "once a month", "once a week", "more than once a week"),
    "cannabis": ("none", "tried once", "occasional", "regular"),
}
QUESTIONS = {
    "smoke": "tobacco",
    "s50-smoke": "tobacco",
    "s50s": "tobacco",
    "s50-alcohol": "alcohol",
    "s50a": "alcohol",
}
"""Names of files that ask a question of the code books."""
PREFERRED = ("tobacco", "smoke", "s50-smoke", "s50s", "alcohol", "s50-alcohol")


def study_tables(
    study: SienaStudy, *, outcome: str | None, network: str | None, smallest: int, release: str
) -> DatasetTables:
    """Return the tables of a study.

    Groups are an ego with its nominees; influence runs from the one who is named to the one who names, because it is
    the friends one names whose behaviour one takes over. Both are nominations, nothing more.

    Args:
        study: actors, networks and values.
        outcome: name of the value that is the outcome; None takes the preferred one.
        network: name of the network; None takes the only one.
        smallest: fewest members of a group, the ego included.
        release: name of the release.
    """
    outcome = _outcome_name(study, outcome)
    ties = study.networks[_network_name(study, network)]
    # Who could name someone, or whose outcome is known, took part. Other answers may be filled in.
    present = ties.answered
    if outcome is not None:
        present = present | ~np.isnan(study.values[outcome].T)
    outcomes, classes = _outcomes(study, outcome)
    nominations = [(study.ids[named], study.ids[ego]) for _, ego, named in np.argwhere(ties.tie == 1)]
    return DatasetTables(
        features=_features(study, ties, present, outcome),
        groups=large_groups(_ego_groups(study, ties), smallest),
        outcomes=outcomes,
        influence=distinct_links(nominations, study.ids),
        influence_kind="observed nomination",
        class_names=classes,
        release=release,
        counts=_counts(study, ties, present),
        times=study.waves,
        agents=study.ids,
    )


def _outcome_name(study: SienaStudy, outcome: str | None) -> str | None:
    if outcome is None:
        preferred = [name for name in PREFERRED if name in study.values]
        return next(iter([*preferred, *study.values]), None)
    for name in sorted(study.values):
        if outcome in (name, QUESTIONS.get(name), name.rpartition("-")[2]):
            return name
    known = ", ".join(sorted(study.values)) or "none"
    raise ArgumentError(f"outcome={outcome!r} is not in the study; values per wave: {known}")


def _network_name(study: SienaStudy, network: str | None) -> str:
    names = sorted(study.networks)
    if network is None and len(names) == 1:
        return names[0]
    if network not in names:
        raise ArgumentError(f"network={network!r}: choose one of {', '.join(names)}")
    return network


def _features(study: SienaStudy, ties: SienaNetwork, present: np.ndarray, outcome: str | None) -> pl.DataFrame:
    known = np.nan_to_num(ties.tie)
    mutual = known * known.transpose(0, 2, 1)
    columns = {name: table.T for name, table in study.values.items() if name != outcome}
    for name, values in study.constants.items():
        columns[name] = np.tile(values, (len(study.waves), 1))
    columns["ties sent"] = np.where(ties.answered, known.sum(2), np.nan)
    columns["ties received"] = known.sum(1)
    columns["ties mutual"] = np.where(ties.answered, mutual.sum(2), np.nan)
    wave, actor = np.nonzero(present)
    frame: dict[str, object] = {"time": np.array(study.waves)[wave], "agent": np.array(study.ids)[actor]}
    for name, values in columns.items():
        frame[name] = values[present].astype(float)
    return pl.DataFrame(frame).with_columns(pl.col(pl.Float64).fill_nan(None))


def _outcomes(study: SienaStudy, outcome: str | None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the outcomes and the class names: the answers of the code book, or the codes as text."""
    if outcome is None:
        return pl.DataFrame(schema=OUTCOME_SCHEMA), ()
    values = study.values[outcome].T
    known = ~np.isnan(values)
    codes = np.unique(values[known]).tolist()
    answers = CLASS_NAMES.get(QUESTIONS.get(outcome, outcome), ())
    names = {float(code): answer for code, answer in enumerate(answers, start=1)}
    if not answers or not set(codes) <= set(names):
        names = {code: f"{code:g}" for code in codes}
    rows = [(study.waves[w], study.ids[a], names[float(values[w, a])]) for w, a in np.argwhere(known)]
    return pl.DataFrame(rows, schema=OUTCOME_SCHEMA, orient="row"), tuple(names.values())


def _ego_groups(study: SienaStudy, ties: SienaNetwork) -> pl.DataFrame:
    named = ties.tie == 1
    itself = np.eye(len(study.ids), dtype=bool) & named.any(2)[:, :, None]
    wave, ego, member = np.nonzero(named | itself)
    ids = np.array(study.ids)
    return pl.DataFrame({"time": np.array(study.waves)[wave], "group": ids[ego], "agent": ids[member]})


def _counts(study: SienaStudy, ties: SienaNetwork, present: np.ndarray) -> dict[str, int]:
    counts = {"agents": len(study.ids), "waves": len(study.waves)}
    for w, wave in enumerate(study.waves):
        counts[f"tie cells wave {wave}"] = ties.ties[w] + ties.self_ties[w]
        counts[f"ties wave {wave}"] = ties.ties[w]
        counts[f"present wave {wave}"] = int(present[w].sum())
        counts[f"missing cells wave {wave}"] = int(np.isnan(ties.tie[w]).sum())
        counts[f"structural cells wave {wave}"] = int(ties.fixed[w].sum())
    for name, values in study.values.items():
        question = QUESTIONS.get(name, name)
        for code, answer in enumerate(CLASS_NAMES.get(question, ()), start=1):
            for w, wave in enumerate(study.waves):
                counts[f"{question} {answer} wave {wave}"] = int((values[:, w] == code).sum())
    return counts
