"""What a user gives is checked before any work, and errors say how to get what is needed."""

import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.forecasting.arguments import (
    check_callbacks,
    check_data,
    check_device,
    check_folder,
    devices,
    writable_folder,
)


def test_data_or_the_way_to_it():
    world = sphunc.simulate("snare", agents=12, times=3, seed=0)
    assert check_data("fit", world.data) is world.data
    with pytest.raises(ArgumentTypeError, match=r"fit needs data=.*pass its .data"):
        check_data("fit", world)
    with pytest.raises(ArgumentTypeError, match=r"read_tables\('my-folder'\)"):
        check_data("fit", "my-folder")


def test_callbacks_are_functions():
    assert check_callbacks([print]) == [print]
    for wrong in ([3], None):
        with pytest.raises(ArgumentTypeError, match="list of functions"):
            check_callbacks(wrong)


def test_folders(tmp_path):
    assert check_folder("folder", str(tmp_path)) == tmp_path
    with pytest.raises(ArgumentTypeError, match="path of a folder"):
        check_folder("folder", 3)
    assert writable_folder("folder", tmp_path / "new").is_dir()
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ArgumentError, match="cannot be written in"):
        writable_folder("folder", file)


def test_devices():
    assert check_device("cpu") == torch.device("cpu")
    assert "cpu" in devices()
    for wrong in ("nonsense", "cuda:99"):
        with pytest.raises(ArgumentError, match="on this machine choose"):
            check_device(wrong)
