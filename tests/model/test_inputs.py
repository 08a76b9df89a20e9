"""What a user gives is checked with words that say what is needed and how to get it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.model.inputs import check_data, check_device, check_origins, check_settings, devices, plain_numbers
from sphunc.worlds import simulate

SOURCES = r"get one with sphunc.read_tables\(folder\), sphunc.load_dataset\(name, folder\) or sphunc.simulate\(preset\)"


def test_data_is_passed_on(short_data) -> None:
    assert check_data("fit", short_data) is short_data


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


def test_origins_are_time_indices() -> None:
    assert check_origins(np.arange(3)) == [0, 1, 2]
    for given in (3, "last"):
        with pytest.raises(ArgumentTypeError, match=r"origins=.* must be time indices, such as origins=\[2, 3\]"):
            check_origins(given)
    with pytest.raises(ArgumentTypeError, match="origins=True must be a whole number, got bool"):
        check_origins([True])


def test_the_processor_is_always_there() -> None:
    assert "cpu" in devices()
    assert check_device("cpu") == check_device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("given", ["nonsense", "cuda:99", "meta", "cpu:x", None, 1.5, ""])
def test_a_device_that_is_not_there_names_those_that_are(given) -> None:
    with pytest.raises(ArgumentError, match=f"device={given!r} is not there; on this machine choose 'cpu'"):
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


def test_numbers_of_numpy_are_settings() -> None:
    config = check_settings({"dim": np.int64(8), "horizon": np.int32(2), "dropout": np.float32(0.5), "scm": False})
    assert (config.dim, config.horizon, config.dropout, config.scm) == (8, 2, 0.5, False)
    assert type(config.dim) is int


@pytest.mark.parametrize("name", ["dim", "horizon", "samples", "max_lag", "batch_size", "dropout", "gradient_clip"])
@pytest.mark.parametrize("value", [True, False, np.bool_(True)])
def test_switches_are_no_numbers(name, value) -> None:
    with pytest.raises(ArgumentTypeError, match=rf"{name}=.*(True|False).* must be a number, got bool"):
        check_settings({name: value})


def test_switches_and_words_are_left_to_the_configuration() -> None:
    with pytest.raises(ArgumentError, match="geometry is True: input should be 'sphere' or 'euclidean'"):
        check_settings({"geometry": True})
    with pytest.raises(ArgumentError, match="'warp' is not a setting of SphUnc"):
        check_settings({"warp": True})


def test_plain_numbers_are_those_of_python() -> None:
    plain = plain_numbers({"dim": np.int64(8), "dropout": np.float32(0.5), "scm": np.bool_(True), "device": "cpu"})
    assert plain == {"dim": 8, "dropout": 0.5, "scm": True, "device": "cpu"}
    assert [type(value) for value in plain.values()] == [int, float, bool, str]
