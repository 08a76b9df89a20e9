"""A folder of tables, or dataframes, to a temporal hypergraph and back."""

from sphunc.io.tables.folder import SUFFIXES, read_tables
from sphunc.io.tables.frames import from_frames
from sphunc.io.tables.writing import write_tables

__all__ = ["SUFFIXES", "from_frames", "read_tables", "write_tables"]
