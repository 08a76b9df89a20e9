"""One small world and one run of it, for all tests of runs and of the commands on them."""

import pytest

import sphunc
from sphunc.runs import RunSettings, fit_run


@pytest.fixture(scope="session")
def small_data():
    return sphunc.simulate("snare", agents=20, times=5, seed=0).data


@pytest.fixture(scope="session")
def quick_run(small_data, tmp_path_factory):
    return fit_run(tmp_path_factory.mktemp("runs") / "run", small_data, RunSettings(quick=True, until="3"))
