"""Faults read as sentences, stand in the order of their rows, and are counted beyond twenty."""

import pytest

from sphunc.errors import DataError
from sphunc.io.faults import Fault, FaultLog, describe_known, single_fault


def test_a_fault_reads_as_a_sentence():
    assert (
        str(Fault("f.csv", "it is wrong", "Mend it", row=3, column="x"))
        == "f.csv row 3, column x: it is wrong. Mend it."
    )
    assert str(Fault("f.csv", "it is wrong", "Mend it", column="x")) == "f.csv column x: it is wrong. Mend it."
    assert str(Fault("f.csv", "it is wrong", "Mend it")) == "f.csv: it is wrong. Mend it."


def test_nothing_is_raised_without_faults():
    FaultLog().raise_if_any()


def test_faults_stand_by_file_in_the_order_of_rows_and_the_rest_is_counted():
    log = FaultLog()
    log.extend("a.csv", [Fault("a.csv", "late", "Mend it", row=row) for row in range(100, 120)], 500)
    log.extend("a.csv", [Fault("a.csv", "early", "Mend it", row=row) for row in range(5)], 5)
    log.add(Fault("b.csv", "other", "Mend it"))
    with pytest.raises(DataError) as caught:
        log.raise_if_any()
    lines = str(caught.value).splitlines()
    assert lines[0] == "505 faults in a.csv:"
    assert lines[1] == "  a.csv row 0: early. Mend it."
    assert lines[20] == "  a.csv row 114: late. Mend it."
    assert lines[21:] == ["  ... and 485 more in a.csv", "1 fault in b.csv:", "  b.csv: other. Mend it."]
    assert caught.value.total == 506  # pyright: ignore[reportAttributeAccessIssue]


def test_known_values_in_a_few_words():
    assert describe_known("agents", ["a", "b"]) == "agents known: a, b"
    assert describe_known("agents", []) == "agents known: none"
    assert describe_known("agents", list("abcdef")) == "6 agents known: a ... f"


def test_single_fault_is_a_data_error():
    error = single_fault(Fault("f.csv", "it is wrong", "Mend it", row=1))
    assert isinstance(error, DataError)
    assert str(error) == "f.csv row 1: it is wrong. Mend it."
