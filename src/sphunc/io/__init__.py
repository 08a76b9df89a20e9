"""Files and dataframes in and out: every fault named with its place and its remedy."""

from sphunc.io.cornell import read_cornell, write_cornell
from sphunc.io.frames import from_frames
from sphunc.io.hgx import from_hgx, to_hgx
from sphunc.io.hif import read_hif, write_hif
from sphunc.io.pyg import from_pyg, to_pyg
from sphunc.io.tables import read_tables, write_tables
from sphunc.io.xgi import from_xgi, to_xgi

__all__ = [
    "from_frames",
    "from_hgx",
    "from_pyg",
    "from_xgi",
    "read_cornell",
    "read_hif",
    "read_tables",
    "to_hgx",
    "to_pyg",
    "to_xgi",
    "write_cornell",
    "write_hif",
    "write_tables",
]
