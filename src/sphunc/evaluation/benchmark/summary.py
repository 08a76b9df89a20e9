"""What a benchmark shows: measures of each system with intervals, the best of them, and paired tests, per data set."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from sphunc.evaluation.benchmark.cells import ORACLE, Cell
from sphunc.evaluation.significance import (
    PairedTest,
    corrected_resampled_t,
    holm_controlled,
    smallest_wilcoxon_p,
    wilcoxon_limit,
)

TRIVIAL = ("majority", "persistence", "logistic")
"""Their best, with default settings, is where the way to the oracle begins."""
CONTROLS = (*TRIVIAL, "recurrent")
"""Systems that look at no group: a family of tests of their own, apart from the published systems."""
DEFAULT = "default"
"""The variant that the others are tested against."""


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
    Headline("ood_auroc", "AUROC, strangers", True),
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
        peers: labels of the systems, controls left out, in the order of the experiment.
        controls: labels of the systems that look at no group.
        ceiling: label of the oracle, on a world; empty elsewhere.
        standings: by column, then label; a system without the measure is left out.
        competing: by column the labels that have the measure with every seed that anybody has it with: means over
            other seeds are of other worlds. The oracle does not compete.
        best: by column the best of those.
        calibrated: by label the seeds whose ECE does not exceed the band of perfect calibration, and all seeds.
        tests: by column, then label: the reference's measure less that system's, on the seeds that both have, with
            Holm's control over the peers, and apart from them over the controls.
        changes: by column, then label: the system's measure under this variant less that under the variant "default",
            with Holm's control over the variants of the system.
        is_world: whether every seed is another world. Elsewhere seeds vary the weights alone.
        notes: what a reader must know.
    """

    data: str
    variant: str
    reference: str
    peers: tuple[str, ...]
    controls: tuple[str, ...]
    ceiling: str
    standings: Mapping[str, Mapping[str, Standing]]
    competing: Mapping[str, tuple[str, ...]]
    best: Mapping[str, tuple[str, ...]]
    calibrated: Mapping[str, tuple[int, int]]
    tests: Mapping[str, Mapping[str, PairedTest]]
    is_world: bool
    notes: tuple[str, ...]
    changes: Mapping[str, Mapping[str, PairedTest]] = field(default_factory=dict)

    def rank(self, column: str) -> tuple[int, int] | None:
        """Place of the reference among all that compete, and how many there are; None where it does not."""
        standings = {label: self.standings[column][label] for label in self.competing.get(column, ())}
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
    changes = {data: _changes(table.filter(data=data)) for data in dict.fromkeys(keys["data"])}
    sections = []
    for data, variant in keys.iter_rows():
        rows = table.filter(data=data, variant=variant)
        one = replace(_section(rows, data, variant, reference), changes=changes[data].get(variant, {}))
        sections.append(replace(one, notes=tuple(_notes(rows, one))))
    return tuple(sections)


def with_oracle_share(table: pl.DataFrame) -> pl.DataFrame:
    r"""Add ``oracle_share``: how far a system gets from the best trivial model to the oracle, in NLL.

    .. math:: \frac{L_\text{trivial} - L}{L_\text{trivial} - L_\text{oracle}}

    0 at the best trivial model of the same data, seed and horizon, 1 at the oracle, negative below the trivial one;
    null where the experiment has no oracle or no trivial model. Trivial models count with default settings, under
    whichever variant they were measured: one that a variant changed is no yardstick, and a variant may have none.
    """
    cell = ["data", "seed", "horizon"]
    plain = table.filter(pl.col("model").is_in(TRIVIAL), pl.col("settings") == "{}")
    trivial = plain.group_by(cell).agg(pl.col("nll").min().alias("_trivial"))
    oracle = table.filter(model=ORACLE).group_by(cell).agg(pl.col("nll").min().alias("_oracle"))
    joined = table.join(trivial, on=cell, how="left", maintain_order="left")
    joined = joined.join(oracle, on=cell, how="left", maintain_order="left")
    gap = pl.col("_trivial") - pl.col("_oracle")
    share = pl.when(gap > 0).then((pl.col("_trivial") - pl.col("nll")) / gap)
    return joined.with_columns(share.alias("oracle_share")).drop("_trivial", "_oracle")


