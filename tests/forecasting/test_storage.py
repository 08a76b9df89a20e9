"""A bundle is replaced as one, survives a writer killed anywhere, and refuses what is not its own in clear words."""

import json
import math
import os
import shutil
from pathlib import Path

import pytest
import torch

import sphunc
from sphunc.errors import CheckpointError
from sphunc.forecasting.storage import (
    FORMAT,
    SEAL,
    has_bundle,
    read_bundle,
    remove_bundle,
    sealed,
    write_bundle,
)


@pytest.fixture
def folder(tmp_path):
    write_bundle(tmp_path, "model", {"answer": 42}, {"weight": torch.arange(6.0), "state": torch.ByteTensor([1, 2])})
    return tmp_path


def tensors_file(folder):
    return next(folder.glob("model-*.safetensors"))


def test_what_was_written_is_read(folder):
    document, tensors = read_bundle(folder, "model")
    assert document["answer"] == 42
    assert torch.equal(tensors["weight"], torch.arange(6.0))
    assert tensors["state"].dtype == torch.uint8
    assert has_bundle(folder, "model")


def test_the_version_is_that_of_the_package(folder):
    assert read_bundle(folder, "model")[0]["sphunc"] == sphunc.__version__


def test_writing_again_leaves_one_pair(folder):
    write_bundle(folder, "model", {"answer": 43}, {"weight": torch.zeros(2)})
    assert read_bundle(folder, "model")[0]["answer"] == 43
    assert len(list(folder.iterdir())) == 2


def test_removing_leaves_nothing(folder):
    remove_bundle(folder, "model")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("dies_at", [1, 2])
def test_a_writer_killed_before_a_rename_leaves_the_old_pair(folder, monkeypatch, dies_at):
    count = 0
    real = Path.replace

    def dying(self, target):
        nonlocal count
        count += 1
        if count == dies_at:
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(folder, "model", {"answer": 43}, {"weight": torch.zeros(2)})
    document, tensors = read_bundle(folder, "model")
    assert document["answer"] == 42
    assert tensors["weight"].numel() == 6


@pytest.mark.parametrize("keep", [0, 10, 60])
def test_truncated_tensors_are_refused(folder, keep):
    os.truncate(tensors_file(folder), keep)
    with pytest.raises(CheckpointError, match=f"has {keep} bytes that are not those model.json was written with"):
        read_bundle(folder, "model")


def test_a_missing_tensors_file_is_named(folder):
    tensors_file(folder).unlink()
    with pytest.raises(CheckpointError, match=r"model-.*safetensors is missing, but model.json names it"):
        read_bundle(folder, "model")


def test_a_missing_document_says_what_to_give(tmp_path):
    with pytest.raises(CheckpointError, match=r"model.json does not exist; give a folder that SphUnc.save"):
        read_bundle(tmp_path, "model")


def test_a_truncated_document_is_refused(folder):
    path = folder / "model.json"
    path.write_text(path.read_text()[:40])
    with pytest.raises(CheckpointError, match="is not JSON: it is truncated or foreign"):
        read_bundle(folder, "model")


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "one"}'])
def test_a_foreign_document_is_refused(folder, content):
    (folder / "model.json").write_text(content)
    with pytest.raises(CheckpointError, match="was not written by sphunc"):
        read_bundle(folder, "model")


def test_a_newer_format_asks_for_an_update(folder):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT + 1, "sphunc": "9.9"}))
    with pytest.raises(CheckpointError, match=rf"has format {FORMAT + 1}, written by sphunc 9.9; .* update sphunc"):
        read_bundle(folder, "model")


def test_an_older_format_asks_for_another_fit(folder):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT - 1, "sphunc": "0.0"}))
    with pytest.raises(CheckpointError, match=rf"has format {FORMAT - 1}, written by sphunc 0.0; .* fit again"):
        read_bundle(folder, "model")


def test_another_kind_of_bundle_is_refused(folder):
    shutil.copy(folder / "model.json", folder / "training.json")
    with pytest.raises(CheckpointError, match="holds a bundle of kind 'model', not 'training'"):
        read_bundle(folder, "training")


@pytest.mark.parametrize("change", [{"answer": 43}, {"answer": None}, {"more": 1}, {SEAL: "0"}, {SEAL: None}])
def test_an_edited_document_is_refused(folder, change):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(
        CheckpointError, match=r"model.json does not hold what sphunc wrote: an entry is damaged or was"
    ):
        read_bundle(folder, "model")


def test_a_flipped_digit_is_noticed(folder):
    path = folder / "model.json"
    path.write_text(path.read_text().replace('"answer": 42', '"answer": 52'))
    with pytest.raises(CheckpointError, match=r"model.json does not hold what sphunc wrote"):
        read_bundle(folder, "model")


def test_what_json_changes_on_the_way_keeps_its_digest(tmp_path):
    document = {"pair": (1, 2), "by number": {3: "x"}, "odd": [math.nan, math.inf, 1e-300, 0.1], "text": "für"}
    write_bundle(tmp_path, "model", document, {})
    assert read_bundle(tmp_path, "model")[0]["by number"] == {"3": "x"}


def test_bytes_that_are_no_tensors_are_refused(folder):
    import hashlib

    tensors_file(folder).write_bytes(b"not tensors")
    path = folder / "model.json"
    document = json.loads(path.read_text()) | {"sha256": hashlib.sha256(b"not tensors").hexdigest()}
    path.write_text(json.dumps(sealed(document)))
    with pytest.raises(CheckpointError, match="is no safetensors file"):
        read_bundle(folder, "model")
