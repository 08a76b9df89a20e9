"""A number depends on the code that it runs and on nothing else; where it was measured is part of it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sphunc.evaluation.benchmark import provenance
from sphunc.evaluation.benchmark.provenance import (
    code_fingerprint,
    environment,
    files_fingerprint,
    git_state,
    reachable,
)

TREE = {
    "__init__.py": "",
    "a/__init__.py": "from sphunc.a.one import f\nfrom sphunc.a.two import g\n",
    "a/one.py": '"""One."""\nfrom sphunc.base import x\n\ndef f():\n    """Doc."""\n    return x\n',
    "a/two.py": "def g():\n    return 2\n",
    "base.py": "import math\nx = 1\n",
    "user.py": "from sphunc.a import f\n\ndef h():\n    from sphunc import late\n    return f\n",
    "late.py": "",
    "registry.py": "import sphunc.a.two\n",
}


@pytest.fixture
def rewrite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a small package with some files changed, and return the fingerprint of its module ``user``."""
    monkeypatch.setattr(provenance, "SOURCE", tmp_path)

    def write(**changes: str) -> str:
        for name, text in {**TREE, **changes}.items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        for cached in (provenance._imported, provenance._home, provenance._tree):
            cached.cache_clear()
        return code_fingerprint("sphunc.user")

    yield write
    for cached in (provenance._imported, provenance._home, provenance._tree):
        cached.cache_clear()


def test_reaches_what_is_imported_and_sees_through_packages(rewrite: Callable[..., str]) -> None:
    rewrite()
    assert reachable(["sphunc.user"]) == {"sphunc.user", "sphunc.a.one", "sphunc.base", "sphunc.late"}
    assert reachable(["sphunc.user", "sphunc.registry"], apart=["sphunc.registry"]) == reachable(["sphunc.user"])


def test_changes_with_code_it_runs_and_with_nothing_else(rewrite: Callable[..., str]) -> None:
    before = rewrite()
    assert rewrite() == before
    assert rewrite(**{"base.py": "import math\nx = 2\n"}) != before
    assert rewrite(**{"a/two.py": "def g():\n    return 3\n"}) == before
    explained = (
        '"""The first."""\nfrom sphunc.base import x  # why\n\n\ndef f():\n    """Other words."""\n    return x\n'
    )
    assert rewrite(**{"a/one.py": explained}) == before


def test_model_does_not_depend_on_the_baselines() -> None:
    found = reachable(["sphunc.estimator"])
    assert "sphunc.model.fitting" in found
    assert not any(name.startswith("sphunc.baselines") for name in found)


def test_files_count_by_name_and_content(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1")
    before = files_fingerprint(tmp_path)
    (tmp_path / ".hidden").write_text("x")
    assert files_fingerprint(tmp_path) == before
    (tmp_path / "a.csv").write_text("2")
    changed = files_fingerprint(tmp_path)
    (tmp_path / "a.csv").rename(tmp_path / "b.csv")
    assert len({before, changed, files_fingerprint(tmp_path)}) == 3
    assert files_fingerprint(tmp_path / "b.csv") != changed


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
