"""Tables of the paper from the results of an experiment, the paper's figures beside ours, marked "quoted"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sphunc.evaluation import corrected_resampled_t
from sphunc.evaluation.benchmark import ORACLE, standing
from sphunc.model import SphUncConfig
from sphunc.report import Table
from sphunc.tables.quoted import (
    ABLATION,
    ECE,
    HYPERPARAMETERS,
    MAIN,
    PRECISION_AT_10,
    ROBUSTNESS,
    SIGNIFICANCE,
    SIZES,
    SYSTEMS,
)
from sphunc.worlds import PRESETS

MEASURES = {"snare": "macro_f1", "pheme": "macro_auc", "amigos": "accuracy"}
"""The paper's measure of each data set."""
TITLES = {"macro_f1": "macro-F1", "macro_auc": "AUC", "accuracy": "accuracy"}
COMPARED = ("causal_sphhn", "cignn", "spherenet")
"""Systems of the paper's table of significance."""
POINTS = 100.0
SIMULATED = (
    "Ours are measured on simulated worlds that have the sizes and the difficulty of the paper's data sets, which "
    "cannot be had; the paper's are quoted, not reproduced."
)


def datasets_table() -> Table:
    """Sizes of the worlds beside those of the paper's data sets."""
    columns = ("agents", "groups", "classes", "features", "times")
    rows = []
    for name, quoted in SIZES.items():
        settings = PRESETS[name]
        ours = {column: getattr(settings, column) for column in columns}
        rows.append({"data": name, **ours, **{f"{c}_quoted": q for c, q in zip(columns, quoted, strict=True)}})
    return Table("Data set statistics", pl.DataFrame(rows), "Worlds as sphunc.simulate makes them unless told else.")


def hyperparameters_table() -> Table:
    """Settings of the paper's model beside its table of hyperparameters."""
    defaults = SphUncConfig.paper()
    rows = []
    for component, setting, quoted in HYPERPARAMETERS:
        ours = "the same"
        if setting:
            ours = f"{setting} = {getattr(defaults, setting)}"
        rows.append({"component": component, "ours": ours, "quoted": quoted})
    return Table("Training hyperparameters of SphUncConfig.paper()", pl.DataFrame(rows))


def main_table(results: pl.DataFrame) -> Table:
    """The paper's measure, NLL and ECE of every system on every data set.

    Args:
        results: a row per cell of the experiment ``main``.
    """
    rows = []
    data = present(results, list(results["data"].unique(maintain_order=True)))
    for label in systems_of(results):
        row: dict[str, object] = {"system": SYSTEMS.get(label, label)}
        for name in data:
            cells = results.filter(label=label, data=name)
            measure = MEASURES.get(name, "macro_f1")
            row[f"{name} {TITLES[measure]}"] = mean_and_half(cells[measure], POINTS, 1)
            if name in MAIN.get("sphunc", {}):
                row[f"{name} quoted"] = MAIN.get(label, {}).get(name)
            row[f"{name} NLL"] = mean_and_half(cells["nll"], 1.0, 3)
            row[f"{name} ECE"] = mean_and_half(cells["ece"], 1.0, 3)
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    best = best_cells(frame, higher=("macro-F1", "AUC", "accuracy"), lower=("NLL", "ECE"))
    return Table("Main results", frame, f"Mean over seeds with half of its 95 % interval. {SIMULATED}", best)


def ece_table(results: pl.DataFrame) -> Table:
    """Expected calibration error of every system, with what perfect calibration would show.

    Args:
        results: a row per cell of the experiment ``main``.
    """
    rows = []
    data = present(results, list(results["data"].unique(maintain_order=True)))
    for label in systems_of(results):
        row: dict[str, object] = {"system": SYSTEMS.get(label, label)}
        means = []
        for name in data:
            cells = results.filter(label=label, data=name)
            row[f"{name} ECE"] = mean_and_half(cells["ece"], 1.0, 3)
            row[f"{name} floor"] = mean_and_half(cells["ece_floor"], 1.0, 3)
            row[f"{name} in band"] = f"{int(cells['ece_calibrated'].sum())} of {cells.height}"
            if name in ECE["sphunc"]:
                row[f"{name} quoted"] = ECE.get(label, {}).get(name)
            means.append(_mean(cells["ece"]))
        row["average ECE"] = f"{np.mean(means):.3f}"
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    note = (
        "Floor: the error that a perfectly calibrated forecaster with these confidences has on as many rows; errors "
        f"below it are luck. In band: seeds whose error is not above the 95 % band. {SIMULATED}"
    )
    return Table("Expected calibration error", frame, note, best_cells(frame, higher=(), lower=("ECE",)))


def causal_table(results: pl.DataFrame) -> Table:
    """Precision among the ten best links, and average precision, against the true links.

    Args:
        results: a row per cell of the experiment ``main``.
    """
    rows = []
    data = present(results, [name for name in results["data"].unique(maintain_order=True) if name != "amigos"])
    for label in systems_of(results):
        cells = results.filter(label=label)
        if cells["p_at_10"].null_count() == cells.height:
            continue
        row: dict[str, object] = {"system": SYSTEMS.get(label, label)}
        for name in data:
            part = cells.filter(data=name)
            row[f"{name} P@10"] = mean_and_half(part["p_at_10"], 1.0, 2)
            row[f"{name} AUPRC"] = mean_and_half(part["auprc"], 1.0, 2)
            if name in PRECISION_AT_10["sphunc"]:
                row[f"{name} quoted P@10"] = PRECISION_AT_10.get(label, {}).get(name)
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    note = f"Each system's own read-out, among co-members, against the links of the world. {SIMULATED}"
    best = best_cells(frame, higher=("P@10", "AUPRC"), lower=())
    return Table("Recovery of influence links", frame, note, best)


