"""``sphunc fit`` says first what the fit is worth, and how to go on."""

import json

import pytest

from sphunc.cli import fit as fit_command


def test_verdict_and_comparison_come_first(command, small_tables, tmp_path):
    code, out, err = command("fit", small_tables, "--out", tmp_path / "run", "--quick")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("Verdict: ")
    assert "a regression on covariates alone" in " ".join(lines[:3])
    assert "covariates" in out.partition("Held-out")[2]
    assert "100% done" in err
    assert f"sphunc predict {tmp_path / 'run'}" in out
    code, again, _ = command("fit", "--out", tmp_path / "run")
    assert (code, again) == (0, out)


def test_json_and_csv(command, small_tables, tmp_path):
    arguments = ("fit", small_tables, "--out", tmp_path / "run", "--quick")
    found = json.loads(command(*arguments, "--json")[1])
    assert list(found)[:3] == ["run", "verdict", "comparison"]
    assert len(found["forecast"]) == 20
    assert command(*arguments, "--csv")[1].splitlines()[0] == "model,nll,gain,error"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--out is missing: say in which folder the run goes"),
        (("--out", "none", "--drop", "mood"), "drop is 'mood', but no table has a column of that name"),
        (("--out", "none", "--until", "77"), "'77' is not a time of the data"),
        (("--out", "none", "--horizon", "x"), "Invalid value for '--horizon'"),
        (("--out", "none", "--json", "--csv"), "--json and --csv exclude each other"),
    ],
)
def test_bad_input_is_one_line(command, small_tables, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("fit", small_tables, *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_tables_without_outcomes(command, tmp_path):
    (tmp_path / "all.csv").write_text("time,agent,mood\n1,a,1\n2,a,2\n")
    code, _, err = command("fit", tmp_path / "all.csv", "--out", tmp_path / "run")
    assert code == 2
    assert "has no outcomes to learn" in err
    assert "--outcome COLUMN (the features are mood)" in err


def test_control_c_says_how_to_go_on(command, small_tables, tmp_path, monkeypatch):
    class Stop(fit_command.FitProgress):
        def __call__(self, record):
            if record.share > 0.3:
                raise KeyboardInterrupt

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(fit_command, "FitProgress", Stop)
        code, _, err = command("fit", small_tables, "--out", out, "--quick")
    assert code == 130
    assert f"Go on with: sphunc fit --out {out}" in err
    assert command("predict", out)[0] == 2
    assert command("fit", "--out", out)[0] == 0


def test_settings_from_a_file_and_flags_that_win(command, small_tables, tmp_path):
    (tmp_path / "fit.toml").write_text(f'out = "{tmp_path / "run"}"\nquick = true\nseed = 3\n')
    assert command("fit", small_tables, "--config", tmp_path / "fit.toml", "--seed", 4)[0] == 0
    config = (tmp_path / "run" / "config.toml").read_text()
    assert "seed = 4" in config
    assert "quick = true" in config
