"""The bar shows losses, calibration error and stage; it is silent where it should be."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from sphunc.legacy.history import EpochRecord
from sphunc.legacy.progress import ProgressBar


def record(stage="train", validation=0.75, ece=0.125):
    return EpochRecord(stage, 4, 5, 1.25, 0.0625, 0.5, 1.5, validation, ece, 0.5, 0.01, is_best=True)


def drawn(records, *, verbose, terminal, width=160):
    out = io.StringIO()
    with ProgressBar(verbose, Console(file=out, force_terminal=terminal, width=width)) as bar:
        for one in records:
            bar(one)
    return out.getvalue()


def test_the_three_losses_and_the_calibration_error_are_shown():
    text = drawn([record("cross-fit"), record()], verbose=None, terminal=True)
    for part in ("cross-fit", "train", "5/5", "pred 1.250", "entropy 0.062", "causal 0.500", "held-out 0.750", "0.125"):
        assert part in text


def test_a_narrow_terminal_cuts_words_and_no_figure():
    full = EpochRecord("cross-fit", 118, 120, 1.25, 0.0625, -0.5, 1.5, 0.75, 0.125, 0.5, 0.01, is_best=True)
    text = drawn([full], verbose=True, terminal=True, width=80)
    for part in ("cross-fit", "119/120", "pred 1.250", "ent 0.062", "caus -0.500", "held 0.750", "ECE 0.125", ":--"):
        assert part in text
    assert "…" not in text


def test_a_rival_has_bars_of_its_own():
    bar = ProgressBar(True, Console(file=io.StringIO(), force_terminal=True, width=160))
    bar(replace(record(), epoch=0, epochs=1))
    for epoch in range(3):
        bar(replace(record(), epoch=epoch, epochs=6, rival=True))
    assert [(task.completed, task.total) for task in bar._progress.tasks] == [(1, 1), (3, 6)]


def test_words_are_said_where_the_bar_is_shown():
    for verbose, shown in ((True, True), (False, False)):
        out = io.StringIO()
        with ProgressBar(verbose, Console(file=out, force_terminal=True, width=80)) as bar:
            bar.say("begins [anew]")
        assert ("begins [anew]" in out.getvalue()) == shown


def test_nothing_held_out_is_a_dash():
    assert "held-out - · ECE -" in drawn([record(validation=None, ece=None)], verbose=True, terminal=True)


@pytest.mark.parametrize(("verbose", "terminal"), [(False, True), (None, False)])
def test_it_is_silent_when_told_and_where_nobody_looks(verbose, terminal):
    assert drawn([record()], verbose=verbose, terminal=terminal) == ""
