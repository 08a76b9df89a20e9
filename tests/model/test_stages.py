"""Stages are computed once, read back to the bit, and refused when they belong to another fit."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.errors import CheckpointError
from sphunc.forecasting.distribution import Categorical
from sphunc.model.stages import StageStore, fingerprint_of


def test_stage_is_computed_once_and_read_to_the_bit(tmp_path):
    made = []

    def compute():
        made.append(1)
        return Categorical(torch.rand(3, 2, generator=torch.Generator().manual_seed(0)).log_softmax(-1))

    store = StageStore(tmp_path, "digest")
    first = store.run("final", compute)
    second = StageStore(tmp_path, "digest").run("final", compute)
    assert len(made) == 1
    assert torch.equal(first.log_probabilities, second.log_probabilities)
    assert store.has_any()
    store.clear()
    assert not store.has_any()


def test_stage_of_another_fit_is_refused(tmp_path):
    StageStore(tmp_path, "one").run("final", lambda: None)
    with pytest.raises(CheckpointError, match="other data or settings"):
        StageStore(tmp_path, "two").run("final", lambda: None)


def test_without_a_folder_everything_is_computed():
    assert StageStore().run("final", lambda: 3) == 3
    assert not StageStore().has_any()


def test_fingerprint_knows_data_and_settings():
    data = sphunc.simulate("snare", agents=12, times=3, seed=0).data
    moved = replace(data, x=data.x.clone())
    moved.x[0, 0, 0] += moved.x_mask[0, 0, 0].float()
    changed = replace(data, x=data.x * 1.5)
    assert fingerprint_of(data, 1) == fingerprint_of(data, 1)
    assert fingerprint_of(data, 1) != fingerprint_of(data, 2)
    assert fingerprint_of(data) != fingerprint_of(changed)
