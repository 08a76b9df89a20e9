"""What a benchmark shows: measures of each system with intervals, the best of them, paired tests, per data set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from sphunc._checks import some_names
from sphunc.evaluation.benchmark.cells import DEFAULT, ORACLE, Cell, place
from sphunc.evaluation.significance import (
    PairedTest,
    corrected_resampled_t,
    holm_controlled,
    standard_error,
    t_interval,
    wilcoxon_limit,
)

TRIVIAL = ("majority", "persistence", "logistic")
"""Their best, with default settings, is where the way to the oracle begins."""
CONTROLS = (*TRIVIAL, "recurrent", "mlp", "boosting")
"""Systems that pass no messages: a family of tests of their own, apart from the published systems."""

Labels = tuple[str, ...]
ByColumn = Mapping[str, Labels]
Tests = dict[str, PairedTest]


class Headline(NamedTuple):
    """A measure of the table: its column, what it is called, and which way is better."""

    column: str
    title: str
    larger_is_better: bool = True


HEADLINES = (
    Headline("accuracy", "Accuracy"),
    Headline("macro_f1", "Macro-F1"),
    Headline("macro_auc", "AUC"),
    Headline("nll", "NLL", larger_is_better=False),
    Headline("brier", "Brier", larger_is_better=False),
    Headline("ece", "ECE", larger_is_better=False),
    Headline("aurc", "AURC", larger_is_better=False),
    Headline("ood_auroc", "OOD AUROC"),
    Headline("p_at_10", "P@10"),
    Headline("auprc", "AUPRC"),
    Headline("p_at_10_common", "P@10, common"),
    Headline("auprc_common", "AUPRC, common"),
    Headline("oracle_share", "Way to oracle"),
)
BAND = ("ece_floor", "ece_low", "ece_high")
"""What perfect calibration would show on the same rows."""


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
        if self.high is None:
            return None
        return self.high - self.mean


@dataclass(frozen=True)
class Section:
    """One data set under one variant.

    Attributes:
        data, variant: which.
        reference: label of the system that the others are tested against.
        systems: labels of the systems, controls left out, in the order of the experiment.
        controls: labels of the systems that pass no messages.
        ceiling: label of the oracle, on a world; empty elsewhere.
        standings: by column, then label; a system without the measure is left out.
        competing: by column the labels that have the measure with every seed that any system has it
            with: means over other seeds are of other worlds. The oracle does not compete.
        best: by column the best of those.
        calibrated: by label the seeds whose ECE does not exceed the band of perfect calibration,
            and all seeds.
        tests: by column, then label: the reference's measure less that system's, on the seeds that
            both have, with Holm's control over the systems, and apart from them over the controls.
        changes: by column, then label: the system's measure under this variant less that under the
            variant "default", with Holm's control over the variants of the system.
        is_world: whether every seed is another world. Elsewhere seeds vary the weights alone.
        notes: what a reader must know.
    """

    data: str
    variant: str
    reference: str
    systems: Labels
    controls: Labels
    ceiling: str
    standings: Mapping[str, Mapping[str, Standing]]
    competing: ByColumn
    best: ByColumn
    calibrated: Mapping[str, tuple[int, int]]
    tests: Mapping[str, Tests]
    changes: Mapping[str, Tests]
    is_world: bool
    notes: Labels

    def rank(self, column: str) -> tuple[int, int] | None:
        """Place of the reference among all that compete, and how many there are; None where it does not."""
        labels = self.competing.get(column, ())
        if self.reference not in labels:
            return None
        means = [self.standings[column][label].mean for label in labels]
        means.sort(reverse=column in _LARGER_IS_BETTER)
        return 1 + means.index(self.standings[column][self.reference].mean), len(means)

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


_LARGER_IS_BETTER = frozenset(headline.column for headline in HEADLINES if headline.larger_is_better)


def sections_of(table: pl.DataFrame, reference: str) -> tuple[Section, ...]:
    """Summarise the table of a store, one section per data set and variant.

    Args:
        table: a row per cell.
        reference: label of the system that the others are tested against.
    """
    if table.is_empty():
        return ()
    table = with_oracle_share(table)
    sections = []
    for (data, variant), rows in table.group_by("data", "variant", maintain_order=True):
        changes = _changes(table.filter(data=data), str(variant))
        sections.append(_section(rows, reference, changes))
    return tuple(sections)


def with_oracle_share(table: pl.DataFrame) -> pl.DataFrame:
    r"""Add ``oracle_share``: how far a system gets from the best trivial model to the oracle, in NLL.

    .. math:: \frac{L_\text{trivial} - L}{L_\text{trivial} - L_\text{oracle}}

    0 at the best trivial model of the same data, seed and horizon, 1 at the oracle, negative below
    the trivial one; null where the experiment has no oracle or no trivial model. Trivial models count
    with default settings, under whichever variant they were measured: one that a variant changed is
    no yardstick, and a variant may have none.
    """
    cell = ["data", "seed", "horizon"]
    is_trivial = pl.col("model").is_in(TRIVIAL) & (pl.col("settings") == "{}")
    trivial = pl.col("nll").filter(is_trivial).min().over(cell)
    oracle = pl.col("nll").filter(pl.col("model") == ORACLE).min().over(cell)
    share = pl.when(trivial > oracle).then((trivial - pl.col("nll")) / (trivial - oracle))
    return table.with_columns(share.alias("oracle_share"))


def absent_notes(table: pl.DataFrame, cells: Iterable[Cell], failed: Iterable[Cell]) -> Iterator[str]:
    """Name every system that stands in no table of a data set, because its cells there failed.

    Args:
        table: a row per finished cell.
        cells: of the experiment.
        failed: those of them that failed.
    """
    planned = Counter((cell.label, cell.data_label, cell.variant) for cell in cells)
    lost = Counter((cell.label, cell.data_label, cell.variant) for cell in failed)
    shown = set()
    if table.height:
        shown = set(table.select("label", "data", "variant").iter_rows())
    for key, count in lost.items():
        if key not in shown:
            label, data, variant = key
            yield f"{label} is not shown for {place(data, variant)}: {count} of its {planned[key]} cells failed."


def standing(values: np.ndarray) -> Standing:
    """Mean and 95 % t-interval of independent values."""
    low = high = None
    if len(values) > 1:
        low, high = t_interval(values, standard_error(values))
    return Standing(float(values.mean()), low, high, len(values))


def _section(rows: pl.DataFrame, reference: str, changes: dict[str, Tests]) -> Section:
    models = dict(rows.select("label", "model").unique(maintain_order=True).iter_rows())
    controls = tuple(label for label, model in models.items() if model in CONTROLS)
    systems = tuple(label for label, model in models.items() if model not in (*CONTROLS, ORACLE))
    columns = _measured(rows)
    standings = {column: _standings(rows, column) for column in [*columns, *BAND] if column in rows.columns}
    competing = {column: _competing(rows, column) for column in columns}
    calibrated = {}
    for (label,), group in rows.group_by("label", maintain_order=True):
        calibrated[label] = (int(group["ece_calibrated"].sum()), group.height)
    tests = {
        column: {**_against(rows, reference, systems, column), **_against(rows, reference, controls, column)}
        for column in columns
    }
    ceiling = ""
    if ORACLE in models:
        ceiling = ORACLE
    is_world = "world" in json.loads(rows["source"][0])
    return Section(
        data=rows["data"][0],
        variant=rows["variant"][0],
        reference=reference,
        systems=systems,
        controls=controls,
        ceiling=ceiling,
        standings=standings,
        competing=competing,
        best={column: _best(standings[column], competing[column], column) for column in columns},
        calibrated=calibrated,
        tests=tests,
        changes=changes,
        is_world=is_world,
        notes=(*_test_notes(rows, reference, tests, changes, is_world), *_missing(rows), *_link_notes(rows)),
    )


def _measured(rows: pl.DataFrame) -> list[str]:
    return [headline.column for headline in HEADLINES if headline.column in rows.columns]


def _standings(rows: pl.DataFrame, column: str) -> dict[str, Standing]:
    found = {}
    for (label,), group in rows.drop_nulls(column).group_by("label", maintain_order=True):
        found[label] = standing(group[column].cast(pl.Float64).to_numpy())
    return found


def _seeds(rows: pl.DataFrame, column: str) -> dict[str, set[int]]:
    """Seeds with which each system has a measure; the oracle is left out."""
    found = rows.filter(pl.col("model") != ORACLE).drop_nulls(column)
    return {label: set(group["seed"]) for (label,), group in found.group_by("label", maintain_order=True)}


def _competing(rows: pl.DataFrame, column: str) -> Labels:
    seeds = _seeds(rows, column)
    every = set().union(*seeds.values())
    return tuple(label for label, found in seeds.items() if found == every)


def _best(standings: Mapping[str, Standing], competing: Labels, column: str) -> Labels:
    means = {label: round(standings[label].mean, 3) for label in competing}  # as printed: ties are ties
    ordered = sorted(means.values(), reverse=column in _LARGER_IS_BETTER)
    return tuple(label for label, mean in means.items() if mean == ordered[0])


def _against(rows: pl.DataFrame, reference: str, family: Labels, column: str) -> Tests:
    """Test the reference against a family of systems, with Holm's control over it."""
    others = {label: rows.filter(label=label) for label in family if label != reference}
    mine = rows.filter(label=reference)
    return _tests({label: (mine, other) for label, other in others.items()}, column)


