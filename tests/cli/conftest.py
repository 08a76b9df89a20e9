"""One small world as tables, one run of it, and the command line as a person calls it."""

import pytest

import sphunc
from sphunc.cli import main
from sphunc.runs import RunSettings, fit_run


@pytest.fixture(scope="session")
def small_data():
    return sphunc.simulate("snare", agents=20, times=5, seed=0).data


@pytest.fixture(scope="session")
def small_tables(small_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    sphunc.write_tables(small_data, folder)
    return folder


@pytest.fixture(scope="session")
def small_run(small_data, tmp_path_factory):
    """A fit with states; tests add answers to its folder."""
    return fit_run(tmp_path_factory.mktemp("runs") / "run", small_data, RunSettings(until="3", samples=4)).folder


@pytest.fixture
def command(capsys):
    def call(*words):
        """Exit code, standard output and standard error of a command."""
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        found = capsys.readouterr()
        return stop.value.code, found.out, found.err

    return call
