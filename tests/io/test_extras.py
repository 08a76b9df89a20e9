"""A missing library is named with the extra that brings it."""

import json

import pytest

from sphunc.errors import MissingExtraError
from sphunc.io.extras import load_extra


def test_missing_library():
    with pytest.raises(
        MissingExtraError, match=r'no_such_library is not installed; get it with: pip install "sphunc\[xgi\]"'
    ):
        load_extra("no_such_library.part", "xgi")


def test_installed_library():
    assert load_extra("json", "any") is json


@pytest.mark.parametrize(
    ("name", "function", "extra"),
    [("xgi", "to_xgi", "xgi"), ("hypergraphx", "to_hgx", "hgx"), ("torch_geometric", "to_pyg", "pyg")],
)
def test_every_bridge_names_its_extra(monkeypatch, name, function, extra):
    import sphunc.io
    from sphunc.hypergraph import assemble

    for module in ("torch_geometric.data.hypergraph_data", name):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "sphunc\[{extra}\]"'):
        getattr(sphunc.io, function)(assemble(times=[0], node_ids=["a"]))
