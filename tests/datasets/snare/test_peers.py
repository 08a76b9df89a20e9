import numpy as np
import polars as pl
import pytest

from sphunc.datasets.snare.peers import study_tables
from sphunc.errors import ArgumentError
from sphunc.io import SienaStudy, decode


@pytest.fixture
def study() -> SienaStudy:
    codes = np.array([[[0, 1, 1], [0, 0, 0], [10, 10, 0]], [[0, 1, 9], [1, 0, 0], [0, 0, 0]]])
    smoke = np.array([[1, 2], [1, 1], [np.nan, 3]])
    alcohol = np.array([[1, 2], [np.nan, 4], [5, 5]])
    return SienaStudy(("a", "b", "c"), (1, 2), {"n": decode(codes)}, {"alcohol": alcohol, "smoke": smoke}, {})


def test_ego_and_nominees_are_a_group(study: SienaStudy) -> None:
    tables = study_tables(study, outcome=None, network=None, smallest=2, release="siena")
    assert tables.groups.filter(pl.col("time") == 1).rows() == [(1, "a", "a"), (1, "a", "b"), (1, "a", "c")]
    assert set(tables.groups.filter(pl.col("time") == 2)["group"]) == {"a", "b"}


def test_influence_runs_from_the_named_to_the_naming(study: SienaStudy) -> None:
    tables = study_tables(study, outcome=None, network=None, smallest=2, release="siena")
    assert tables.influence is not None
    assert tables.influence.rows() == [("a", "b"), ("b", "a"), ("c", "a")]
    assert tables.influence_kind == "observed nomination"


def test_absent_actor_has_no_row_even_if_answers_were_filled_in(study: SienaStudy) -> None:
    tables = study_tables(study, outcome="smoke", network=None, smallest=2, release="siena")
    assert tables.features.filter((pl.col("time") == 1) & (pl.col("agent") == "c")).is_empty()
    assert tables.counts["present wave 1"] == 2
    assert tables.counts["present wave 2"] == 3
    assert tables.agents == ("a", "b", "c")


def test_outcome_is_smoke_unless_said_and_is_no_feature(study: SienaStudy) -> None:
    tables = study_tables(study, outcome=None, network=None, smallest=2, release="siena")
    assert tables.class_names == ("none", "occasional", "regular")
    assert "smoke" not in tables.features.columns
    assert tables.outcomes.rows()[-1] == (2, "c", "regular")
    other = study_tables(study, outcome="alcohol", network=None, smallest=2, release="siena")
    assert "smoke" in other.features.columns
    assert len(other.class_names) == 5
    with pytest.raises(ArgumentError, match="outcome='mood' is not in the study; values per wave: alcohol, smoke"):
        study_tables(study, outcome="mood", network=None, smallest=2, release="siena")


def test_unknown_answers_and_ties(study: SienaStudy) -> None:
    tables = study_tables(study, outcome="smoke", network=None, smallest=2, release="siena")
    row = tables.features.row(by_predicate=(pl.col("time") == 1) & (pl.col("agent") == "b"), named=True)
    assert row["alcohol"] is None
    assert (row["ties sent"], row["ties received"]) == (0, 1)
    assert tables.counts["missing cells wave 2"] == 1
    assert tables.counts["structural cells wave 1"] == 2


def test_network_must_be_chosen_among_several(study: SienaStudy) -> None:
    two = SienaStudy(study.ids, study.waves, {"n": study.networks["n"], "m": study.networks["n"]}, study.values)
    with pytest.raises(ArgumentError, match="network=None: choose one of m, n"):
        study_tables(two, outcome=None, network=None, smallest=2, release="siena")
