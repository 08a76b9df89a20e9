"""Files and dataframes in and out: every fault named with its place and its remedy."""

from sphunc.io.frames import from_frames
from sphunc.io.tables import read_tables, write_tables

__all__ = ["from_frames", "read_tables", "write_tables"]
