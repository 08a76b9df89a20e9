"""Turn the JSON of `golden.py` and `core.py` into the page of results in the documentation.

    python benchmarks/results.py GOLDEN.json [--fresh FRESH.json] [--core CORE.json] [--out docs/results/golden.md]

``--fresh`` names a run on draws of panels that were not looked at while the model was made; they have a section of
their own.

Nothing is computed anew: every figure stands in the files. The best negative log-likelihood of a set is in bold,
whichever system has it. Lines of the page stay below 120 characters.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Figures = Mapping[str, Any]
MODEL = "SphUnc"
SYSTEMS = ("frequencies", "persistence", "regression", "boosting", MODEL)
KINDS = {"panel": "Panels", "real": "Real data", "world": "Worlds"}
CLEAR = 2.0
"""Paired standard errors from which on a difference is called one."""
LEAST_AUROC_DIFFERENCE = -0.01
LEAST_DIFFERENCE = 0.0005
"""Nats from which on the NLL with a normal density is told."""
CORE_ROWS = {
    "hide": "All but the last observation of an agent hidden",
    "age": "Last observed k times ago",
    "unseen": "Unseen agents and communities, by the epistemic part",
    "causes": "Each part of the uncertainty with its own cause and the other's",
    "resume": "Fits killed and resumed",
    "cost": "Processor seconds and memory",
    "headlines": "The paper's metrics on worlds of the paper's sizes",
}
"""Headings of the rows of `core.py`."""

HEAD = """# Results

This page is written by `benchmarks/results.py` from the file that `benchmarks/golden.py` writes
(`make bench-golden ARGS="--out golden.json"`). Every system forecasts the same outcomes one step ahead, from the same
information: features, last outcomes, own history, co-members' means, level and trend. Regression and boosting choose
penalties, trees, blocks of columns and temperature on rolling origins of the training data. Draws and seeds 0 and 1,
and the real sets, were looked at while the model was made.

- **NLL**: mean negative log-likelihood of held-out outcomes, in nats; the lowest of a set is in bold. Numbers have
  densities, so that their NLL may be negative. The other systems have normal densities; that of SphUnc may have
  outliers, and its NLL with a normal density is told where it differs.
- **gap**: NLL of SphUnc less that of the best other system, chosen on the same outcomes, with its standard error
  (paired, clustered by agent). Negative: SphUnc is better.
- **ECE**: expected calibration error in 15 bins, beside the **floor**, the mean that a perfectly calibrated forecaster
  has on as many rows, and the upper end of its 95 % **band**.
- **AUROC**: of errors, by `total` and by the top probability (numbers: errors above their median, by `total` and by
  the predicted deviation).
