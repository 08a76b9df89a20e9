"""The data of a cell: models never see the links that they are judged by."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sphunc.errors import DataError
from sphunc.evaluation.benchmark.sources import load_material
from sphunc.io import write_tables
from sphunc.worlds import simulate

WORLD = {"world": "snare", "knobs": {"agents": 30, "times": 4}}


def test_world_follows_its_seed_and_hides_its_links() -> None:
    first, second = (load_material(WORLD, seed) for seed in (0, 1))
    truth = simulate("snare", seed=0, agents=30, times=4)
    assert torch.equal(first.data.x, truth.data.x)
    assert not torch.equal(first.data.x, second.data.x)
    assert first.data.influence is None
    assert torch.equal(first.links, truth.links)
    assert (first.kind, first.world is not None) == ("simulated", True)


def test_tables_and_data_sets_are_read_with_their_links(tmp_path: Path) -> None:
    world = simulate("snare", seed=0, agents=30, times=4)
    write_tables(world.data, tmp_path)
    for entry in ({"tables": str(tmp_path), "options": {}}, {"dataset": "snare", "root": str(tmp_path), "options": {}}):
        material = load_material(entry, seed=5)
        assert material.world is None
        assert material.data.influence is None
        assert material.links.shape == world.links.shape


def test_numbers_are_refused(tmp_path: Path) -> None:
    data = simulate("snare", seed=0, agents=30, times=4).data
    numeric = replace(data, y=torch.rand(4, 30, 1), class_names=())
    write_tables(numeric, tmp_path)
    with pytest.raises(DataError, match="no outcomes that are classes"):
        load_material({"tables": str(tmp_path), "options": {}}, seed=0)
