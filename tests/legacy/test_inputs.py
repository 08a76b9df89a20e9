"""What a user gives is checked with words that say what is needed and how to get it."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError, DataError
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.inputs import (
    check_callbacks,
    check_coverage,
    check_data,
    check_device,
    check_folder,
    check_noise,
    check_origin,
    check_origins,
    check_settings,
    check_times,
    devices,
    warn_of_weights,
    writable_folder,
)
from sphunc.worlds import simulate

SOURCES = r"get one with sphunc.read_tables\(folder\), sphunc.load_dataset\(name, folder\) or sphunc.simulate\(preset\)"


def test_data_is_passed_on(short_data) -> None:
    assert check_data("fit", short_data) is short_data


def test_weights_that_differ_are_said_to_be_left_out(short_data) -> None:
    ones = torch.ones(short_data.hyperedge_index.shape[1])
    warn_of_weights(replace(short_data, incidence_weight=ones))
    warn_of_weights(replace(short_data, incidence_weight=None))
    with pytest.warns(UserWarning, match=r"column weight \(0\.5 to 1\), which the model does not use"):
        warn_of_weights(replace(short_data, incidence_weight=torch.cat([ones[1:], 0.5 * ones[:1]])))


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


def test_origins_are_time_indices(short_data) -> None:
    assert check_origins(short_data, np.arange(3)) == [0, 1, 2]
    for given in (3, "last"):
        with pytest.raises(ArgumentTypeError, match=r"origins=.* must be time indices, such as origins=\[2, 3\]"):
            check_origins(short_data, given)
    with pytest.raises(ArgumentTypeError, match="origins=True must be a whole number, got bool"):
        check_origins(short_data, [True])
    for origin in (-1, 4):
        words = f"origins has {origin}, but the data has 4 times; choose 0 ... 3"
        with pytest.raises(ArgumentError, match=words):
            check_origins(short_data, [0, origin])
    with pytest.raises(ArgumentError, match="origins has 2 more than once, and it would count as often; name it once"):
        check_origins(short_data, [2, 0, 2])


def test_the_label_of_a_time_is_told_how_to_become_an_index(short_data) -> None:
    words = (
        r"must be a whole number, got date; choose an index 0 ... 3 of data.times \(data.times.index\(time\) finds it"
    )
    with pytest.raises(ArgumentTypeError, match=rf"origin=datetime.date\(2023, 1, 1\) {words}"):
        check_origin(short_data, date(2023, 1, 1))
    with pytest.raises(ArgumentTypeError, match=rf"origins=datetime.date\(2023, 1, 1\) {words}"):
        check_origins(short_data, [date(2023, 1, 1)])


def test_times_of_another_kind_are_refused(short_data) -> None:
    check_times(short_data, 2.5)
    with pytest.raises(
        DataError, match=r"times such as 3 \(int\), but fit saw times up to 'May' \(str\), .*; give times of"
    ):
        check_times(short_data, "May")


def test_a_coverage_is_a_number() -> None:
    assert check_coverage(None) is None
    assert check_coverage(np.float64(0.5)) == 0.5
    for given in ("a", True, [0.9]):
        with pytest.raises(ArgumentTypeError, match=r"coverage=.* must be a number, got \w+; choose a share strictly"):
            check_coverage(given)


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


def test_numbers_keep_their_noise() -> None:
    check_noise(False, SphUncConfig(uncertainty="epistemic"))
    check_noise(True, SphUncConfig(uncertainty="aleatoric"))
    with pytest.raises(ArgumentError, match="numbers without noise have no density; choose 'both' or 'aleatoric'"):
        check_noise(True, SphUncConfig(uncertainty="epistemic"))
