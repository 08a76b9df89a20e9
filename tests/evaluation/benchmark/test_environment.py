"""Where a number was measured is part of it."""

import subprocess
from pathlib import Path

import torch

from sphunc.evaluation.benchmark.environment import environment, git_state


def test_environment_names_versions_processor_and_threads() -> None:
    found = environment()
    assert found["version_torch"] == torch.__version__
    assert found["threads"] == torch.get_num_threads()
    assert found["cores"] >= 1
    assert all(found[name] for name in ("version_python", "version_sphunc", "version_polars", "cpu", "platform"))


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_git_state_tells_the_commit_and_changes_beyond_it(tmp_path: Path) -> None:
    assert git_state(tmp_path) == {"git_commit": None, "git_dirty": None}
    git(tmp_path, "init")
    source = tmp_path / "__init__.py"
    source.write_text("")
    assert git_state(tmp_path)["git_commit"] is None, "a package below someone's project is not of that project"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    clean = git_state(tmp_path)
    assert len(clean["git_commit"]) == 40
    assert clean["git_dirty"] is False
    source.write_text("x = 1")
    assert git_state(tmp_path) == {**clean, "git_dirty": True}
