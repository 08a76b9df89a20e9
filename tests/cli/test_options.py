"""A TOML file states options under their long names; what is no option is refused with the one that was meant."""

import json

import pytest

from sphunc.cli.options import layout_arguments


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agnet = 'a'", "'agnet' is not a key; did you mean 'agent'?; allowed: agent, allow_empty"),
        ("[agent]\nx = 1", "agent is a table; write keys = values"),
        ("agent", "cannot be read"),
        ("config = 'x'", "'config' is not a key"),
    ],
)
def test_faults_of_the_file(command, small_tables, tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    code, _, err = command("check", small_tables, "--config", tmp_path / "c.toml")
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_keys_with_dashes_and_single_values_for_lists(command, tmp_path):
    (tmp_path / "all.csv").write_text("time,agent,y,f,g\n1,a,0.5,-99,1\n2,a,0.7,3,1\n")
    (tmp_path / "c.toml").write_text(
        'outcome = "y"\noutcome-kind = "number"\nmissing = "-99"\ndrop = ["g"]\njson = true\n'
    )
    code, out, err = command("check", tmp_path / "all.csv", "--config", tmp_path / "c.toml")
    found = json.loads(out)
    assert code == 0
    assert found["features"] == 1
    assert "note: all.csv column f: 1 cell of -99 left empty, as asked for" in err


def test_arguments_of_the_reader():
    values = {"agent": "pupil", "drop": [], "allow_rare": True, "dayfirst": None, "seed": 1, "missing": ["-9"]}
    assert layout_arguments(values) == {"agent": "pupil", "allow_rare_classes": True, "missing": ["-9"]}
