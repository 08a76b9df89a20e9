"""Without a terminal, a line per stage with the time left."""

from sphunc.cli.progress import FitProgress
from sphunc.forecasting import StageRecord


def test_a_line_per_stage(capsys):
    with FitProgress() as progress:
        for stage, share, seconds in (("one", 0.0, 0.0), ("two", 0.2, 5.0), ("two", 0.5, 9.0), ("done", 1.0, 20.0)):
            progress(StageRecord(stage, share, seconds))
    assert capsys.readouterr().err == "  0% one\n 20% two, about 20 s left\n100% done\n"
