"""Files and dataframes in and out: every fault named with its place and its remedy."""

from sphunc.io.extras import load_extra
from sphunc.io.faults import FaultyDataError
from sphunc.io.files import replacing, write_text
from sphunc.io.formats import (
    SienaNetwork,
    SienaStudy,
    decode,
    from_hgx,
    from_pyg,
    from_xgi,
    is_session,
    read_cornell,
    read_hif,
    read_siena,
    to_hgx,
    to_pyg,
    to_xgi,
    write_cornell,
    write_hif,
)
from sphunc.io.tables import SUFFIXES, Layout, from_frames, layout_of, read_tables, to_frames, write_tables

__all__ = [
    "SUFFIXES",
    "FaultyDataError",
    "Layout",
    "SienaNetwork",
    "SienaStudy",
    "decode",
    "from_frames",
    "from_hgx",
    "from_pyg",
    "from_xgi",
    "is_session",
    "layout_of",
    "load_extra",
    "read_cornell",
    "read_hif",
    "read_siena",
    "read_tables",
    "replacing",
    "to_frames",
    "to_hgx",
    "to_pyg",
    "to_xgi",
    "write_cornell",
    "write_hif",
    "write_tables",
    "write_text",
]
