"""`sphunc tables`: prints a table and writes it in every format; a wrong name is one clear line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sphunc.cli import app, main


def test_table_is_printed_and_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["tables", "datasets", "hyperparameters", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "Data set statistics" in result.output
    assert {path.name for path in tmp_path.iterdir()} >= {f"datasets.{end}" for end in ("txt", "md", "tex", "csv")}
    assert "spherical embedding dimension D" in (tmp_path / "hyperparameters.csv").read_text()


def test_program_gets_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["tables", "datasets", "--json", "--out", str(tmp_path)])
    table = json.loads(result.stdout)
    assert table["table"] == "datasets"
    assert table["rows"][0]["agents_quoted"] == 540


def test_unknown_table_ends_with_exit_code_2(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["tables", "mian"])
    assert "table is 'mian'" in capsys.readouterr().err
