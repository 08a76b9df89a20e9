"""``sphunc evaluate``: forecasts of a run against what happened later."""

from __future__ import annotations

from pathlib import Path

from sphunc.cli.output import Form, notes, print_csv, print_json, print_table, print_text, say
from sphunc.cli.reading import data_for
from sphunc.runs import Run, evaluate, write_csv, write_json


def run(folder: Path, tables: Path | None, *, coverage: float, form: Form) -> None:
    """Evaluate, print the scores beside two trivial systems, and keep them in ``evaluation/``.

    Args:
        folder: of the run.
        tables: with later outcomes; None takes what was held back with --until.
        coverage: of the sets or intervals.
        form: in which to print.
    """
    with notes():
        opened = Run.open(folder)
        data, sentence = data_for(opened, tables, all_data=True)
        if sentence:
            say(f"note: {sentence}")
        found = evaluate(opened.model, data, coverage=coverage)
    kept = folder / "evaluation"
    kept.mkdir(exist_ok=True)
    write_csv(found.scores, kept / "scores.csv")
    write_csv(found.by_time, kept / "by_time.csv")
    write_csv(found.forecasts, kept / "forecasts.csv")
    document = {
        "outcomes": found.outcomes,
        "calibration": found.calibration,
        "scores": found.scores.to_dicts(),
        "by_time": found.by_time.to_dicts(),
    }
    write_json(kept / "scores.json", document)
    if form is Form.CSV:
        print_csv(found.scores)
        return
    if form is Form.JSON:
        print_json({"verdict": opened.verdict, **document})
        return
    print_text(f"Verdict of the fit: {opened.verdict}.")
    better = "lower is better but for accuracy" if "accuracy" in found.scores.columns else "lower is better"
    print_table(found.scores, title=f"{found.outcomes:,} outcomes later than the fit ({better})")
    print_table(found.by_time, title=f"SphUnc by time; coverage should be {coverage:g}")
    if found.calibration:
        print_text(f"Calibration: {found.calibration}.")
    print_text(f"All forecasts with what happened: {kept / 'forecasts.csv'}")
