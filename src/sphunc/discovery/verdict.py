"""One line that says what to do with an influence graph, and how to read each of its checks."""

from __future__ import annotations

from collections.abc import Mapping

FEW_LINKS = 0.5
"""Expected links below which nothing was found that could be compared with a placebo."""

READINGS = {
    "placebo_links": "links that the same method finds when every source is replaced by an agent that cannot "
    "influence the target, or read at wrong times: should be near 0; as many as `links` means that the links are noise",
    "reversed_links": "links found with time running backwards: clearly fewer than `links` if influence has a "
    "direction; as many or more means shared causes rather than influence",
    "detectable": "smallest coefficient (in units of the standardised states) that these rows can show",
}
"""How to read each check."""


def verdict(found: float, fit: Mapping[str, float | int], diagnostics: Mapping[str, float | int]) -> str:
    """Read the checks from the gravest to the mildest, and say the first that applies.

    Args:
        found: expected number of true links among those above one half.
        fit: estimates, of which ``rows_per_target`` and ``rows_needed`` are read; a fitted model's states have
            neither, and their links are judged by decoys.
        diagnostics: checks by name; empty where none was run.
    """
    if found < FEW_LINKS:
        return _nothing_found(fit)
    placebo = diagnostics.get("placebo_links", 0.0)
    if placebo >= 0.8 * found:
        return "placebo finds as many links as the data: do not trust this graph"
    if placebo >= 0.4 * found:
        return "placebo finds nearly half as many links as the data: trust the ranking, not the probabilities"
    if diagnostics.get("reversed_links", 0.0) >= 1.2 * found:
        return "reversed time finds more links than the data: directions are doubtful"
    if diagnostics:
        return f"checks passed: {found:.0f} links expected above 0.5"
    if "rows_per_target" not in fit:
        return f"{found:.0f} links expected above 0.5, calibrated by decoys"
    return f"{found:.0f} links expected above 0.5; not checked (diagnose=True runs placebo and reversed time)"


def _nothing_found(fit: Mapping[str, float | int]) -> str:
    if "rows_per_target" not in fit:
        return "no link stands out from decoys, sources that cannot influence the target"
    have = fit["rows_per_target"]
    needed = fit.get("rows_needed", 0)
    if needed > have > 0:
        return (
            f"no link stands out: each agent has {have:.0f} rows (times x independent coordinates), and a link of "
            f"coefficient 0.3 would take about {needed:.0f} to be seen; observe about {needed / have:.1f} times as "
            "many times"
        )
    return "no link stands out: with these rows a link of coefficient 0.3 would have been seen"
