"""The command line as a person meets it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sphunc
from sphunc import cli
from sphunc.errors import DataError

COMMAND = Path(sys.executable).parent / "sphunc"


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    for command in cli.app.registered_commands:
        assert (command.name or command.callback.__name__) in result.output


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from sphunc import cli; cli.app(['--help'], standalone_mode=False); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.splitlines()[-1].split())
    assert "sphunc.cli" in loaded
    assert not loaded & {"torch", "numpy", "scipy", "polars", "pydantic", "rich", "sphunc.sphere"}


def test_help_names_each_command_in_one_line() -> None:
    run = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True)
    commands = run.stdout.partition("Commands:")[2]
    assert "..." not in commands, "a first line this long is cut: shorten it, or give short_help"


def test_version_is_printed_by_the_installed_command() -> None:
    run = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == sphunc.__version__


def test_unknown_command_ends_with_code_2() -> None:
    run = subprocess.run([COMMAND, "dance"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "No such command 'dance'" in run.stderr


def test_error_of_the_tree_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise DataError("groups.csv row 41: agent 'p-093' has no row in features.csv")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as stop:
        cli.main(["check"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "error: groups.csv row 41: agent 'p-093' has no row in features.csv\n"


def test_what_should_not_happen_shows_its_traceback_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(cli, "app", fail)
    for words, shown in ((["check"], False), (["check", "--verbose"], True)):
        with pytest.raises(SystemExit) as stop:
            cli.main(words)
        err = capsys.readouterr().err
        assert stop.value.code == 1
        assert err.endswith("error: this should not happen (KeyError: 'x'); --verbose shows where\n")
        assert ("Traceback" in err) is shown
