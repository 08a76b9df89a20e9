"""One line that says what to do with an influence graph, and how to read each of its checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FEW_LINKS = 0.5
"""Expected links below which nothing was found that could be compared with a placebo."""
TYPICAL_EFFECT = 0.3
"""Coefficient that is meant where the verdict speaks of a typical link."""
CLEARLY_CHANGED = 0.01
"""Level of the test of both halves at which the verdict speaks of it."""
CLEAR = 2.0
"""Standard errors that count as a difference."""
HALF = 0.5
MANY = 0.8
MORE = 1.2
LEAST_SIMULATED = 10
"""Simulated links shown below which their precision says little."""
MOST_TIMES = 100

Diagnostics = Mapping[str, float | int]


@dataclass(frozen=True)
class Check:
    """One check of an influence graph.

    Attributes:
        name: of the check.
        value: what was found.
        reference: what to compare it with; NaN where there is nothing.
        reading: how to read it, in words.
    """

    name: str
    value: float
    reference: float
    reading: str


def verdict(found: float, fit: Diagnostics, diagnostics: Diagnostics) -> str:
    """Read the checks from the gravest to the mildest, and say the first that applies.

    Args:
        found: expected number of true links among those above one half.
        fit: estimates, of which ``detectable`` and ``rows_per_target`` are read where they are known.
        diagnostics: checks by name; empty where none was run.
    """
    if found < FEW_LINKS:
        return _nothing_found(fit)
    placebo = diagnostics.get("placebo_links", 0.0)
    if placebo >= MANY * found:
        return "placebo finds as many links as the data: do not trust this graph"
    if placebo >= 0.5 * MANY * found:
        return "placebo finds nearly half as many links as the data: trust the ranking, not the probabilities"
    if diagnostics.get("reversed_links", 0.0) >= MORE * found:
        return "reversed time finds more links than the data: directions are doubtful"
    if _is_shared(diagnostics):
        return "agents move with their sources at the same time: shared shocks may pass for influence"
    if _is_ignored(diagnostics):
        return "shocks of sources are not followed: shared slow causes may pass for influence"
    if _is_imprecise(diagnostics):
        return "on data simulated from the fit most links shown do not exist: trust the ranking, not the probabilities"
    if diagnostics.get("halves_p_value", 1.0) < CLEARLY_CHANGED:
        return f"{found:.0f} links expected above 0.5, but influence differs between both halves: an average over times"
    if diagnostics and not {"placebo_links", "reversed_links"} & set(diagnostics):
        return f"{found:.0f} links expected above 0.5, but too few candidates to compare with decoys: not calibrated"
    if diagnostics:
        return f"checks passed: {found:.0f} links expected above 0.5"
    if "rows_per_target" not in fit:
        return f"{found:.0f} links expected above 0.5, calibrated by decoys"
    return f"{found:.0f} links expected above 0.5; not checked (diagnose=True runs the checks)"


def check_rows(found: float, diagnostics: Diagnostics) -> list[Check]:
    """Every check that was run, with its reference and how to read it.

    Args:
        found: expected number of true links among those above one half.
        diagnostics: checks by name.
    """
    rows = []
    for name, (reference, read) in READINGS.items():
        if name in diagnostics:
            value = float(diagnostics[name])
            target = found if reference is None else reference
            if math.isnan(value):
                rows.append(Check(name, value, target, "too few links, or too few times, to tell"))
            else:
                rows.append(Check(name, value, target, read(value, target, diagnostics)))
    return rows


def _nothing_found(fit: Diagnostics) -> str:
    detectable = fit.get("detectable")
    if detectable is None:
        return "no link stands out from decoys, sources that cannot influence the target"
    factor = (detectable / TYPICAL_EFFECT) ** 2
    if factor <= 1:
        return f"no link stands out: with these data a link of coefficient {TYPICAL_EFFECT} would have been seen"
    if factor > MOST_TIMES:
        return f"no link stands out: too few times to find links of coefficient {TYPICAL_EFFECT}"
    wanted = f"observe {_amount(factor)} times as many times"
    have = fit.get("rows_per_target")
    if have is None:
        return (
            f"no link stands out: coefficients below {detectable:.2g} cannot be seen in these data; {wanted} to see "
            f"one of {TYPICAL_EFFECT}"
        )
    return (
        f"no link stands out: each agent has {have:.0f} rows (times x independent coordinates), and a link of "
        f"coefficient {TYPICAL_EFFECT} would take about {factor * have:.0f} to be seen; {wanted}"
    )


def _amount(factor: float) -> str:
    if factor > MOST_TIMES:
        return f"more than {MOST_TIMES}"
    return f"about {factor:.1f}"


def _is_shared(diagnostics: Diagnostics) -> bool:
    same_time = abs(diagnostics.get("same_time_response", 0.0))
    is_clear = same_time > CLEAR * diagnostics.get("same_time_error", math.inf)
    return is_clear and same_time > HALF * abs(diagnostics.get("shock_response", 0.0))


def _is_ignored(diagnostics: Diagnostics) -> bool:
    error = diagnostics.get("shock_response_error", math.inf)
    return diagnostics.get("shock_response", 1.0) + CLEAR * error < HALF


def _is_imprecise(diagnostics: Diagnostics) -> bool:
    is_known = diagnostics.get("simulated_links", 0) >= LEAST_SIMULATED
    return is_known and diagnostics.get("simulated_precision", 1.0) < HALF


def _read_placebo(value: float, reference: float, diagnostics: Diagnostics) -> str:
    words = "links found among sources that cannot influence the target: near 0 is best"
    if reference >= FEW_LINKS and value >= 0.5 * MANY * reference:
        words = f"{words}: here they are many, so that links may be noise"
    return words


def _read_reversed(value: float, reference: float, diagnostics: Diagnostics) -> str:
    words = "links found with time running backwards"
    if reference >= FEW_LINKS and value >= MORE * reference:
        return f"{words}: more than in the data, which speaks for shared causes"
    if reference >= FEW_LINKS and value >= HALF * reference:
        return f"{words}: nearly as many as in the data, so that this check does not tell directions apart"
    return f"{words}: should be clearly fewer than in the data, as they are"


def _read_shocks(value: float, reference: float, diagnostics: Diagnostics) -> str:
    words = "how far agents follow what is unforeseen in their sources, in units of what the links say"
    if _is_ignored(diagnostics):
        return f"{words}: shocks are not followed, so that shared slow causes may pass for influence"
    return f"{words} (standard error {diagnostics.get('shock_response_error', math.nan):.2f}); 1 under influence"


def _read_same_time(value: float, reference: float, diagnostics: Diagnostics) -> str:
    words = "how far agents move with the shock of a source at the same time, too early for influence"
    if _is_shared(diagnostics):
        return f"{words}: they do, so that shared shocks may pass for influence"
    return f"{words} (standard error {diagnostics.get('same_time_error', math.nan):.2f}); 0 unless shocks are shared"


def _read_halves(value: float, reference: float, diagnostics: Diagnostics) -> str:
    first = diagnostics.get("first_half", math.nan)
    second = diagnostics.get("second_half", math.nan)
    sizes = f"{first:.2f} in the first half of the times, {second:.2f} in the second (1 is the graph's own)"
    if value < reference:
        return f"influence differs between the halves: {sizes}; the graph is an average"
    return f"p-value of a change of influence: no sign of one: {sizes}"


def _read_simulated(value: float, reference: float, diagnostics: Diagnostics) -> str:
    shown = diagnostics.get("simulated_links", 0)
    return f"share of the {shown:.0f} links shown on data simulated from the fit that exist; at least a half"


def _read_detectable(value: float, reference: float, diagnostics: Diagnostics) -> str:
    words = "smallest coefficient (in units of the states) that these data can show"
    if value > reference:
        return f"{words}: a typical link of {reference} takes {_amount((value / reference) ** 2)} times as many times"
    return f"{words}: enough for a typical link of {reference}"


READINGS: dict[str, tuple[float | None, Callable[[float, float, Diagnostics], str]]] = {
    "placebo_links": (None, _read_placebo),
    "reversed_links": (None, _read_reversed),
    "shock_response": (1.0, _read_shocks),
    "same_time_response": (0.0, _read_same_time),
    "halves_p_value": (0.05, _read_halves),
    "simulated_precision": (HALF, _read_simulated),
    "detectable": (TYPICAL_EFFECT, _read_detectable),
}
"""Reference of each check (None is the number of links found), and how it is put into words."""
