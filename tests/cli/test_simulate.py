"""`sphunc simulate` writes tables that read back as the world's data."""

import re

import pytest
import torch
from typer.testing import CliRunner

import sphunc
from sphunc.cli import app
from sphunc.cli.simulate import _knob


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["simulate", *arguments])


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_tables_read_back_as_the_same_world(tmp_path, format) -> None:
    folder = str(tmp_path / "world")
    arguments = ["--seed", "3", "--agents", "30", "--times", "4", "--set", "missing=0.2", "--format", format]
    result = invoke("snare", folder, *arguments)
    assert result.exit_code == 0, result.output
    assert "30 agents" in result.output
    read, world = sphunc.read_tables(folder), sphunc.simulate("snare", seed=3, agents=30, times=4, missing=0.2)
    assert read.node_ids == world.data.node_ids
    assert torch.equal(read.x_mask, world.data.x_mask)
    assert torch.allclose(read.x, world.data.x, atol=1e-6)
    assert torch.equal(read.y, world.data.y)
    assert torch.equal(read.hyperedge_index, world.data.hyperedge_index)
    assert {tuple(link) for link in read.influence.T.tolist()} == {tuple(link) for link in world.links.T.tolist()}


def test_bad_input_is_refused_before_anything_is_written(tmp_path) -> None:
    folder = tmp_path / "world"
    for arguments, message in [
        (["snar"], "choose one of snare, pheme"),
        (["snare", "--set", "mising=0.1"], "did you mean .missing.?"),
        (["snare", "--set", "missing"], "KNOB=NUMBER"),
        (["snare", "--set", "missing=lots"], "'lots' is not a number"),
    ]:
        result = invoke(arguments[0], str(folder), *arguments[1:])
        assert result.exit_code != 0
        assert re.search(message, str(result.exception)), result.exception
    assert not folder.exists()


def test_knob_keeps_whole_numbers_whole() -> None:
    assert _knob("communities=4") == ("communities", 4)
    assert _knob("unseen=0.1") == ("unseen", 0.1)
