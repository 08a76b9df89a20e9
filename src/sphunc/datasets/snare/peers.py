"""A study of peers as the four tables: everyone with those whom they name, wave after wave."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from sphunc.datasets.reading import Reading, distinct_links, large_groups
from sphunc.errors import ArgumentError
from sphunc.io import SienaNetwork, SienaStudy

# The answers that the questionnaires offered, from the code books of s50 and Glasgow.
CLASS_NAMES: Mapping[str, tuple[str, ...]] = {
    "tobacco": ("none", "occasional", "regular"),
    "alcohol": ("none", "once or twice a year", "once a month", "once a week", "more than once a week"),
    "cannabis": ("none", "tried once", "occasional", "regular"),
}
_SAME_QUESTION = {
    "smoke": "tobacco",
    "s50-smoke": "tobacco",
    "s50s": "tobacco",
    "s50-alcohol": "alcohol",
    "s50a": "alcohol",
}
_PREFERRED = ("tobacco", "smoke", "s50-smoke", "s50s", "alcohol", "s50-alcohol")


def tables(study: SienaStudy, *, outcome: str | None, network: str | None, smallest: int, release: str) -> Reading:
    """Return the tables of a study.

    Groups are an ego with its nominees; influence runs from the one who is named to the one who names, because it is
    the friends one names whose behaviour one takes over. Both are nominations, nothing more.
    """
    chosen, ties = _outcome(study, outcome), study.networks[_network(study, network)]
    present = _present(study, ties, chosen)
    outcomes, classes = _outcomes(study, chosen, present)
    return Reading(
        features=_features(study, ties, present, chosen),
        groups=large_groups(_ego_groups(study, ties), smallest),
        outcomes=outcomes,
        influence=distinct_links(_nominations(study, ties), pl.Series(list(study.ids), dtype=pl.String)),
        influence_kind="observed nomination",
        class_names=classes,
        release=release,
        counts=_counts(study, ties, present),
        times=study.waves,
        agents=study.ids,
    )


def _outcome(study: SienaStudy, outcome: str | None) -> str | None:
    if outcome is None:
        return next((name for name in _PREFERRED if name in study.values), next(iter(study.values), None))
    known = sorted(study.values)
    match = [name for name in known if outcome in (name, _SAME_QUESTION.get(name), name.rpartition("-")[2])]
    if not match:
        raise ArgumentError(f"outcome={outcome!r} is not in the study; values per wave: {', '.join(known) or 'none'}")
    return match[0]


def _network(study: SienaStudy, network: str | None) -> str:
    if network is None and len(study.networks) == 1:
        return next(iter(study.networks))
    if network not in study.networks:
        raise ArgumentError(f"network={network!r}: choose one of {', '.join(sorted(study.networks))}")
    return str(network)


def _present(study: SienaStudy, ties: SienaNetwork, outcome: str | None) -> np.ndarray:
    """True where an actor took part: it could name someone, or its outcome is known. Other answers may be filled in."""
    present = ties.answered
    return present if outcome is None else present | ~np.isnan(study.values[outcome].T)


def _features(study: SienaStudy, ties: SienaNetwork, present: np.ndarray, outcome: str | None) -> pl.DataFrame:
    known = np.nan_to_num(ties.tie)
    mutual = known * known.transpose(0, 2, 1)
    columns = {name: table.T for name, table in study.values.items() if name != outcome}
    columns |= {name: np.tile(values, (len(study.waves), 1)) for name, values in study.constants.items()}
    sent = np.where(ties.answered, known.sum(2), np.nan)
    columns |= {"ties sent": sent, "ties received": known.sum(1)}
    columns |= {"ties mutual": np.where(ties.answered, mutual.sum(2), np.nan)}
    wave, agent = np.nonzero(present)
    return pl.DataFrame(
        {
            "time": [study.waves[w] for w in wave],
            "agent": [study.ids[a] for a in agent],
            **{name: values[present].astype(float) for name, values in columns.items()},
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _outcomes(study: SienaStudy, outcome: str | None, present: np.ndarray) -> tuple[pl.DataFrame, tuple[str, ...]]:
    schema = {"time": pl.Int64, "agent": pl.String, "outcome": pl.String}
    if outcome is None:
        return pl.DataFrame(schema=schema), ()
    values = study.values[outcome].T
    names = _classes(outcome, values[~np.isnan(values)])
    wave, agent = np.nonzero(present & ~np.isnan(values))
    rows = [(study.waves[w], study.ids[a], names[values[w, a]]) for w, a in zip(wave, agent, strict=True)]
    return pl.DataFrame(rows, schema=schema, orient="row"), tuple(names.values())


def _classes(outcome: str, found: np.ndarray) -> dict[float, str]:
    codes = sorted(set(found.tolist()))
    names = CLASS_NAMES.get(_SAME_QUESTION.get(outcome, outcome), ())
    if names and set(codes) <= set(range(1, len(names) + 1)):
        return {float(code + 1): name for code, name in enumerate(names)}
    return {code: f"{code:g}" for code in codes}


def _ego_groups(study: SienaStudy, ties: SienaNetwork) -> pl.DataFrame:
    rows = []
    for w, e in np.argwhere((ties.tie == 1).any(2)):
        members = [e, *np.flatnonzero(ties.tie[w, e] == 1)]
        rows += [(study.waves[w], study.ids[e], study.ids[member]) for member in members]
    schema = {"time": pl.Int64, "group": pl.String, "agent": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _nominations(study: SienaStudy, ties: SienaNetwork) -> list[tuple[str, str]]:
    return [(study.ids[named], study.ids[ego]) for _, ego, named in np.argwhere(ties.tie == 1)]


def _counts(study: SienaStudy, ties: SienaNetwork, present: np.ndarray) -> dict[str, int]:
    counts = {"agents": len(study.ids), "waves": len(study.waves)}
    for w, wave in enumerate(study.waves):
        counts[f"tie cells wave {wave}"] = ties.ties[w] + ties.self_ties[w]
        counts[f"ties wave {wave}"] = ties.ties[w]
        counts[f"present wave {wave}"] = int(present[w].sum())
        counts[f"missing cells wave {wave}"] = int(np.isnan(ties.tie[w]).sum())
        counts[f"structural cells wave {wave}"] = int(ties.fixed[w].sum())
    for name, values in study.values.items():
        question = _SAME_QUESTION.get(name, name)
        for code, answer in enumerate(CLASS_NAMES.get(question, ()), start=1):
            for w, wave in enumerate(study.waves):
                counts[f"{question} {answer} wave {wave}"] = int((values[:, w] == code).sum())
    return counts
