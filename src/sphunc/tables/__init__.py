"""Every table of the paper, each from one experiment file, with the paper's own figures quoted beside ours."""

from sphunc.tables.running import make_tables, table_without_results
from sphunc.tables.specifications import EXPERIMENTS, SOURCES, check_table, experiment_file

__all__ = ["EXPERIMENTS", "SOURCES", "check_table", "experiment_file", "make_tables", "table_without_results"]
