"""The manifest adds knowledge and never takes any; a broken one is named."""

import json

import pytest

from sphunc import DataError, from_frames, read_tables, write_tables
from sphunc.io.tables.manifest import Manifest, read_manifest

DATA = from_frames(features={"time": [1, 1], "agent": ["10", "9"], "f": [1.0, 2.0]}, agents=["lone"])


def test_without_a_manifest_everything_is_decided_by_looking(tmp_path):
    assert read_manifest(tmp_path) == Manifest()


def test_text_ids_that_look_like_integers_stay_text(tmp_path):
    write_tables(DATA, tmp_path)
    assert read_tables(tmp_path).node_ids == ("lone", "10", "9")


@pytest.mark.parametrize("text", ["{", "[]", '{"agents": 5}', '{"unknown": 1}', '{"times": ["spring"]}', "\xff"])
def test_a_broken_manifest_is_named(tmp_path, text):
    write_tables(DATA, tmp_path)
    (tmp_path / "sphunc.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"sphunc.json: the file cannot be used \(.*\)\. Correct it, or remove it"):
        read_tables(tmp_path)


def test_a_manifest_that_the_tables_have_outgrown_does_no_harm(tmp_path):
    write_tables(DATA, tmp_path)
    manifest = json.loads((tmp_path / "sphunc.json").read_text())
    manifest |= {"agents": [1, 2], "agent_ids": "integer"}
    (tmp_path / "sphunc.json").write_text(json.dumps(manifest))
    (tmp_path / "features.csv").write_text("time,agent,f\n1,x,1\n")
    assert read_tables(tmp_path).node_ids == ("x",)
