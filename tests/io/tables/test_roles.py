"""Columns are found under their names and aliases; what is left over stays a feature."""

import pytest

from sphunc.io.faults import FaultLog
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
