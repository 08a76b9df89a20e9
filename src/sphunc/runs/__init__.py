"""A run: one fit in a folder of plain files, with all that belongs to it; copied to another machine it opens there."""

from sphunc.runs.continuing import continue_data
from sphunc.runs.evaluation import Evaluation, evaluate
from sphunc.runs.fitting import fit_run
from sphunc.runs.lock import locked
from sphunc.runs.run import Run, RunSettings, read_json, time_of, write_json
from sphunc.runs.spreadsheets import escape_formulas, flat_frame, write_csv

__all__ = [
    "Evaluation",
    "Run",
    "RunSettings",
    "continue_data",
    "escape_formulas",
    "evaluate",
    "fit_run",
    "flat_frame",
    "locked",
    "read_json",
    "time_of",
    "write_csv",
    "write_json",
]
