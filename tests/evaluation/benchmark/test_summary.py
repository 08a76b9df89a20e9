"""What a benchmark shows is what its rows say, whoever wins."""

import json
import math

import numpy as np
import polars as pl
import pytest

from sphunc.evaluation import compare, corrected_resampled_t, holm
from sphunc.evaluation.benchmark.cells import Cell
from sphunc.evaluation.benchmark.summary import absent_notes, sections_of, standing, with_oracle_share

NLL = {
    "sphunc": [0.50, 0.52, 0.49],
    "hypergcn": [0.60, 0.66, 0.58],
    "cignn": [0.40, 0.43, 0.44],
    "logistic": [0.70, 0.71, 0.69],
    "majority": [1.0, 1.1, 1.0],
    "oracle": [0.30, 0.31, 0.29],
}


def rows(nll: dict[str, list[float]] = NLL, data: str = "snare") -> pl.DataFrame:
    shared = {"data": data, "variant": "default", "rows_train": 700, "rows_test": 200, "ece": 0.05, "ece_floor": 0.04}
    shared |= {"horizon": 1, "settings": "{}", "source": json.dumps({"world": data})}
    links = {"p_at_10": 0.5, "link_base_rate": 0.1, "links_within_reach": 1.0, "links_kind": "simulated"}
    return pl.DataFrame(
        [
            {
                "model": model,
                "label": model,
                "seed": seed,
                "nll": value,
                "ece_calibrated": value < 0.5,
                **shared,
                **links,
            }
            for model, values in nll.items()
            for seed, value in enumerate(values)
        ]
    )


def test_standing_is_the_t_interval() -> None:
    found = standing(np.array([1.0, 2.0, 3.0]))
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert standing(np.array([1.0])).half is None


def test_share_runs_from_the_best_trivial_model_to_the_oracle() -> None:
    share = with_oracle_share(rows()).filter(seed=0)
    found = dict(share.select("label", "oracle_share").iter_rows())
    assert found["logistic"] == pytest.approx(0.0)
    assert found["oracle"] == pytest.approx(1.0)
    assert found["sphunc"] == pytest.approx(0.5)
    assert found["majority"] < 0
    without = with_oracle_share(rows().filter(pl.col("model") != "oracle"))
    assert without["oracle_share"].null_count() == without.height


def test_section_names_the_best_whoever_it_is_and_the_oracle_does_not_compete() -> None:
    (section,) = sections_of(rows(), "sphunc")
    assert section.best["nll"] == ("cignn",)
    assert section.rank("nll") == (2, 5)
    assert section.rank("macro_auc") is None
    assert section.systems == ("sphunc", "hypergcn", "cignn")
    assert section.controls == ("logistic", "majority")
    assert section.ceiling == "oracle"
    assert section.calibrated["sphunc"] == (1, 3)
    assert set(section.best["ece"]) == set(NLL) - {"oracle"}, "equal as printed is a tie"


def test_tests_are_the_corrected_ones_with_holm_among_the_systems() -> None:
    (section,) = sections_of(rows(), "sphunc")
    systems = {label: NLL[label] for label in ("sphunc", "hypergcn", "cignn")}
    wanted = compare(systems, "sphunc", train_size=700, test_size=200)
    assert {label: section.tests["nll"][label] for label in wanted} == wanted
    assert set(section.tests["nll"]) == {"hypergcn", "cignn", "logistic", "majority"}


def without(table: pl.DataFrame, label: str, seed: int) -> pl.DataFrame:
    return table.filter(~((pl.col("label") == label) & (pl.col("seed") == seed)))


def test_a_missing_cell_touches_nobody_elses_test() -> None:
    (whole,), (section,) = sections_of(rows(), "sphunc"), sections_of(without(rows(), "cignn", 2), "sphunc")
    assert section.tests["nll"]["hypergcn"].p_value == whole.tests["nll"]["hypergcn"].p_value
    assert section.tests["nll"]["hypergcn"].pairs == 3
    assert section.tests["nll"]["cignn"].pairs == 2
    assert section.tests["nll"]["logistic"] == whole.tests["nll"]["logistic"]
    assert any("2 pairs are too few" in note for note in section.notes)
    single = without(without(rows(), "cignn", 2), "cignn", 1)
    assert set(sections_of(single, "sphunc")[0].tests["nll"]) == {"hypergcn", "logistic", "majority"}


