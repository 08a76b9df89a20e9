"""A number depends on the code that it runs and on nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sphunc.evaluation.benchmark import fingerprint
from sphunc.evaluation.benchmark.fingerprint import code_fingerprint, files_fingerprint, reachable

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
    monkeypatch.setattr(fingerprint, "SOURCE", tmp_path)

    def write(**changes: str) -> str:
        for name, text in {**TREE, **changes}.items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        for cached in (fingerprint._imported, fingerprint._home, fingerprint._tree):
            cached.cache_clear()
        return code_fingerprint("sphunc.user")

    yield write
    for cached in (fingerprint._imported, fingerprint._home, fingerprint._tree):
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


def test_model_does_not_depend_on_its_peers() -> None:
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
