"""Stages of a fit are read back where they are kept, and those of another fit are refused."""

import pytest
import torch

from sphunc.errors import CheckpointError
from sphunc.hypergraph import assemble
from sphunc.model.base import Standardiser
from sphunc.model.stages import STAGES, StageStore, fingerprint_of


def value(shift=0.0):
    return Standardiser(torch.arange(3.0).double() + shift, torch.ones(3).double(), torch.zeros(3, dtype=torch.bool))


def never():
    raise AssertionError("the stage is kept, and must not run again")


def test_a_stage_that_is_kept_does_not_run_again(tmp_path):
    store = StageStore(tmp_path, "abc")
    assert not store.has_any()
    first = store.run("chains", value)
    assert store.has_any()
    again = StageStore(tmp_path, "abc").run("chains", never)
    assert torch.equal(again.mean, first.mean)
    assert StageStore(tmp_path, "abc").run("final", lambda: None) is None
    assert StageStore(tmp_path, "abc").run("final", never) is None


def test_without_a_folder_nothing_is_kept():
    store = StageStore()
    assert torch.equal(store.run("chains", value).mean, value().mean)
    assert torch.equal(store.run("chains", lambda: value(1.0)).mean, value(1.0).mean)
    assert not store.has_any()
    store.clear()


def test_stages_of_another_fit_are_refused(tmp_path):
    StageStore(tmp_path, "abc").run("chains", value)
    with pytest.raises(CheckpointError, match=r"holds a fit of other data or settings; resume with these, or begin"):
        StageStore(tmp_path, "other").run("chains", never)


def test_clearing_leaves_nothing(tmp_path):
    store = StageStore(tmp_path, "abc")
    for name in STAGES:
        store.run(name, value)
    store.clear()
    assert not store.has_any()
    assert list(tmp_path.iterdir()) == []


def panel(mood=1.0, ids="ab"):
    return assemble(
        times=[0, 1],
        node_ids=ids,
        features=([0, 1], [0, 1], [[mood], [2.0]]),
        feature_names=("mood",),
        outcomes=([0, 1], [0, 1], [0, 1]),
        class_names=("no", "yes"),
    )


def test_every_value_and_setting_is_in_the_fingerprint():
    plain = fingerprint_of(panel(), 1, "a")
    assert fingerprint_of(panel(), 1, "a") == plain
    others = [
        fingerprint_of(panel(1.5), 1, "a"),
        fingerprint_of(panel(ids="ac"), 1, "a"),
        fingerprint_of(panel(), 2, "a"),
    ]
    assert len({plain, *others}) == 4
