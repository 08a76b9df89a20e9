"""Tables show every system that was measured, the best mean and what is shown apart, and fit the terminal."""

import io
import json

import polars as pl
import pytest
from rich.console import Console

from sphunc.cli.benchmark_tables import show_sections
from sphunc.evaluation.benchmark import sections_of

SYSTEMS = ("sphunc", "hypergcn", "sshgnn", "spherenet", "cignn", "causal_sphhn", "logistic", "oracle")
PRINTED = ("SphUnc", "HyperGCN", "SS-HGNN", "SphereNet", "CI-GNN", "Causal-SphHN", "logistic", "oracle")


def rows(data: str = "snare", seeds: int = 3) -> pl.DataFrame:
    shared = {"data": data, "variant": "default", "rows_train": 700, "rows_test": 200, "ece": 0.05}
    shared |= {"horizon": 1, "settings": "{}", "source": json.dumps({"world": data})}
    band = {"ece_floor": 0.04, "ece_low": 0.02, "ece_high": 0.07, "ece_calibrated": True}
    return pl.DataFrame(
        [
            {
                "model": model,
                "label": model,
                "seed": seed,
                **shared,
                **band,
                "nll": 0.5 + 0.1 * k + 0.01 * (seed * k % 3),
            }
            for k, model in enumerate(SYSTEMS)
            for seed in range(seeds)
        ]
    )


def printed(table: pl.DataFrame, reference: str = "sphunc", width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_sections(console, sections_of(table, reference))
    return console.file.getvalue()


def test_six_systems_stand_side_by_side_on_eighty_columns() -> None:
    text = printed(rows())
    header = next(line for line in text.splitlines() if "SphUnc" in line and "Causal-SphHN" in line)
    assert all(name in header for name in PRINTED[:6])
    assert all(name in text for name in PRINTED)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_best_mean_is_marked_whoever_it_is() -> None:
    line = next(line for line in printed(rows()).splitlines() if line.strip().startswith("NLL"))
    assert line.split()[1] == "0.500•"
    other = rows().with_columns(pl.when(pl.col("label") == "cignn").then(0.1).otherwise("nll").alias("nll"))
    line = next(line for line in printed(other).splitlines() if line.strip().startswith("NLL"))
    assert line.split()[5] == "0.100•"
    assert "•" not in line.split()[1]


def test_calibration_stands_beside_its_floor_and_band() -> None:
    text = printed(rows())
    for word in ("its floor", "band from", "band to", "3 of 3"):
        assert word in text


def test_narrow_terminal_gets_more_tables_and_loses_nothing() -> None:
    text = printed(rows(), width=50)
    assert all(name in text for name in PRINTED)
    assert "…" not in text


def test_label_of_any_length_can_be_read_whole() -> None:
    long = "a label that goes on and on, longer than the screen"
    table = rows().with_columns(label=pl.when(pl.col("label") == "cignn").then(pl.lit(long)).otherwise("label"))
    text = printed(table, width=50)
    assert "…" not in text
    assert all(word in text for word in (*long.split(), "its floor", "band from", "not above"))


def test_several_data_sets_show_the_place_of_the_reference() -> None:
    text = printed(pl.concat([rows(), rows("amigos")]))
    assert "Place of SphUnc among all systems" in text
    assert "1/7" in text
    assert "Place of" not in printed(rows())


def test_small_n_is_said_plainly_and_tests_are_shown() -> None:
    text = printed(rows())
    assert "3 pairs are too few" in " ".join(text.split())
    assert "p=" in text or "p<" in text


def sure(seeds: int) -> pl.DataFrame:
    """Differences that are nearly the same with every seed."""
    return rows(seeds=seeds).with_columns(pl.col("nll") + pl.col("nll") * 0.001 * pl.col("seed"))


@pytest.mark.parametrize("seeds", [2, 3, 7])
def test_no_test_has_a_star_where_seeds_are_too_few_to_show_anything(seeds: int) -> None:
    text = printed(sure(seeds).filter(pl.col("label") != "logistic"))
    assert "p<0.001" in text or "p=0.00" in text
    assert "*" not in text.replace("no star (*)", "")
    assert "•" in text


def test_star_and_best_are_distinct_titles_in_words() -> None:
    text = " ".join(printed(sure(8)).split())
    assert "p<0.001*" in text
    assert "* p below 0.05, on worlds and with enough seeds: a difference that is shown." in text
    assert "• the best mean of all systems on that data; whether it is better with other seeds too, tests say." in text
    assert "Larger is better, except for NLL, ECE." in text
    assert "p below" not in printed(sure(3))
    assert "p:" not in printed(sure(1))
    assert "±" not in printed(sure(1))


def test_equals_are_not_marked_as_best() -> None:
    line = next(line for line in printed(rows()).splitlines() if line.strip().startswith("ECE"))
    assert "•" not in line
    alone = printed(rows().filter(pl.col("label").is_in(["sphunc", "oracle"])))
    assert "0.500•" not in alone


def test_no_test_has_a_star_where_seeds_vary_the_weights_alone() -> None:
    assert "p<0.001*" in printed(sure(8))
    tables = sure(8).with_columns(source=pl.lit(json.dumps({"tables": "mine"})))
    text = " ".join(printed(tables).split())
    assert "p<0.001*" not in text
    assert "p<0.001" in text
    assert "seeds vary the weights alone" in text


def everything(data: str) -> pl.DataFrame:
    others = ("accuracy", "macro_f1", "macro_auc", "brier", "aurc", "p_at_10", "auprc")
    columns = [*others, "p_at_10_common", "auprc_common", "link_base_rate", "links_within_reach"]
    nll = pl.when(pl.col("label") == "oracle").then(0.1).otherwise("nll")
    measured = rows(data).with_columns(nll.alias("nll"), links_kind=pl.lit("simulated"))
    return measured.with_columns((pl.col("nll") / 2).alias(name) for name in columns)


@pytest.mark.parametrize("name", ["amigos", "collaboration, 300 agents", "a world with a name that is longer than all"])
@pytest.mark.parametrize("width", [80, 50])
def test_places_can_all_be_read_on_a_narrow_terminal(name: str, width: int) -> None:
    text = printed(pl.concat([everything("snare"), everything(name)]), width=width)
    places = text[text.index("Place of") : text.index("How to read")]
    assert "…" not in places
    assert max(map(len, places.splitlines())) <= width
    assert places.count("/7") - places.count("Place of") == 2 * 12
    for words in ("Accuracy", "Macro-F1", "AUC", "NLL", "Brier", "ECE", "AURC", "P@10", "AUPRC", "common", "oracle"):
        assert words in places


def test_a_variant_is_shown_against_the_default() -> None:
    bare = rows().filter(label="sphunc").with_columns(variant=pl.lit("bare"), nll=pl.col("nll") + 0.1 * pl.col("seed"))
    text = " ".join(printed(pl.concat([rows(), bare])).split())
    assert "snare, bare: this variant minus the default of the same system" in text
    assert text.count("this variant minus") == 1
