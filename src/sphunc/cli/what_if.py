"""``sphunc intervene`` and ``sphunc counterfactual``: what would happen, and what would have happened, if."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sphunc.cli.output import Form, notes, print_csv, print_json, print_table, print_text, say
from sphunc.cli.questions import EXAMPLE, Question, question_of_flags, questions_of_file
from sphunc.cli.reading import data_for
from sphunc.errors import ArgumentError
from sphunc.interventions import Effect
from sphunc.runs import Run, time_of, write_csv, write_json

LONGEST_NAME = 60
SMALLEST_EFFECT = 1e-6
"""Effects below are rounding."""
DIGEST = 6
"""Digits at the end of a file name, by which questions differ that read alike."""


def run(
    folder: Path,
    *,
    asked: str,
    do: Sequence[str],
    outcome: Sequence[str],
    cut_link: Sequence[str],
    cut_group: Sequence[str],
    questions: Path | None,
    tables: Path | None,
    origin: str | None,
    horizon: int | None,
    samples: int | None,
    seed: int,
    form: Form,
    rows: int,
) -> None:
    """Ask a run, print the largest effects, and keep every effect in ``answers/``.

    Args:
        folder: of the run.
        asked: "intervene" or "counterfactual".
        do: agents whose state is set to the direction of a class.
        outcome: agents whose outcome is held.
        cut_link: links that are removed.
        cut_group: groups that do not meet.
        questions: JSON file with several questions.
        tables: new ones; None asks about those of the run.
        origin: label of the time to start from.
        horizon: steps; that of the model unless given.
        samples: Monte Carlo samples; the setting of the run unless given.
        seed: of noise, structures and coefficients.
        form: in which to print.
        rows: most that are shown to a person.
    """
    with notes():
        opened = Run.open(folder)
        data, sentence = data_for(opened, tables, all_data=asked == "counterfactual")
        if sentence:
            say(f"note: {sentence}")
        flags = question_of_flags(data, do=do, outcome=outcome, cut_link=cut_link, cut_group=cut_group)
        several = [] if questions is None else questions_of_file(questions, data)
        listed = [*([flags] if flags else []), *several]
        if not listed:
            raise ArgumentError(
                "nothing is changed; give --do agent=class, --do-outcome, --cut-link source:target, --cut-group, or "
                f"--questions FILE with {EXAMPLE}"
            )
        answered = []
        label = None if origin is None else time_of(data, origin)
        options: dict[str, Any] = {"origin": label, "samples": samples, "seed": seed}
        ask = getattr(opened.model, asked)
        for question in listed:
            try:
                effect = ask(*question.plan, data=data, horizon=question.horizon or horizon, **options)
            except ArgumentError as error:
                listing = f"sphunc influence {folder} --csv"
                raise ArgumentError(str(error).replace("model.influence().to_frame()", listing)) from error
            answered.append((question, effect, _keep(opened, asked, question, effect, str(tables or ""))))
    _print(answered, form, rows)


def _print(answered: Sequence[tuple[Question, Effect, Path]], form: Form, rows: int) -> None:
    if form is Form.JSON:
        print_json({"answers": [_document(question, effect) for question, effect, _ in answered]})
        return
    if form is Form.CSV:
        import polars as pl

        frames = [
            effect.to_frame()
            .with_columns(pl.col("time").cast(pl.String))
            .insert_column(0, pl.lit(q.name).alias("question"))
            for q, effect, _ in answered
        ]
        print_csv(pl.concat(frames, how="diagonal_relaxed"))
        return
    for question, effect, path in answered:
        print_text(f"{question.name}: from {effect.origin} to {effect.times[-1]}")
        if effect.message:
            print_text(f"{effect.message}.")
        columns = ["agent", "effect", "most_changed", "from", "to", "low", "high", "error"]
        affected = effect.top_affected(rows)
        if affected.height and affected["effect"][0] > SMALLEST_EFFECT:
            title = "Largest effects on others (low, high: 90 % interval of to - from; error: of the simulation)"
            print_table(affected.select([name for name in columns if name in affected.columns]), title=title)
        elif affected.height and not effect.message:
            print_text("It changes the forecast of no other agent.")
        print_text(f"All agents, steps and entropies: {path}")


def _document(question: Question, effect: Effect) -> dict[str, Any]:
    return {
        "name": question.name,
        "interventions": [str(one) for one in effect.plan],
        "origin": str(effect.origin),
        "target": str(effect.times[-1]),
        "message": effect.message,
        "coupling": effect.coupling,
        "assumptions": effect.assumptions,
        "seed": effect.seed,
        "effects": effect.to_frame(),
    }


def _keep(run: Run, asked: str, question: Question, effect: Effect, tables: str) -> Path:
    """Write the effect as CSV, and the interventions as JSON, from which they are asked again."""
    folder = run.folder / "answers"
    folder.mkdir(exist_ok=True)
    document = {
        "kind": asked,
        "name": question.name,
        "plan": effect.plan.to_json(),
        "origin": str(effect.origin),
        "horizon": effect.horizon,
        "samples": len(effect.samples),
        "seed": effect.seed,
        "tables": tables,
    }
    path = folder / f"{_file_name(document)}.csv"
    write_csv(effect.to_frame(), path)
    write_json(path.with_suffix(".json"), document)
    return path


def _file_name(document: dict[str, Any]) -> str:
    """Name an answer by its question: title, origin and steps, then digits that differ where anything else does."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:DIGEST]
    steps = f"{document['horizon']}-step{'s' * (document['horizon'] != 1)}"
    title = _plain_name(document["name"])[:LONGEST_NAME] or "question"
    return f"{document['kind']}-{title}-from-{_plain_name(document['origin'])}-{steps}-{digest}"


def _plain_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-")
