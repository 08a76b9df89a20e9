"""Small worlds and the stand-in network, shared by the tests of the training machinery."""

import importlib.util
import sys
from pathlib import Path

import pytest

from sphunc.worlds import simulate

_spec = importlib.util.spec_from_file_location("standin", Path(__file__).with_name("standin.py"))
sys.modules["standin"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["standin"])


@pytest.fixture(scope="session")
def long_data():
    """30 agents at 9 times: enough to hold times out."""
    return simulate("snare", agents=30, times=9, seed=0).data


@pytest.fixture(scope="session")
def short_data():
    """30 agents at 4 times: only agents can be held out."""
    return simulate("snare", agents=30, times=4, seed=0).data
