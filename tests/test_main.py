"""The package runs as a module."""

import subprocess
import sys

import sphunc


def test_python_dash_m_is_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "sphunc", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sphunc.__version__
