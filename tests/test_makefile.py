"""The environment that make makes: an interrupted one is made again, an old Python is refused in one line."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def make(folder: Path, python: Path) -> subprocess.CompletedProcess[str]:
    command = ["make", f"PYTHON={python}", ".venv/core"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for file in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / file, tmp_path)
    return tmp_path


def test_environment_without_pip_is_made_again(clone: Path) -> None:
    script(clone / ".venv/bin/python", "exit 1")
    whole = "printf '#!/bin/sh\\n' > .venv/bin/python; chmod +x .venv/bin/python"
    script(clone / "python", f'case "$*" in "-m venv --clear .venv") {whole};; esac')
    run = make(clone, clone / "python")
    assert run.returncode == 0, run.stderr
    assert (clone / ".venv/core").exists()


def test_whole_environment_is_kept(clone: Path) -> None:
    script(clone / ".venv/bin/python", "exit 0")
    script(clone / "python", 'case "$*" in *venv*) exit 1;; esac')
    assert make(clone, clone / "python").returncode == 0


def test_old_python_is_refused_in_one_line(clone: Path) -> None:
    old = "import sys; sys.version_info = (3, 9, 2); sys.version = '3.9.2'; exec(sys.argv[1])"
    script(clone / "python", f'exec python3 -c "{old}" "$2"')
    run = make(clone, clone / "python")
    assert run.stderr.startswith("sphunc needs Python 3.11 or newer; got 3.9.2. Try: make PYTHON=")
    assert not (clone / ".venv").exists()
