"""Columns that are named exist, and the outcome is the column that the user means."""

import pytest

import sphunc
from sphunc.errors import DataError


def fill(folder, outcomes="time,agent,smokes,drinks\n1,a,yes,no\n1,b,yes,no\n"):
    (folder / "features.csv").write_text("time,agent,mood\n1,a,0.5\n1,b,1\n")
    (folder / "groups.csv").write_text("time,group,agent\n1,g,a\n1,g,b\n")
    (folder / "outcomes.csv").write_text(outcomes)
    return folder


def test_one_of_several_outcomes(tmp_path):
    with pytest.warns(UserWarning, match="outcomes.csv: the outcome is 'smokes'; 'drinks' is left out"):
        data = sphunc.read_tables(fill(tmp_path), outcome="smokes")
    assert data.class_names == ("yes",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agent": "agents"}, "agent is 'agents', but no table has a column of that name. Did you mean --agent agent"),
        ({"drop": "height"}, "drop is 'height', but no table has a column of that name. Name one of 'time'"),
        ({"outcome": "class"}, "To say what kind of outcome it is, write outcome_kind='class'"),
    ],
)
def test_names_that_no_table_has(tmp_path, options, message):
    with pytest.raises(DataError) as error:
        sphunc.read_tables(fill(tmp_path), **options)
    assert message in str(error.value)
