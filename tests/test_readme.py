"""The snippets of the README run as they stand, one after the other."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
YOURS = "my-folder"  # this one reads files that only a user has


@pytest.mark.slow
def test_snippets_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    runnable = [text for text in snippets if YOURS not in text]
    assert len(runnable) == len(snippets) - 1
    exec(compile("import sphunc\n" + "\n".join(runnable), "README.md", "exec"), {})
    assert (tmp_path / "my-model").exists()
