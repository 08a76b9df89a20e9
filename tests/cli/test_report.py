"""``sphunc report`` hands model, data, answers and record to the report."""

import sys
from types import SimpleNamespace

from sphunc.cli import report
from sphunc.runs import Run


def test_what_the_report_is_given(command, small_run, tmp_path, monkeypatch):
    run = Run.open(small_run)
    agent, name = run.data.node_ids[1], run.data.class_names[0]
    command("intervene", small_run, "--do-outcome", f"{agent}={name}", "--seed", 5)
    command("counterfactual", small_run, "--do-outcome", f"{agent}={name}", "--origin", 2)
    given = {}

    def write_report(model, data, out, **options):
        given.update(options, data=data, out=out)
        out.write_text("report")

    monkeypatch.setitem(sys.modules, "sphunc.report", SimpleNamespace(write_report=write_report))
    code, out, _ = command("report", small_run, "--out", tmp_path / "r.html")
    assert code == 0
    assert f"The report is in {tmp_path / 'r.html'}" in out
    titles = [title for title, _ in given["interventions"]]
    assert f"outcome {agent}={name}" in titles
    assert f"outcome {agent}={name} (counterfactual from 2)" in titles
    assert given["data"].same_as(run.data)
    assert given["later"].same_as(run.all_data)
    assert set(given["run_info"]) == {"command", "settings", "data", "versions"}
    assert (given["out"], given["markdown"]) == (tmp_path / "r.html", False)


def test_an_installation_without_reports(command, small_run, monkeypatch):
    def fail(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(report, "import_module", fail)
    code, _, err = command("report", small_run)
    assert code == 2
    assert "this installation has no reports" in err
