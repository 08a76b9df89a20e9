"""What a user says of tables stands in arguments or in ``sphunc.toml``; arguments win."""

import pytest

from sphunc.errors import ArgumentError, DataError
from sphunc.io.tables.layout import Layout, layout_of


def test_arguments_win_over_the_file_and_the_file_over_defaults(tmp_path):
    (tmp_path / "sphunc.toml").write_text('agent = "pupil"\ntime = "wave"\nmissing = [-99, "?"]\ndayfirst = true\n')
    layout = layout_of(tmp_path, {"agent": "child", "time": None, "drop": (), "missing": ()})
    assert layout == Layout(agent="child", time="wave", missing=("-99", "?"), dayfirst=True)
    assert layout_of(tmp_path, {"missing": 0}).missing == ("0",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agnet = 'a'", "'agnet' is not a key; did you mean 'agent'?"),
        ("agent = 3", "agent is 3. Give a text"),
        ("dayfirst = 'yes'", "dayfirst is 'yes'. Give true or false"),
        ("agent", "the file is no TOML"),
        ("decimal = ';'", "decimal is ';'; choose '.' or ','"),
    ],
)
def test_faults_of_the_file_name_the_key(tmp_path, text, message):
    (tmp_path / "sphunc.toml").write_text(text)
    with pytest.raises(DataError) as error:
        layout_of(tmp_path, {})
    assert str(error.value).startswith("sphunc.toml: ")
    assert message in str(error.value)


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="outcome_kind is 'words'"):
        Layout(outcome_kind="words")
    with pytest.raises(ArgumentError, match="decimal is 'x'"):
        Layout(decimal="x")
