"""Experiment matrices: a declarative file, cells that are measured once, a store, a summary."""

from sphunc.evaluation.benchmark.cells import ORACLE, Cell, expand
from sphunc.evaluation.benchmark.engines import Engine, LocalEngine, Outcome
from sphunc.evaluation.benchmark.matrix import Matrix
from sphunc.evaluation.benchmark.ray_engine import RayEngine
from sphunc.evaluation.benchmark.reading import make_matrix, quick_matrix, read_matrix
from sphunc.evaluation.benchmark.runner import Event, Report, run_matrix
from sphunc.evaluation.benchmark.store import Progress, Store
from sphunc.evaluation.benchmark.summary import (
    HEADLINES,
    Headline,
    Section,
    Standing,
    absent_notes,
    sections_of,
    standing,
)

__all__ = [
    "HEADLINES",
    "ORACLE",
    "Cell",
    "Engine",
    "Event",
    "Headline",
    "LocalEngine",
    "Matrix",
    "Outcome",
    "Progress",
    "RayEngine",
    "Report",
    "Section",
    "Standing",
    "Store",
    "absent_notes",
    "expand",
    "make_matrix",
    "quick_matrix",
    "read_matrix",
    "run_matrix",
    "sections_of",
    "standing",
]
