"""The bar shows the stage where somebody looks, and nothing elsewhere."""

import io

from rich.console import Console

from sphunc.forecasting.progress import ProgressBar, StageRecord


def run(verbose, terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    with ProgressBar(verbose, console) as bar:
        bar(StageRecord("states and links", 0.5, 1.0))
        bar.say("states add nothing")
    return console.file.getvalue()


def test_stage_and_lines_are_shown_on_a_terminal():
    shown = run(None, True)
    assert "states and links" in shown
    assert "states add nothing" in shown


def test_nothing_is_shown_where_nobody_looks():
    assert run(None, False) == ""
    assert run(False, True) == ""


def test_lines_are_shown_when_asked_for():
    assert "states add nothing" in run(True, False)
