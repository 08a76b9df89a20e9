"""Columns are found under their names and aliases; what is left over stays a feature."""

import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.roles import ALIASES, find_roles


def roles(kind, *columns):
    log = FaultLog()
    found = find_roles(kind, "file", columns, log)
    return found, log.total


@pytest.mark.parametrize("alias", ["time", *ALIASES["time"]])
@pytest.mark.parametrize("shape", [str, str.upper, "  {} ".format])
def test_every_alias_of_time_in_any_case(alias, shape):
    name = shape(alias)
    assert roles("features", name, "agent", "mood") == ({"time": name, "agent": "agent"}, 0)


def test_the_canonical_name_wins_over_its_aliases():
    assert roles("features", "t", "time", "agent", "id") == ({"time": "time", "agent": "agent"}, 0)


def test_optional_weight():
    assert roles("groups", "time", "edge", "node", "weight")[0] == {
        "time": "time",
        "group": "edge",
        "agent": "node",
        "weight": "weight",
    }


def test_missing_doubled_and_ambiguous_columns_are_noted():
    assert roles("groups", "time", "agent")[1] == 1
    assert roles("groups", "time", "agent", "group", "x", "x")[1] == 1
    assert roles("influence", "src", "from", "to")[1] == 1


@pytest.mark.parametrize(
    ("columns", "remedy"),
    [
        (("wave", "PupilNr", "mood"), "did you mean agent='PupilNr' (--agent PupilNr)"),
        (("Woche", "agent", "week_no"), "did you mean time='week_no' (--time week_no)"),
        (("time", "agnt", "mood"), "did you mean agent='agnt' (--agent agnt)"),
    ],
)
def test_likely_columns_are_suggested(columns, remedy):
    log = FaultLog()
    assert find_roles("features", "features.csv", columns, log) is None
    with pytest.raises(DataError) as error:
        log.raise_if_any()
    assert remedy in str(error.value)


def test_columns_that_the_user_names():
    layout = Layout(agent="pupil", time="wave")
    found = find_roles("features", "f", ["wave", "pupil", "id", "time"], FaultLog(), layout)
    assert found == {"time": "wave", "agent": "pupil"}
    assert find_roles("groups", "g", ["time", "group", "agent"], FaultLog(), layout) is not None
