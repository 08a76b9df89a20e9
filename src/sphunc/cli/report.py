"""``sphunc report``: one page with all that a run says."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

from sphunc.cli.output import notes, print_text
from sphunc.errors import MissingExtraError
from sphunc.interventions import Effect, from_json
from sphunc.runs import Run, read_json, time_of

KINDS = ("intervene", "counterfactual")
"""Questions that a run keeps, by the method of the model that answers them."""


def run(folder: Path, *, out: Path | None, markdown: bool) -> None:
    """Write the report of a run.

    Args:
        folder: of the run.
        out: file; ``report.html`` in the folder unless given.
        markdown: write Markdown in place of HTML.
    """
    opened = Run.open(folder)
    try:
        write_report = import_module("sphunc.report").write_report
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(f"this installation has no reports ({error}); install a later version") from None
    path = out or folder / ("report.md" if markdown else "report.html")
    with notes():
        write_report(
            opened.model,
            opened.data,
            path,
            later=opened.all_data,
            interventions=_asked(opened),
            run_info=_how_it_was_made(opened),
            markdown=markdown,
        )
    print_text(f"The report is in {path}")


def _asked(run: Run) -> list[tuple[str, Effect]]:
    """Return what the run was asked on its own data, answered again."""
    answered = []
    for path in sorted((run.folder / "answers").glob("*.json")):
        document = read_json(path)
        kind = document.get("kind")
        if kind not in KINDS or document["tables"]:
            continue
        title = document["name"]
        data = run.data
        if kind == "counterfactual":
            title = f"{title} (counterfactual from {document['origin']})"
            data = run.all_data
        ask = getattr(run.model, kind)
        effect = ask(
            *from_json(document["plan"]),
            data=data,
            origin=time_of(data, document["origin"]),
            horizon=document["horizon"],
            samples=document["samples"],
            seed=document["seed"],
        )
        answered.append((title, effect))
    titles = Counter(title for title, _ in answered)
    return [(_distinct_titles(title, effect) if titles[title] > 1 else title, effect) for title, effect in answered]


def _distinct_titles(title: str, effect: Effect) -> str:
    """Return a title that also says from when to when, and with which simulation."""
    return f"{title} ({effect.origin} to {effect.times[-1]}, {len(effect.samples)} samples, seed {effect.seed})"


def _how_it_was_made(run: Run) -> dict[str, str]:
    """Return command, settings, data and versions as texts."""
    info = run.info
    settings = ", ".join(f"{name} {value}" for name, value in info["fit"].items())
    versions = ", ".join(f"{name} {number}" for name, number in info["versions"].items())
    return {
        "command": f"sphunc fit {info['source']['path']} --out {run.folder.name}".replace("  ", " "),
        "settings": settings,
        "data": f"fingerprint {info['data']['fingerprint'][:16]}",
        "versions": versions,
    }
