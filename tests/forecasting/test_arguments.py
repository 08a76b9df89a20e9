"""What a user gives is checked with words that say what is needed and how to get it."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.forecasting.arguments import (
    check_callbacks,
    check_data,
    check_device,
    check_folder,
    devices,
    origin_position,
    writable_folder,
)
from sphunc.hypergraph import assemble
from sphunc.worlds import simulate

SOURCES = r"get one with sphunc.read_tables\(folder\), sphunc.load_dataset\(name, folder\) or sphunc.simulate\(preset\)"


def test_data_is_passed_on() -> None:
    data = assemble(times=[0], node_ids="a")
    assert check_data("fit", data) is data


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, f"fit needs data=, a TemporalHypergraph; got NoneType: {SOURCES}"),
        ([1, 2], f"got list: {SOURCES}"),
        (np.zeros(3), f"got ndarray: {SOURCES}"),
        ("folder", r"got str: get one with sphunc.read_tables\('folder'\), sphunc.load_dataset"),
        (Path("a/b"), r"got \w*Path: get one with sphunc.read_tables\('a/b'\)"),
    ],
)
def test_anything_else_says_how_to_get_data(given, words) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        check_data("fit", given)


def test_a_world_says_where_its_data_is() -> None:
    with pytest.raises(ArgumentTypeError, match=r"predict needs data=, .*; got World: pass its \.data"):
        check_data("predict", simulate("snare", agents=10, times=3, seed=0))


def test_an_origin_is_the_label_of_a_time_or_its_position() -> None:
    waves = assemble(times=[1, 2, 3], node_ids="ab")
    assert origin_position(waves, None, None) == 2
    assert origin_position(waves, 3, None) == 2
    assert origin_position(waves, None, np.int64(1)) == 1
    days = assemble(times=[date(2024, 1, day) for day in (1, 2, 3)], node_ids="ab")
    assert origin_position(days, date(2024, 1, 2), None) == 1
    assert origin_position(days, "2024-01-02", None) == 1


@pytest.mark.parametrize(
    ("origin", "origin_index", "words"),
    [
        (3, 2, "origin is 3 and origin_index 2; give one of them"),
        (0, None, "0"),
        (None, 3, r"origin_index=3, but the data has 3 times; choose 0 ... 2, or give the label of a time as origin="),
        (None, -1, "origin_index=-1 must be at least 0"),
    ],
)
def test_what_is_no_origin_is_refused(origin, origin_index, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        origin_position(assemble(times=[1, 2, 3], node_ids="ab"), origin, origin_index)


def test_callbacks_are_functions() -> None:
    assert check_callbacks((print, len)) == [print, len]
    assert check_callbacks(()) == []
    for given in ([3], 3, print, "print", None):
        with pytest.raises(ArgumentTypeError, match=r"callbacks=.* must be a list of functions, such as .*=\[print\]"):
            check_callbacks(given)


def test_folders_are_paths(tmp_path) -> None:
    assert check_folder("folder", str(tmp_path)) == check_folder("folder", tmp_path) == tmp_path
    with pytest.raises(ArgumentTypeError, match="checkpoint=3 must be the path of a folder, got int"):
        check_folder("checkpoint", 3)


def test_a_folder_to_write_in_is_made(tmp_path) -> None:
    assert writable_folder("folder", tmp_path / "a" / "b").is_dir()
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_what_cannot_be_written_in_is_refused(tmp_path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(
        ArgumentError, match=r"checkpoint='.*file' cannot be written in \(it is a file\); give a folder"
    ):
        writable_folder("checkpoint", file)
    with pytest.raises(ArgumentError, match=r"checkpoint='.*inside' cannot be written in \(Not a directory\)"):
        writable_folder("checkpoint", file / "inside")


def test_the_processor_is_always_there() -> None:
    assert "cpu" in devices()
    assert check_device("cpu") == check_device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("given", ["nonsense", "cuda:99", "meta", "cpu:x", None, 1.5, ""])
def test_a_device_that_is_not_there_names_those_that_are(given) -> None:
    with pytest.raises(ArgumentError, match=f"device={str(given)!r} is not there; on this machine choose 'cpu'"):
        check_device(given)


def test_an_accelerator_is_found_by_its_name_and_number(monkeypatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    assert devices() == ["cpu", "cuda:0", "cuda:1"]
    for given in ("cuda", "cuda:1"):
        assert check_device(given) == torch.device(given)
    for given in ("cuda:2", "mps"):
        with pytest.raises(ArgumentError, match=f"device='{given}' is not there; .* 'cpu' or 'cuda:0' or 'cuda:1'"):
            check_device(given)
