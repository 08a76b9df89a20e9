"""Ids keep their kind, and 007 never becomes 7; numbers are finite or noted."""

import numpy as np
import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.cells import common_kind, numbers, restore_ids, similar_id, sort_ids
from sphunc.io.tables.table import Table


def table(ids, typed, file="features"):
    return Table(file, pl.DataFrame({"agent": ids}), {"agent": "agent"}, FaultLog(), typed)


def kind_of(*tables, prefer=""):
    found = common_kind([(one, "agent") for one in tables], "agent", prefer=prefer)
    for one in tables:
        one.log.raise_if_any()
    return found


def read(column, typed=True):
    table = Table("f", pl.DataFrame({"x": column}), {}, FaultLog(), typed)
    return numbers(table, "x", what="a feature", nan_is_missing=False), table.log


def test_untyped_ids_are_integers_only_if_all_of_them_are_written_so():
    assert kind_of(table(["7", "10", None], False), table(["-1", "0"], False)) == "integer"
    assert kind_of(table(["7", "10"], False), table(["007"], False)) == "text"
    assert kind_of(table(["7"], False), prefer="text") == "text"


def test_typed_ids_decide_for_untyped_ones():
    assert kind_of(table([7], True), table(["7"], False)) == "integer"
    assert kind_of(table(["7"], True), table(["7"], False)) == "text"


def test_ids_of_two_kinds_are_refused():
    with pytest.raises(
        DataError, match="g column agent: agent ids are text here but integers in features, and '007' is not 7"
    ):
        kind_of(table([7], True), table(["007"], True, "g"))
    with pytest.raises(
        DataError, match="g row 0, column agent: '007' is not written as an integer, but the agent ids of f"
    ):
        kind_of(table([7], True), table(["007"], False, "g"))
    with pytest.raises(DataError, match=r"agent ids have type Float64\. Store them as integers or text"):
        kind_of(table([7.0], True))


def test_ids_are_sorted_by_their_kind():
    assert sort_ids(["10", "9", "-1"], "integer") == ["-1", "9", "10"]
    assert sort_ids(["10", "9"], "text") == ["10", "9"]
    assert restore_ids(["10"], "integer") == [10]


def test_numbers_of_every_type():
    for column in (["1", " 2.5 ", "", "NA"], [1.0, 2.5, None, None], [True, None, None, None]):
        found, log = read(column, typed=False)
        log.raise_if_any()
        assert found.dtype == np.float32
        assert np.isnan(found[3])
        assert found[0] == 1


@pytest.mark.parametrize("value", ["one", "1,5", "nan", "-inf", "1e39", float("inf")])
def test_what_is_no_finite_number_is_noted(value):
    assert read([value])[1].total == 1


def test_columns_that_can_never_be_numbers():
    with pytest.raises(DataError, match="f column x: a feature has type List"):
        read([[1.0]])[1].raise_if_any()


def test_ids_that_differ_by_spaces_zeros_or_case():
    assert similar_id("7", ["a", "007"]) == "007"
    assert similar_id(" Bob", ["bob"]) == "bob"
    assert similar_id("8", ["007"]) is None