def test_means_over_other_seeds_have_no_mark_and_no_place() -> None:
    (section,) = sections_of(without(rows(), "cignn", 2), "sphunc")
    assert section.standings["nll"]["cignn"].seeds == 2
    assert section.best["nll"] == ("sphunc",)
    assert section.rank("nll") == (1, 4)
    (note,) = (note for note in section.notes if "lacks" in note)
    assert note.startswith("cignn lacks seeds 2 in NLL, ECE, P@10, Way to oracle: its means are over the others")
    (absent,) = sections_of(without(rows(), "sphunc", 0), "sphunc")
    assert absent.rank("nll") is None
    assert not any("lacks" in note for note in sections_of(rows(), "sphunc")[0].notes)


def test_a_measure_that_is_missing_is_named() -> None:
    gap = pl.when((pl.col("label") == "hypergcn") & (pl.col("seed") == 1)).then(None).otherwise("p_at_10")
    (section,) = sections_of(rows().with_columns(gap.alias("p_at_10")), "sphunc")
    assert any(
        note.startswith("hypergcn lacks seeds 1 in P@10: its means are over the others") for note in section.notes
    )
    assert "hypergcn" not in section.best["p_at_10"]
    assert section.rank("nll") == (2, 5)


def test_a_control_without_messages_is_no_published_system() -> None:
    values = {**NLL, "recurrent": [0.61, 0.64, 0.6]}
    (section,) = sections_of(rows(values), "sphunc")
    (before,) = sections_of(rows(), "sphunc")
    assert section.controls == ("logistic", "majority", "recurrent")
    assert section.tests["nll"]["hypergcn"] == before.tests["nll"]["hypergcn"]


def variant(label: str, name: str, change: float, settings: str = '{"scm": false}') -> pl.DataFrame:
    changed = rows().filter(pl.col("label").is_in([label, "oracle"]))
    settled = pl.when(pl.col("label") == label).then(pl.lit(settings)).otherwise("settings")
    nll = pl.when(pl.col("label") == label).then(pl.col("nll") + change + 0.01 * pl.col("seed")).otherwise("nll")
    return changed.with_columns(settled.alias("settings"), nll.alias("nll"), variant=pl.lit(name))


def test_the_way_to_the_oracle_begins_at_default_trivial_models_of_any_variant() -> None:
    table = pl.concat([rows(), variant("sphunc", "bare", 0.1), variant("logistic", "odd", -0.3)])
    share = with_oracle_share(table).filter(seed=0)
    assert share.filter(variant="bare", label="sphunc")["oracle_share"].item() == pytest.approx(0.25)
    assert share.filter(variant="odd", label="logistic")["oracle_share"].item() == pytest.approx(0.75)
    assert share.filter(variant="default", label="sphunc")["oracle_share"].item() == pytest.approx(0.5)
    far = rows().with_columns(horizon=pl.lit(2, pl.Int64), variant=pl.lit("far"))
    far = with_oracle_share(pl.concat([rows(), far.filter(pl.col("model") != "logistic")]))
    assert far.filter(variant="far", label="majority", seed=0)["oracle_share"].item() == pytest.approx(0.0)


def test_variants_are_tested_against_the_default_of_the_same_system() -> None:
    table = pl.concat([rows(), variant("sphunc", "bare", 0.1), variant("sphunc", "poor", 0.2)])
    default, bare, poor = sections_of(table, "sphunc")
    assert default.changes == {}
    found = bare.changes["nll"]["sphunc"]
    wanted = corrected_resampled_t([0.1, 0.11, 0.12], train_size=700, test_size=200)
    assert (found.mean, found.p_value) == (pytest.approx(0.11), pytest.approx(wanted.p_value))
    both = holm([found.p_value, poor.changes["nll"]["sphunc"].p_value])
    assert found.adjusted_p == pytest.approx(both[0])
    far = variant("sphunc", "far", 0.1).with_columns(horizon=pl.lit(2, pl.Int64))
    assert sections_of(pl.concat([rows(), far]), "sphunc")[1].changes == {}, "other outcomes are forecast"