def absent_notes(table: pl.DataFrame, cells: Iterable[Cell], failed: Iterable[Cell]) -> Iterator[str]:
    """Name every system that stands in no table of a data set, because its cells there failed."""
    shown = set(table.select("label", "data", "variant").iter_rows()) if table.height else set()
    planned, lost = Counter(map(_place, cells)), Counter(map(_place, failed))
    for (label, data, variant), count in lost.items():
        if (label, data, variant) not in shown:
            total, where = planned[label, data, variant], data if variant == DEFAULT else f"{data}, {variant}"
            many = f"all {total} of its cells" if count == total > 1 else f"{count} of its {total} cells"
            yield f"{label} is not shown for {where}: {'its only cell' if total == 1 else many} failed."


def _place(cell: Cell) -> tuple[str, str, str]:
    return cell.label, cell.data_label, cell.variant


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
    controls = tuple(label for label, model in names.items() if model in CONTROLS)
    peers = tuple(label for label, model in names.items() if model not in (*CONTROLS, ORACLE))
    columns = [h.column for h in HEADLINES] + ["ece_floor", "ece_low", "ece_high"]
    standings = {column: _standings(rows, column) for column in columns if column in rows.columns}
    competing = {h.column: _competing(rows, h.column) for h in HEADLINES if h.column in rows.columns}
    return Section(
        data=data,
        variant=variant,
        reference=reference,
        peers=peers,
        controls=controls,
        ceiling=ORACLE if ORACLE in names.values() else "",
        standings=standings,
        competing=competing,
        best={h.column: _best(standings.get(h.column, {}), competing.get(h.column, ()), h) for h in HEADLINES},
        calibrated=_calibrated(rows),
        tests=_tests(rows, reference, [peers, controls]),
        is_world="world" in json.loads(rows["source"][0]),
        notes=(),
    )


def _standings(rows: pl.DataFrame, column: str) -> dict[str, Standing]:
    found = {}
    for (label,), group in rows.group_by("label", maintain_order=True):
        values = group[column].drop_nulls().cast(pl.Float64).to_list()
        if values:
            found[str(label)] = standing(values)
    return found


def _competing(rows: pl.DataFrame, column: str) -> tuple[str, ...]:
    lacking = _lacking(rows, column)
    measured = rows.drop_nulls(column).filter(pl.col("label") != ORACLE)["label"].unique(maintain_order=True)
    return tuple(label for label in measured if label not in lacking)


def _lacking(rows: pl.DataFrame, column: str) -> dict[str, list[int]]:
    """Seeds with which others have the measure, by system that has it with some seeds but not with these."""
    seeds = {label: set(group["seed"]) for (label,), group in rows.drop_nulls(column).group_by("label")}
    wanted = set[int]().union(*(found for label, found in seeds.items() if label != ORACLE))
    return {str(label): sorted(wanted - found) for label, found in seeds.items() if wanted - found and label != ORACLE}


def _best(standings: Mapping[str, Standing], competing: tuple[str, ...], headline: Headline) -> tuple[str, ...]:
    shown = {label: round(standings[label].mean, 3) for label in competing}  # as printed: ties are ties
    if not shown:
        return ()
    wanted = max(shown.values()) if headline.larger_is_better else min(shown.values())
    return tuple(label for label, mean in shown.items() if mean == wanted)


def _calibrated(rows: pl.DataFrame) -> dict[str, tuple[int, int]]:
    groups = rows.group_by("label", maintain_order=True)
    return {str(label): (int(group["ece_calibrated"].sum()), group.height) for (label,), group in groups}


def _tests(rows: pl.DataFrame, reference: str, families: list[tuple[str, ...]]) -> dict[str, dict[str, PairedTest]]:
    mine, tests = rows.filter(label=reference), {}
    for headline in HEADLINES:
        if headline.column not in rows.columns:
            continue
        found: dict[str, PairedTest] = {}
        for family in families:
            others = {label: rows.filter(label=label) for label in family if label != reference}
            found |= _family({label: _paired(mine, other, headline.column) for label, other in others.items()})
        tests[headline.column] = found
    return tests


def _changes(rows: pl.DataFrame) -> dict[str, dict[str, dict[str, PairedTest]]]:
    """By variant, column and label: a system under that variant less the same system under "default"."""
    found: dict[str, dict[str, dict[str, PairedTest]]] = {}
    changed = rows.filter(pl.col("variant") != DEFAULT, pl.col("model") != ORACLE)
    for (label,), group in changed.group_by("label", maintain_order=True):
        usual = rows.filter(label=label, variant=DEFAULT)
        variants = {str(variant): one for (variant,), one in group.group_by("variant", maintain_order=True)}
        for column in (headline.column for headline in HEADLINES if headline.column in rows.columns):
            pairs = {variant: _paired(one, usual, column) for variant, one in variants.items()}
            for variant, test in _family(pairs).items():
                found.setdefault(variant, {}).setdefault(column, {})[str(label)] = test
    return found


