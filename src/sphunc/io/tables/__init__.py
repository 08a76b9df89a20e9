"""A folder of tables, or dataframes, to a temporal hypergraph and back."""

from sphunc.io.tables.folder import SUFFIXES, read_tables
from sphunc.io.tables.frames import from_frames
from sphunc.io.tables.layout import Layout, layout_of
from sphunc.io.tables.writing import to_frames, write_tables

__all__ = ["SUFFIXES", "Layout", "from_frames", "layout_of", "read_tables", "to_frames", "write_tables"]
