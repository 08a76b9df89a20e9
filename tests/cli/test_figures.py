"""`sphunc figures`: of a run; other folders and formats are refused in one line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sphunc
from sphunc.cli import app, main
from sphunc.io import write_tables


@pytest.mark.slow
def test_figures_of_a_run_are_written(tmp_path: Path) -> None:
    write_tables(sphunc.simulate("snare", agents=40, times=6, seed=0).data, tmp_path / "tables")
    fitted = CliRunner().invoke(app, ["fit", str(tmp_path / "tables"), "--out", str(tmp_path / "run"), "--until", "4"])
    assert fitted.exit_code == 0, fitted.output
    out = tmp_path / "pictures"
    result = CliRunner().invoke(app, ["figures", str(tmp_path / "run"), "--out", str(out), "--format", "svg"])
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} >= {"reliability.svg", "reliability.txt", "kappa-box.svg"}


def test_unknown_format_is_refused(tmp_path: Path, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["figures", str(tmp_path), "--format", "gif", "--out", str(tmp_path / "out")])
    assert "--format is 'gif'; choose png, svg, pdf" in capsys.readouterr().err


def test_folder_of_neither_kind_is_refused(tmp_path: Path, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["figures", str(tmp_path), "--out", str(tmp_path / "out")])
    assert capsys.readouterr().err.startswith("error: ")
