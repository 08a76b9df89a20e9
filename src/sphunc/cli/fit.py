"""``sphunc fit``: tables to a run, resumed where it was stopped."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sphunc.cli.output import Form, notes, print_csv, print_json, print_table, print_text, say
from sphunc.cli.progress import FitProgress
from sphunc.cli.reading import read_data
from sphunc.errors import ArgumentError
from sphunc.runs import Run, RunSettings, fit_run

INTERRUPTED = 130
SHOWN = 10


def run(
    tables: Path | None,
    out: Path | None,
    *,
    settings: RunSettings | None,
    layout: Mapping[str, Any],
    form: Form,
    overwrite: bool,
) -> int:
    """Fit, print what the fit is worth, and return the exit code: 0, or 130 after Ctrl-C.

    Args:
        tables: what to learn from; None goes on with the run in ``out``.
        out: folder of the run.
        settings: of the fit; None takes those of the run.
        layout: arguments of the reader of tables.
        form: in which to print.
        overwrite: begin anew where another fit is.
    """
    if out is None:
        raise ArgumentError("--out is missing: say in which folder the run goes, for instance --out my-run")
    with notes() as said:
        data = None
        if tables is not None:
            data = read_data(tables, layout)
            if data.y is None:
                raise ArgumentError(_no_outcomes(tables, data.feature_names))
        try:
            with FitProgress() as progress:
                fitted = fit_run(
                    out,
                    data,
                    settings,
                    layout=dict(layout),
                    source=str(tables or ""),
                    notes=list(said),
                    callbacks=[progress],
                    overwrite=overwrite,
                )
        except KeyboardInterrupt:
            command = shlex.join(["sphunc", "fit", "--out", str(out)])
            say(f"stopped; finished stages are kept in {out}. Go on with: {command}")
            return INTERRUPTED
        show(fitted, form)
    return 0


def show(run: Run, form: Form) -> None:
    """Print the verdict and the comparison first, then the forecast and where all of it is.

    Args:
        run: that has ended.
        form: in which to print.
    """
    forecast = run.forecast.to_frame()
    if form is Form.CSV:
        print_csv(run.comparison)
        return
    if form is Form.JSON:
        print_json(
            {
                "run": str(run.folder),
                "verdict": run.verdict,
                "comparison": run.comparison,
                "links": run.metrics["links"],
                "forecast": forecast,
            }
        )
        return
    print_text(f"Verdict: {run.verdict}.")
    print_table(run.comparison, title="Held-out negative log-likelihood (nats; lower is better)")
    target = run.forecast.target
    print_text(f"Links: {run.metrics['links']['verdict']}.")
    for note in run.metrics["links"].get("notes", ()):
        print_text(f"Note: {note}")
    print_text(f"The run is in {run.folder}; the forecast for {target} is in forecast.csv.")
    print_text(f"Next: sphunc predict {run.folder} · sphunc influence {run.folder} · sphunc report {run.folder}")


def _no_outcomes(tables: Path, features: tuple[str, ...]) -> str:
    listed = ", ".join(features[:6])
    return (
        f"{tables} has no outcomes to learn; add outcomes.csv (time, agent, outcome), or name the column that holds "
        f"them: --outcome COLUMN (the features are {listed or 'none'})"
    )
