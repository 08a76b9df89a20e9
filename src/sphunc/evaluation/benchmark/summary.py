"""What a benchmark shows: measures of each system with intervals, the best of them, and paired tests, per data set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from sphunc.evaluation.benchmark.cells import ORACLE
from sphunc.evaluation.significance import PairedTest, compare, wilcoxon_limit

TRIVIAL = ("majority", "persistence", "logistic")
"""Systems that look at no group: the best of them is where the way to the oracle begins."""


@dataclass(frozen=True)
class Headline:
    """A measure of the table: its column, what it is called, and which way is better."""

    column: str
    title: str
    larger_is_better: bool


HEADLINES = (
    Headline("accuracy", "Accuracy", True),
    Headline("macro_f1", "Macro-F1", True),
    Headline("macro_auc", "AUC", True),
    Headline("nll", "NLL", False),
    Headline("brier", "Brier", False),
    Headline("ece", "ECE", False),
    Headline("aurc", "AURC", False),
    Headline("p_at_10", "P@10", True),
    Headline("auprc", "AUPRC", True),
    Headline("p_at_10_common", "P@10, common", True),
    Headline("auprc_common", "AUPRC, common", True),
    Headline("oracle_share", "Way to oracle", True),
)


@dataclass(frozen=True)
class Standing:
    """Mean over seeds with its 95 % interval (t); the ends are None with one seed."""

    mean: float
    low: float | None
    high: float | None
    seeds: int

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.high is None else self.high - self.mean


@dataclass(frozen=True)
class Section:
    """One data set under one variant.

    Attributes:
        data, variant: which.
        reference: label of the system that the others are tested against.
        peers: labels of the systems, trivial ones left out, in the order of the experiment.
        trivial: labels of the trivial ones.
        ceiling: label of the oracle, on a world; empty elsewhere.
        standings: by column, then label; a system without the measure is left out.
        best: by column the labels of the best (the oracle does not compete).
        calibrated: by label the seeds whose ECE does not exceed the band of perfect calibration, and all seeds.
        tests: by column, then label: the reference's measure less that system's.
        notes: what a reader must know.
    """

    data: str
    variant: str
    reference: str
    peers: tuple[str, ...]
    trivial: tuple[str, ...]
    ceiling: str
    standings: Mapping[str, Mapping[str, Standing]]
    best: Mapping[str, tuple[str, ...]]
    calibrated: Mapping[str, tuple[int, int]]
    tests: Mapping[str, Mapping[str, PairedTest]]
    notes: tuple[str, ...]

    def rank(self, column: str) -> tuple[int, int] | None:
        """Place of the reference among all that compete, and how many there are; None without the measure."""
        standings = {label: s for label, s in self.standings.get(column, {}).items() if label != self.ceiling}
        if self.reference not in standings:
            return None
        sign = 1.0 if _headline(column).larger_is_better else -1.0
        mine = sign * standings[self.reference].mean
        return 1 + sum(sign * other.mean > mine for other in standings.values()), len(standings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def sections_of(table: pl.DataFrame, reference: str) -> tuple[Section, ...]:
    """Summarise the table of a store, one section per data set and variant."""
    if table.is_empty():
        return ()
    table = with_oracle_share(table)
    keys = table.select("data", "variant").unique(maintain_order=True)
    return tuple(
        _section(table.filter(data=data, variant=variant), data, variant, reference)
        for data, variant in keys.iter_rows()
    )


def with_oracle_share(table: pl.DataFrame) -> pl.DataFrame:
    r"""Add ``oracle_share``: how far a system gets from the best trivial model to the oracle, in NLL.

    .. math:: \frac{L_\text{trivial} - L}{L_\text{trivial} - L_\text{oracle}}

    0 at the best trivial model of the same data and seed, 1 at the oracle, negative below the trivial one; null where
    the experiment has no oracle or no trivial model.
    """
    cell = ["data", "variant", "seed"]
    trivial = table.filter(pl.col("model").is_in(TRIVIAL)).group_by(cell).agg(pl.col("nll").min().alias("_trivial"))
    oracle = table.filter(model=ORACLE).group_by(cell).agg(pl.col("nll").min().alias("_oracle"))
    joined = table.join(trivial, on=cell, how="left", maintain_order="left")
    joined = joined.join(oracle, on=cell, how="left", maintain_order="left")
    gap = pl.col("_trivial") - pl.col("_oracle")
    share = pl.when(gap > 0).then((pl.col("_trivial") - pl.col("nll")) / gap)
    return joined.with_columns(share.alias("oracle_share")).drop("_trivial", "_oracle")


def standing(values: Iterable[float]) -> Standing:
    """Mean and 95 % t-interval of independent values."""
    x = np.asarray(list(values), dtype=np.float64)
    mean = float(x.mean())
    if len(x) < 2:
        return Standing(mean, None, None, len(x))
    half = float(stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return Standing(mean, mean - half, mean + half, len(x))


def _section(rows: pl.DataFrame, data: str, variant: str, reference: str) -> Section:
    names = dict(rows.select("label", "model").unique(maintain_order=True).iter_rows())
    trivial = tuple(label for label, model in names.items() if model in TRIVIAL)
    peers = tuple(label for label, model in names.items() if model not in (*TRIVIAL, ORACLE))
    columns = [h.column for h in HEADLINES] + ["ece_floor", "ece_low", "ece_high"]
    standings = {column: _standings(rows, column) for column in columns if column in rows.columns}
    tests = _tests(rows, reference, [peers, trivial])
    return Section(
        data=data,
        variant=variant,
        reference=reference,
        peers=peers,
        trivial=trivial,
        ceiling=ORACLE if ORACLE in names.values() else "",
        standings=standings,
        best={h.column: _best(standings.get(h.column, {}), h) for h in HEADLINES},
        calibrated=_calibrated(rows),
        tests=tests,
        notes=tuple(_notes(rows, reference, peers, trivial)),
    )


def _standings(rows: pl.DataFrame, column: str) -> dict[str, Standing]:
    found = {}
    for (label,), group in rows.group_by("label", maintain_order=True):
        values = group[column].drop_nulls().cast(pl.Float64).to_list()
        if values:
            found[str(label)] = standing(values)
    return found


def _best(standings: Mapping[str, Standing], headline: Headline) -> tuple[str, ...]:
    shown = {label: round(s.mean, 3) for label, s in standings.items() if label != ORACLE}  # as printed: ties are ties
    if not shown:
        return ()
    wanted = max(shown.values()) if headline.larger_is_better else min(shown.values())
    return tuple(label for label, mean in shown.items() if mean == wanted)


def _calibrated(rows: pl.DataFrame) -> dict[str, tuple[int, int]]:
    groups = rows.group_by("label", maintain_order=True)
    return {str(label): (int(group["ece_calibrated"].sum()), group.height) for (label,), group in groups}


def _tests(rows: pl.DataFrame, reference: str, families: list[tuple[str, ...]]) -> dict[str, dict[str, PairedTest]]:
    sizes = {"train_size": _mean(rows, "rows_train"), "test_size": _mean(rows, "rows_test")}
    tests: dict[str, dict[str, PairedTest]] = {}
    for headline in HEADLINES:
        if headline.column not in rows.columns:
            continue
        found: dict[str, PairedTest] = {}
        for family in families:
            scores = _paired(rows, headline.column, dict.fromkeys((reference, *family)))
            if len(scores) > 1 and len(scores[reference]) > 1:
                found |= compare(scores, reference, **sizes)
        tests[headline.column] = found
    return tests


def _paired(rows: pl.DataFrame, column: str, labels: Iterable[str]) -> dict[str, list[float]]:
    """Scores of the systems that have the measure, on the seeds that all of these have; empty without the reference."""
    wanted = list(labels)
    wide = rows.drop_nulls(column).pivot(on="label", index="seed", values=column)
    present = [label for label in wanted if label in wide.columns]
    if wanted[0] not in present:
        return {}
    complete = wide.select(present).drop_nulls()
    return {label: complete[label].cast(pl.Float64).to_list() for label in present}


def _notes(rows: pl.DataFrame, reference: str, peers: tuple[str, ...], trivial: tuple[str, ...]) -> Iterable[str]:
    seeds = rows.filter(label=reference)["seed"].n_unique()
    others = [label for label in peers if label != reference]
    if not seeds:
        yield f"{reference} has no finished cell here: nothing is tested against it."
    elif not others and not trivial:
        yield f"{reference} stands alone: there is nothing to test it against."
    elif seeds < 2:
        yield "One seed: nothing shows how much results vary, so there is no interval and no test. Run two or more."
    else:
        limit = wilcoxon_limit(seeds, comparisons=max(len(others), 1))
        if limit:
            yield f"n is small. {limit} The t-test can go lower, but only by taking differences as normal."
    if "p_at_10" in rows.columns and rows["p_at_10"].null_count() < rows.height:
        yield (
            f"Chance level of P@10 and AUPRC: {_mean(rows, 'link_base_rate'):.3f}; "
            f"{100 * _mean(rows, 'links_within_reach'):.0f} % of the {rows['links_kind'][0]} links are candidates."
        )


def _mean(rows: pl.DataFrame, column: str) -> float:
    values = rows[column].drop_nulls().cast(pl.Float64).to_list() if column in rows.columns else []
    return float(np.mean(values)) if values else math.nan


def _headline(column: str) -> Headline:
    return next(headline for headline in HEADLINES if headline.column == column)