def _changes(rows: pl.DataFrame, variant: str) -> dict[str, Tests]:
    """By column and label: a system under this variant less the same under "default", Holm's control per system."""
    changes: dict[str, Tests] = {}
    for (label,), system in rows.filter(pl.col("model") != ORACLE).group_by("label", maintain_order=True):
        by_variant = {name: one for (name,), one in system.group_by("variant", maintain_order=True)}
        usual = by_variant.pop(DEFAULT, system.clear())
        for column in _measured(rows):
            tests = _tests({name: (one, usual) for name, one in by_variant.items()}, column)
            if variant in tests:
                changes.setdefault(column, {})[label] = tests[variant]
    return changes


def _tests(pairs: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]], column: str) -> Tests:
    """Paired tests on the seeds that both have the measure with, two at least; Holm's control over all of them."""
    tests = {}
    for name, (first, second) in pairs.items():
        theirs = second.drop_nulls(column).select("seed", "horizon", other=column)
        both = first.drop_nulls(column).join(theirs, on=["seed", "horizon"])
        if both.height > 1:
            differences = both[column].cast(pl.Float64) - both["other"].cast(pl.Float64)
            train_size = _mean(both, "rows_train")
            test_size = _mean(both, "rows_test")
            tests[name] = corrected_resampled_t(differences.to_numpy(), train_size=train_size, test_size=test_size)
    return holm_controlled(tests)