- **coverage**: of 90 % prediction sets or intervals. **seconds**: processor time of `fit`, one thread.
"""


def read(path: str) -> Figures:
    """Read a JSON file of figures."""
    return json.loads(Path(path).read_text())


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table, or nothing without rows."""
    if not rows:
        return []
    rule = ["---", *["---:"] * (len(head) - 1)]
    return ["", *("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)), ""]


def number(value: Any, form: str = ".3f") -> str:
    """A figure as text; a dash where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return format(value, form)


def nll_rows(sets: Figures) -> list[list[str]]:
    """Negative log-likelihood of every system, and the gap of the model."""
    rows = []
    for name, found in sets.items():
        systems = found.get("systems", {})
        values = {system: systems[system]["nll"] for system in SYSTEMS if system in systems}
        best = min(values.values(), default=math.nan)
        cells = [name]
        for system in SYSTEMS:
            shown = number(values.get(system))
            cells.append(f"**{shown}**" if values.get(system) == best else shown)
        gap = "–"
        if "gap" in found:
            gap = f"{number(found['gap'], '+.4f')} ({number(found['gap_error'], '.4f')})"
        rows.append([*cells, gap])
    return rows


def quality_rows(sets: Figures) -> list[list[str]]:
    """Calibration, ranking of errors, coverage and time of the model."""
    rows = []
    for name, found in sets.items():
        if "error" in found:
            rows.append([name, *["–"] * 6, "failed"])
            continue
        if "fit_seconds" not in found:
            continue
        ranking = "–"
        if "auroc_total" in found:
            ranking = f"{number(found['auroc_total'])} / {number(found['auroc_plain'])}"
        cells = [str(found["rows"]), number(found.get("ece")), number(found.get("ece_floor"))]
        cells += [number(found.get("ece_high")), ranking, number(found.get("coverage"), ".2f")]
        rows.append([name, *cells, number(found["fit_seconds"], ".1f")])
    return rows


def world_rows(sets: Figures) -> list[list[str]]:
    """What only worlds can tell: the oracle, links and effects against the truth."""
    keys = ("share", "auprc", "p10", "slope_1", "slope_3", "variation_1", "variation_3")
    rows = []
    for name, found in sets.items():
        if "oracle" in found:
            rows.append([name, number(found["oracle"]), *(number(found.get(key), ".2f") for key in keys)])
    return rows


def summary_lines(sets: Figures) -> list[str]:
    """What all sets say together, in a list."""
    judged = {name: found for name, found in sets.items() if "gap" in found}
    if not judged:
        return ["- SphUnc was not measured."]
    others = {name: found for name, found in judged.items() if not name.startswith("world/")}
    ahead = [name for name, found in judged.items() if found["gap"] < 0]
    clearly_ahead = [name for name, found in judged.items() if found["gap_ratio"] < -CLEAR]
    behind = [name for name, found in judged.items() if found["gap_ratio"] > CLEAR]
    lines = [
        f"- {len(judged)} sets. SphUnc has the lowest NLL on {len(ahead)}, by more than two standard errors on "
        f"{len(clearly_ahead)}.",
        f"- Behind the best other system by more than two standard errors: {listed(behind)}.",
    ]
    if others:
        mean = sum(found["gap"] for found in others.values()) / len(others)
        lines.append(f"- Mean gap over panels and real data: {mean:+.4f} nats.")
    told = [
        name
        for name, found in judged.items()
        if abs(found.get("nll_normal", _own(found)) - _own(found)) > LEAST_DIFFERENCE
    ]
    lines += [f"- NLL of SphUnc with a normal density: {name} {judged[name]['nll_normal']:.3f}." for name in told]
    checked = [found["ece_inside"] for found in judged.values() if "ece_inside" in found]
    if checked:
        lines.append(f"- ECE inside the band of perfect calibration: {sum(checked)} of {len(checked)}.")
    covered = [(found["coverage"], found["rows"]) for found in judged.values() if "coverage" in found]
    if covered:
        pooled = sum(value * rows for value, rows in covered) / sum(rows for _, rows in covered)
        lines.append(f"- Coverage of 90 % sets and intervals, pooled over all rows: {pooled:.3f}.")
    worse = [name for name, found in judged.items() if found.get("auroc_difference", 0.0) < LEAST_AUROC_DIFFERENCE]
    lines.append(f"- `total` ranks errors worse than the top probability by more than 0.01 AUROC: {listed(worse)}.")
    shares = [found["share"] for found in judged.values() if "share" in found]
    if shares:
        lines.append(f"- Share of the way from the best other system to the oracle on worlds: {_mean(shares):.2f}.")
    seconds = sum(found["fit_seconds"] for found in judged.values())
    lines.append(f"- All fits together: {seconds:.0f} s of one core.")
    failed = [name for name, found in sets.items() if "error" in found]
    if failed:
        lines.append(f"- Failed: {listed(failed)}.")
    return wrapped(lines)


def _own(found: Figures) -> float:
    return found["systems"][MODEL]["nll"]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def listed(names: Sequence[str]) -> str:
    """Names in a row, or "none"."""
    return ", ".join(names) or "none"


def wrapped(lines: Sequence[str], width: int = 116) -> list[str]:
    """Break items of a list so that no line is longer than a page."""
    found = []
    for line in lines:
        current = ""
        for word in line.split(" "):
            if current and len(current) + 1 + len(word) > width:
                found.append(current)
                current = f"  {word}"
            else:
                current = f"{current} {word}" if current else word
        found.append(current)
    return found


def core_rows(lines: Sequence[Figures]) -> list[list[str]]:
    """One row for each figure of `core.py`, with the bound that it has to reach and whether it does."""
    rows = []
    for line in lines:
        bounds = []
        if line.get("least") is not None:
            bounds.append(f">= {line['least']:g}")
        if line.get("most") is not None:
            bounds.append(f"<= {line['most']:g}")
        reached = {True: "yes", False: "**no**", None: ""}[line.get("reached")]
        rows.append([line["case"], line["what"], number(line["value"], ".4g"), " ".join(bounds), reached])
    return rows


def core_lines(figures: Figures) -> list[str]:
    """Figures of `core.py`: a table for each of its rows."""
    found = figures["lines"]
    lines: list[str] = []
    for row in dict.fromkeys(line["row"] for line in found):
        chosen = [line for line in found if line["row"] == row]
        head = ("case", "what", "value", "must reach", "reached")
        lines += ["", f"### {CORE_ROWS.get(row, row)}", *table(head, core_rows(chosen))]
    return lines


def set_lines(sets: Figures, level: str = "##") -> list[str]:
    """Tables of all sets, by kind.

    Args:
        sets: figures by name.
        level: of the headings, in Markdown.
    """
    lines: list[str] = []
    parts: tuple[tuple[str, Sequence[str], Callable[[Figures], list[list[str]]]], ...] = (
        ("Negative log-likelihood", ("set", *SYSTEMS, "gap (error)"), nll_rows),
        (
            "Calibration, errors, coverage, time",
            ("set", "rows", "ECE", "floor", "band up to", "AUROC, total / top", "coverage", "seconds"),
            quality_rows,
        ),
    )
    for title, head, rows_of in parts:
        lines += ["", f"{level} {title}"]
        for kind, heading in KINDS.items():
            rows = rows_of({name: found for name, found in sets.items() if name.startswith(f"{kind}/")})
            if rows:
                lines += ["", f"{level}# {heading}: {title[:1].lower()}{title[1:]}", *table(head, rows)]
    return lines


def fresh_lines(sets: Figures) -> list[str]:
    """The section on draws that nothing was chosen on."""
    words = wrapped([FRESH_WORDS])
    lines = ["", "## Fresh draws", "", *(line.strip() for line in words), "", *summary_lines(sets)]
    return lines + [
        line.replace("### ", "### Fresh draws: ", 1) if line.startswith("### ") else line
        for line in set_lines(sets, "###")
    ]


def page(golden: Figures, core: Figures | None = None, fresh: Figures | None = None) -> str:
    """The whole page.

    Args:
        golden: what `golden.py` wrote.
        core: what `core.py` wrote.
        fresh: what `golden.py` wrote of draws that nothing was chosen on.
    """
    sets = golden["sets"]
    lines = [HEAD, "## In short", "", *summary_lines(sets), *set_lines(sets)]
    rows = world_rows(sets)
    if rows:
        head = ("set", "oracle", "share", "AUPRC", "P@10", "slope, 1", "slope, 3", "TV, 1", "TV, 3")
        lines += ["", "## Worlds: links and effects against the truth", "", *WORLD_WORDS, *table(head, rows)]
    if fresh is not None:
        lines += fresh_lines(fresh["sets"])
    if core is not None:
        lines += ["", "## Uncertainty, cost and robustness", *core_lines(core)]
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.rstrip() + "\n"


FRESH_WORDS = (
    "Draws 0 and 1 of the panels, and the real data, were looked at while the model was made. These draws of the same "
    "processes were not: no setting was chosen on them."
)
WORLD_WORDS = (
    "Share: of the way from the best other system to the oracle, which knows the true states, in NLL. AUPRC and P@10",
    "of links among all co-members. Slope of estimated on true effects and total variation (TV) to the true",
    "interventional distribution, 1 and 3 steps ahead, over agents whom the truth moves by more than 0.05.",
)


def main() -> None:
    """Read, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", help="JSON that golden.py wrote")
    parser.add_argument("--core", help="JSON that core.py wrote")
    parser.add_argument("--fresh", help="JSON that golden.py wrote of draws that nothing was chosen on")
    parser.add_argument("--out", default="docs/results/golden.md", help="page to write")
    options = parser.parse_args()
    core = read(options.core) if options.core else None
    fresh = read(options.fresh) if options.fresh else None
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(read(options.golden), core, fresh))
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