def _paired(mine: pl.DataFrame, other: pl.DataFrame, column: str) -> PairedTest | None:
    """Test the differences on the seeds that both have the measure with; None with fewer than two."""
    theirs = other.drop_nulls(column).select("seed", "horizon", pl.col(column).alias("_other"))
    pairs = mine.drop_nulls(column).join(theirs, on=["seed", "horizon"])
    if pairs.height < 2:
        return None
    sizes = {"train_size": _mean(pairs, "rows_train"), "test_size": _mean(pairs, "rows_test")}
    differences = pairs[column].cast(pl.Float64) - pairs["_other"].cast(pl.Float64)
    return corrected_resampled_t(differences.to_numpy(), **sizes)


def _family(tests: Mapping[str, PairedTest | None]) -> dict[str, PairedTest]:
    """Tests that there are, after Holm's control over them."""
    return holm_controlled({label: test for label, test in tests.items() if test is not None})


def _notes(rows: pl.DataFrame, section: Section) -> Iterable[str]:
    reference, seeds = section.reference, rows.filter(label=section.reference)["seed"].n_unique()
    others = [label for label in section.peers if label != reference]
    if not seeds:
        yield f"{reference} has no finished cell here: nothing is tested against it."
    elif not others and not section.controls:
        yield f"{reference} stands alone: there is nothing to test it against."
    elif seeds < 2:
        yield "One seed: nothing shows how much results vary, so there is no interval and no test. Run two or more."
    else:
        yield from _limits(section)
    if seeds > 1 and not section.is_world:
        yield (
            "Data and split are the same with every seed: seeds vary the weights alone. Intervals and p-values speak "
            "of initialisation, not of other data, and no test has a star (*)."
        )
    yield from _missing(rows)
    if any(name in rows.columns and rows[name].count() for name in ("p_at_10", "p_at_10_common")):
        kind, chance = rows["links_kind"].drop_nulls()[0], _mean(rows, "link_base_rate")
        yield (
            f"Chance level of P@10 and AUPRC: {chance:.3f}; {100 * _mean(rows, 'links_within_reach'):.0f} % of the "
            f"{kind} links are candidates."
        )


def _limits(section: Section) -> Iterator[str]:
    """Say that seeds are too few for a test to have a star, or which tests those are."""
    changes = {f"{label} by default": test for label, test in section.changes.get("nll", {}).items()}
    tests = {**section.tests.get("nll", {}), **changes}
    said = {name: wilcoxon_limit(test.pairs, comparisons=test.comparisons) for name, test in tests.items()}
    few = [name for name, limit in said.items() if limit]
    if few:
        hardest = max(few, key=lambda name: tests[name].comparisons * smallest_wilcoxon_p(tests[name].pairs))
        every = len(few) == len(tests)
        which = "any test, whatever its" if every else f"tests against {', '.join(few)}, whatever their"
        yield (
            f"Too few seeds: no star (*) for {which} p. {said[hardest]} A pair is a seed that both systems "
            "have. The t-test goes lower only by taking differences as normal."
        )


def _missing(rows: pl.DataFrame) -> Iterable[str]:
    """Say who lacks which seeds; a measure that a cell lacks is said where the cell is there."""
    told: dict[str, list[int]] = {}
    columns = [("", "nll"), *((f" in {h.title}", h.column) for h in HEADLINES if h.column != "nll")]
    for words, column in columns:
        for label, seeds in (_lacking(rows, column) if column in rows.columns else {}).items():
            if told.get(label) == seeds:
                continue
            told.setdefault(label, seeds)
            had = rows.filter(label=label)[column].count()
            which = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
            yield (
                f"{label} lacks {which}{words}: its mean is over n = {had}, it is not marked as best and has no place "
                "there, and it is tested on the seeds that it shares."
            )


def _mean(rows: pl.DataFrame, column: str) -> float:
    values = rows[column].drop_nulls().cast(pl.Float64).to_list() if column in rows.columns else []
    return float(np.mean(values)) if values else math.nan


def _headline(column: str) -> Headline:
    return next(headline for headline in HEADLINES if headline.column == column)