def _test_notes(
    rows: pl.DataFrame, reference: str, tests: dict[str, Tests], changes: dict[str, Tests], is_world: bool
) -> Iterator[str]:
    """What seeds can show, and what they cannot."""
    seeds = rows.filter(label=reference)["seed"].n_unique()
    others = rows.filter(pl.col("model") != ORACLE, pl.col("label") != reference)
    if not seeds:
        yield f"{reference} has no finished cell here: nothing is tested against it."
    elif others.is_empty():
        yield f"{reference} stands alone: there is nothing to test it against."
    elif seeds < 2:
        yield "One seed: nothing shows how much results vary, so there is no interval and no test. Run two or more."
    limits: dict[str, list[str]] = {}
    for names, found in (("{}", tests), ("{} by default", changes)):
        for label, test in found.get("nll", {}).items():
            limit = wilcoxon_limit(test.pairs, comparisons=test.comparisons)
            if limit is not None:
                limits.setdefault(limit, []).append(names.format(label))
    for limit, names in limits.items():
        yield f"Too few seeds: no star (*) for tests against {', '.join(names)}, whatever their p. {limit}"
    if seeds > 1 and not is_world:
        yield (
            "Data and split are the same with every seed: seeds vary the weights alone. Intervals and p-values speak "
            "of initialisation, not of other data, and no test has a star (*)."
        )


def _missing(rows: pl.DataFrame) -> Iterator[str]:
    """Say who lacks which seeds, in which measures."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for headline in HEADLINES:
        if headline.column in rows.columns:
            seeds = _seeds(rows, headline.column)
            every = set().union(*seeds.values())
            for label, found in seeds.items():
                if found != every:
                    key = (label, some_names(sorted(every - found)))
                    lacking.setdefault(key, []).append(headline.title)
    for (label, seeds), titles in lacking.items():
        yield (
            f"{label} lacks seeds {seeds} in {', '.join(titles)}: its means are over the others, it is not marked as "
            "best and has no place there, and it is tested on the seeds that it shares."
        )


def _link_notes(rows: pl.DataFrame) -> Iterator[str]:
    if "links_kind" in rows.columns and rows["links_kind"].count():
        kind = rows["links_kind"].drop_nulls()[0]
        chance = _mean(rows, "link_base_rate")
        reach = 100 * _mean(rows, "links_within_reach")
        yield f"Chance level of P@10 and AUPRC: {chance:.3f}; {reach:.0f} % of the {kind} links are candidates."


def _mean(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].drop_nulls().to_numpy().mean())
