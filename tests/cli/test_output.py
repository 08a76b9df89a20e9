"""Tables for people, JSON and CSV for programs."""

import json
import warnings

import polars as pl
import pytest

from sphunc.cli.output import Form, form_of, is_lively, notes, print_csv, print_json, print_table
from sphunc.errors import ArgumentError

FRAME = pl.DataFrame({"agent": ["=a", "b", "c"], "x": [0.5, None, float("nan")], "set": [["u", "v"], [], ["w"]]})


def test_table(capsys):
    print_table(FRAME, title="Some agents", rows=2)
    out = capsys.readouterr().out
    assert out.startswith("Some agents:\n")
    assert "0.500" in out
    assert "u | v" in out
    assert "... and 1 more rows" in out


def test_csv_escapes_formulas(capsys):
    print_csv(FRAME)
    assert capsys.readouterr().out.splitlines()[1] == "'=a,0.5,u | v"


def test_json_has_null_for_what_it_cannot_say(capsys):
    print_json({"rows": FRAME, "when": Form.TEXT})
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["x"] for row in rows] == [0.5, None, None]
    assert rows[0]["agent"] == "=a"


def test_forms():
    assert [form_of(False, False), form_of(True, False), form_of(False, True)] == [Form.TEXT, Form.JSON, Form.CSV]
    with pytest.raises(ArgumentError, match="exclude each other"):
        form_of(True, True)


def test_warnings_become_notes_once(capsys):
    with notes() as said:
        warnings.warn("first\nsecond", UserWarning, stacklevel=1)
        warnings.warn("first", UserWarning, stacklevel=1)
        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
    assert said == ["first", "second"]
    assert capsys.readouterr().err == "note: first\nnote: second\n"


def test_nothing_is_drawn_without_a_terminal_or_without_colour(monkeypatch):
    assert not is_lively()
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not is_lively()
