"""``sphunc predict``: what happens next, and how sure."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sphunc.cli.output import Form, notes, print_csv, print_json, print_table, print_text, say
from sphunc.cli.reading import data_for
from sphunc.runs import Run, time_of, write_csv

SORTED_BY = "total"


def run(folder: Path, tables: Path | None, *, coverage: float, origin: str | None, form: Form, rows: int) -> None:
    """Forecast with a run, print it and keep it in ``answers/``.

    Args:
        folder: of the run.
        tables: new ones; None forecasts from the last time of the fit.
        coverage: of the sets or intervals.
        origin: label of the time to forecast from; the last one unless given.
        form: in which to print.
        rows: most that are shown to a person.
    """
    with notes():
        opened = Run.open(folder)
        data, sentence = data_for(opened, tables)
        if sentence:
            say(f"note: {sentence}")
        label = None if origin is None else time_of(data, origin)
        forecast = opened.model.predict(data, label, coverage=coverage)
    frame = forecast.to_frame()
    answers = folder / "answers"
    answers.mkdir(exist_ok=True)
    words = [f"forecast-{forecast.target}"]
    if coverage != opened.settings.coverage:
        words.append(f"coverage-{coverage:g}")
    if tables is not None:
        words.append(f"from-{tables.name}")
    path = answers / f"{_file_name('-'.join(words))}.csv"
    write_csv(frame, path)
    if form is Form.CSV:
        print_csv(frame)
        return
    if form is Form.JSON:
        print_json(
            {
                "origin": str(forecast.origin),
                "target": str(forecast.target),
                "coverage": coverage,
                "coverage_rests_on": forecast.caveat,
                "verdict": opened.verdict,
                "forecast": frame,
            }
        )
        return
    print_text(f"Verdict: {opened.verdict}.")
    title = f"Forecast for {forecast.target} from {forecast.origin}, the least certain agents first"
    print_table(_for_people(frame), title=title, rows=rows)
    kind = "Intervals" if forecast.numeric else "Sets"
    print_text(f"{kind} hold the outcome with {coverage:.0%} coverage; {forecast.caveat}. All columns: {path}")


def _for_people(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that fit a screen, the least certain agents first."""
    wanted = ["agent", "prediction", "confidence", "set", "epistemic_scaled", "aleatoric", "total"]
    numbers = [name for name in frame.columns if name.startswith(("mean", "deviation", "low", "high"))]
    if numbers:
        # Deviations say it in the unit of the outcome; both parts are variances.
        wanted = ["agent", *numbers, "epistemic_scaled"]
    shown = [name for name in wanted if name in frame.columns]
    return frame.sort(SORTED_BY, descending=True, maintain_order=True).select(shown)


def _file_name(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in text)
