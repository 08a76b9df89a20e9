"""What a benchmark shows is what its rows say, whoever wins."""

import math

import polars as pl
import pytest

from sphunc.evaluation import compare
from sphunc.evaluation.benchmark.summary import sections_of, standing, with_oracle_share

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
    found = standing([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert standing([1.0]).half is None


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
    assert section.peers == ("sphunc", "hypergcn", "cignn")
    assert section.trivial == ("logistic", "majority")
    assert section.ceiling == "oracle"
    assert section.calibrated["sphunc"] == (1, 3)
    assert set(section.best["ece"]) == set(NLL) - {"oracle"}, "equal as printed is a tie"


def test_tests_are_the_corrected_ones_with_holm_among_the_peers() -> None:
    (section,) = sections_of(rows(), "sphunc")
    peers = {label: NLL[label] for label in ("sphunc", "hypergcn", "cignn")}
    wanted = compare(peers, "sphunc", train_size=700, test_size=200)
    assert {label: section.tests["nll"][label] for label in wanted} == wanted
    assert set(section.tests["nll"]) == {"hypergcn", "cignn", "logistic", "majority"}


def test_seeds_that_a_peer_lacks_are_left_out_of_its_family() -> None:
    table = rows().filter(~((pl.col("label") == "cignn") & (pl.col("seed") == 2)))
    (section,) = sections_of(table, "sphunc")
    assert section.tests["nll"]["hypergcn"].pairs == 2
    assert section.tests["nll"]["logistic"].pairs == 3


def test_too_few_seeds_are_said_plainly() -> None:
    (section,) = sections_of(rows(), "sphunc")
    assert "n is small. 3 pairs are too few: the Wilcoxon signed-rank test cannot go below p = 0.25" in section.notes[0]
    assert "Chance level of P@10 and AUPRC: 0.100; 100 % of the simulated links are candidates." in section.notes[1]
    (single,) = sections_of(rows().filter(seed=0), "sphunc")
    assert single.notes[0].startswith("One seed: nothing shows how much results vary")
    assert single.tests["nll"] == {}
    (absent,) = sections_of(rows().filter(pl.col("label") != "sphunc"), "sphunc")
    assert absent.notes[0].startswith("sphunc has no finished cell here")


def test_sections_follow_data_in_order() -> None:
    both = pl.concat([rows(), rows(data="amigos")])
    assert [section.data for section in sections_of(both, "sphunc")] == ["snare", "amigos"]
    assert sections_of(pl.DataFrame(), "sphunc") == ()