def test_seeds_of_one_table_are_not_called_evidence() -> None:
    assert sections_of(rows(), "sphunc")[0].is_world
    (section,) = sections_of(rows().with_columns(source=pl.lit('{"tables": "mine"}')), "sphunc")
    assert not section.is_world
    assert any("p-values speak of initialisation, not of other data" in note for note in section.notes)


def test_too_few_seeds_are_said_plainly() -> None:
    (section,) = sections_of(rows(), "sphunc")
    assert section.notes[0].startswith(
        "Too few seeds: no star (*) for tests against hypergcn, cignn, logistic, majority, whatever their p. 3 pairs"
    )
    assert "cannot go below p = 0.25 with them. For 0.05 among 2 comparisons it takes 7." in section.notes[0]
    assert "Chance level of P@10 and AUPRC: 0.100; 100 % of the simulated links are candidates." in section.notes[1]
    (single,) = sections_of(rows().filter(seed=0), "sphunc")
    assert single.notes[0].startswith("One seed: nothing shows how much results vary")
    assert single.tests["nll"] == {}
    (absent,) = sections_of(rows().filter(pl.col("label") != "sphunc"), "sphunc")
    assert absent.notes[0].startswith("sphunc has no finished cell here")


def many(table: pl.DataFrame, seeds: int) -> pl.DataFrame:
    """The same with so many seeds, each a little different."""
    first = table.filter(seed=0)
    moved = [
        first.with_columns(seed=pl.lit(k, pl.Int64), nll=pl.col("nll") * (1 + 0.003 * (k % 4))) for k in range(seeds)
    ]
    return pl.concat(moved)


def test_tests_that_seeds_are_too_few_for_are_named_where_others_can_be_shown() -> None:
    values = {**NLL, "sshgnn": [0.65, 0.7, 0.6], "spherenet": [0.62, 0.7, 0.6]}
    (section,) = sections_of(many(rows(values), 7), "sphunc")
    assert not section.tests["nll"]["hypergcn"].is_finding()
    assert section.tests["nll"]["hypergcn"].adjusted_p < 0.05
    assert section.tests["nll"]["logistic"].is_finding()
    assert section.notes[0].startswith(
        "Too few seeds: no star (*) for tests against hypergcn, cignn, sshgnn, spherenet, whatever their p."
    )
    assert "among 4 comparisons it takes 8" in section.notes[0]
    (enough,) = sections_of(many(rows(values), 8), "sphunc")
    assert enough.tests["nll"]["hypergcn"].is_finding()
    assert "Too few" not in " ".join(enough.notes)


def test_chance_level_stands_beside_the_common_read_out_too() -> None:
    (section,) = sections_of(rows().rename({"p_at_10": "p_at_10_common"}), "sphunc")
    assert any("Chance level of P@10 and AUPRC: 0.100" in note for note in section.notes)


def test_a_system_whose_cells_failed_is_named_where_it_is_not_shown() -> None:
    place = {"data": {"world": "snare"}, "data_label": "snare"}
    lost = [Cell("logistic", "plain", variant=v, seed=s, **place) for v in ("default", "far") for s in (0, 1)]
    kept = [Cell("majority", "majority", variant="default", seed=s, **place) for s in (0, 1)]
    table = pl.DataFrame([{"label": "majority", "data": "snare", "variant": "default"}])
    assert list(absent_notes(table, [*lost, *kept], [*lost[:3], kept[1]])) == [
        "plain is not shown for snare: 2 of its 2 cells failed.",
        "plain is not shown for snare, far: 1 of its 2 cells failed.",
    ]
    assert list(absent_notes(pl.DataFrame(), lost[:1], lost[:1])) == [
        "plain is not shown for snare: 1 of its 1 cells failed."
    ]
    assert list(absent_notes(table, kept, ())) == []


def test_sections_follow_data_in_order() -> None:
    both = pl.concat([rows(), rows(data="amigos")])
    assert [section.data for section in sections_of(both, "sphunc")] == ["snare", "amigos"]
    assert sections_of(pl.DataFrame(), "sphunc") == ()
