"""Formats of other libraries and archives: HIF, Cornell, xgi, hypergraphx, PyG, SIENA."""

from sphunc.io.formats.cornell import read_cornell, write_cornell
from sphunc.io.formats.hif import read_hif, write_hif
from sphunc.io.formats.hypergraphx import from_hgx, to_hgx
from sphunc.io.formats.pyg import from_pyg, to_pyg
from sphunc.io.formats.siena import SienaNetwork, SienaStudy, decode, is_session, read_siena
from sphunc.io.formats.xgi import from_xgi, to_xgi

__all__ = [
    "SienaNetwork",
    "SienaStudy",
    "decode",
    "from_hgx",
    "from_pyg",
    "from_xgi",
    "is_session",
    "read_cornell",
    "read_hif",
    "read_siena",
    "to_hgx",
    "to_pyg",
    "to_xgi",
    "write_cornell",
    "write_hif",
]
