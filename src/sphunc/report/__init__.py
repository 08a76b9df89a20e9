"""What people expect to read: results as tables with their uncertainty, and a report in one file."""

from sphunc.report.agents import agents_to_look_at
from sphunc.report.change import change_over_time
from sphunc.report.convergence import convergence
from sphunc.report.document import write_report
from sphunc.report.goodness import GoodnessOfFit, goodness_of_fit
from sphunc.report.influences import influence_table
from sphunc.report.parameters import block_table, parameter_table
from sphunc.report.quality import HeldOutOutcomes, held_out_outcomes, quality_table
from sphunc.report.refutation import refutation_table
from sphunc.report.table import Table
from sphunc.report.worth import fit_worth

__all__ = [
    "GoodnessOfFit",
    "HeldOutOutcomes",
    "Table",
    "agents_to_look_at",
    "block_table",
    "change_over_time",
    "convergence",
    "fit_worth",
    "goodness_of_fit",
    "held_out_outcomes",
    "influence_table",
    "parameter_table",
    "quality_table",
    "refutation_table",
    "write_report",
]