def significance_table(results: pl.DataFrame) -> Table:
    """Gain of SphUnc over single systems with paired tests over seeds.

    Args:
        results: a row per cell of the experiment ``main``.
    """
    others = [*COMPARED, *(label for label in ("edhnn", "boosting") if label in set(results["label"]))]
    rows = []
    for name in present(results, list(MEASURES)):
        measure = MEASURES[name]
        ours = results.filter(label="sphunc", data=name).select("seed", "rows_train", "rows_test", ours=measure)
        for other in others:
            both = ours.join(results.filter(label=other, data=name).select("seed", theirs=measure), on="seed")
            gain = POINTS * (both["ours"] - both["theirs"]).to_numpy()
            p = None
            if len(gain) > 1:
                sizes = {"train_size": _mean(both["rows_train"]), "test_size": _mean(both["rows_test"])}
                p = corrected_resampled_t(gain, **sizes).p_value
            quoted = SIGNIFICANCE.get(other, {}).get(name)
            row = {
                "data": f"{name} ({TITLES[measure]})",
                "against": SYSTEMS[other],
                "gain in points": float(gain.mean()) if len(gain) else None,
                "p": p,
                "quoted gain": None if quoted is None else quoted[0],
                "quoted p": "" if quoted is None else quoted[1],
            }
            rows.append(row)
    note = (
        "Corrected resampled t-test over seeds, not corrected for several comparisons; with few seeds it says little. "
        + SIMULATED
    )
    return Table("Paired tests against SphUnc", pl.DataFrame(rows, infer_schema_length=None), note)


def ablation_table(results: pl.DataFrame) -> Table:
    """The paper's model with one part taken out.

    Args:
        results: a row per cell of the experiment ``ablation``.
    """
    rows = []
    for variant, (name, f1, ece_snare, auc, ece_pheme) in ABLATION.items():
        cells = results.filter(variant=variant)
        snare = cells.filter(data="snare")
        pheme = cells.filter(data="pheme")
        rows.append(
            {
                "variant": name,
                "snare macro-F1": mean_and_half(snare["macro_f1"], POINTS, 1),
                "quoted macro-F1": f1,
                "snare ECE": mean_and_half(snare["ece"], 1.0, 3),
                "quoted ECE, snare": ece_snare,
                "pheme AUC": mean_and_half(pheme["macro_auc"], POINTS, 1),
                "quoted AUC": auc,
                "pheme ECE": mean_and_half(pheme["ece"], 1.0, 3),
                "quoted ECE, pheme": ece_pheme,
            }
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    best = best_cells(frame, higher=("snare macro-F1", "pheme AUC"), lower=("snare ECE", "pheme ECE"))
    return Table("Ablation of the paper's model", frame, SIMULATED, best)


def robustness_table(results: pl.DataFrame) -> Table:
    """Macro-F1 of every system as features are lost at test time.

    Args:
        results: a row per cell of the experiment ``robustness``.
    """
    lost = {label: float(json.loads(source)["knobs"]["lost_at_test"]) for label, source in _sources(results).items()}
    shares = sorted(set(lost.values()))
    rows = []
    for label in systems_of(results):
        row: dict[str, object] = {"system": SYSTEMS.get(label, label)}
        for k, share in enumerate(shares):
            names = [name for name, value in lost.items() if value == share]
            cells = results.filter(pl.col("data").is_in(names), label=label)
            row[f"{100 * share:.0f} % lost"] = mean_and_half(cells["macro_f1"], POINTS, 1)
            if label in ROBUSTNESS:
                row[f"quoted, {100 * share:.0f} %"] = ROBUSTNESS[label][k]
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    note = f"Macro-F1 of snare, in points, when a share of the features is lost at test time. {SIMULATED}"
    return Table("Robustness to feature dropout", frame, note, best_cells(frame, higher=("lost",), lower=()))


def systems_of(results: pl.DataFrame) -> list[str]:
    """Labels of the systems, in the order of the experiment; the oracle is none."""
    return results.filter(pl.col("model") != ORACLE)["label"].unique(maintain_order=True).to_list()


def present(results: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Those of the data sets that were measured."""
    measured = set(results["data"])
    return [name for name in names if name in measured]


def mean_and_half(values: pl.Series, factor: float, digits: int) -> str | None:
    """Mean over seeds with half of its 95 % t-interval, as text; None without values.

    Args:
        values: of the seeds.
        factor: that values are multiplied by.
        digits: after the point.
    """
    known = factor * values.drop_nulls().cast(pl.Float64).to_numpy()
    if not len(known):
        return None
    found = standing(known)
    if found.half is None:
        return f"{found.mean:.{digits}f}"
    return f"{found.mean:.{digits}f} ± {found.half:.{digits}f}"


def best_cells(frame: pl.DataFrame, higher: Sequence[str], lower: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Rows and columns of the best entries, whoever holds them; ties as printed are all best.

    Args:
        frame: texts that begin with a number.
        higher: ends of the names of columns in which more is better.
        lower: the same, less is better.
    """
    found = []
    for column in frame.columns:
        if "quoted" in column or not column.endswith((*higher, *lower)):
            continue
        values = [None if text is None else float(str(text).split(" ")[0]) for text in frame[column]]
        known = [value for value in values if value is not None]
        if not known:
            continue
        best = max(known) if column.endswith(tuple(higher)) else min(known)
        found += [(row, column) for row, value in enumerate(values) if value == best]
    return tuple(found)


def _mean(values: pl.Series) -> float:
    return float(values.cast(pl.Float64).to_numpy().mean())


def _sources(results: pl.DataFrame) -> Mapping[str, str]:
    return dict(results.select("data", "source").unique(maintain_order=True).iter_rows())
