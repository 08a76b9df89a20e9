"""One line that says what to do with an influence graph."""

from __future__ import annotations

from collections.abc import Mapping

FEW_LINKS = 0.5  # expected links below which there is nothing to compare with a placebo


def verdict(found: float, diagnostics: Mapping[str, float | int], calibrated: bool) -> str:
    """Read the diagnostics from the gravest to the mildest, and say the first that applies.

    Args:
        found: expected number of true links among those above one half.
        diagnostics: as :func:`sphunc.causal.diagnostics.diagnose` gives them; empty when nothing was checked.
        calibrated: whether probabilities were mapped to frequencies.
    """
    if not diagnostics:
        return f"{found:.0f} links expected above 0.5; not checked (discover with diagnose=True)"
    d = diagnostics
    if d["links"] < FEW_LINKS:
        return "no link stands out: the data are too few or too noisy for these candidates"
    if d["placebo_links"] >= 0.8 * d["links"]:
        return "placebo finds as many links as the data: do not trust this graph"
    if d["placebo_links"] >= 0.4 * d["links"]:
        return "placebo finds nearly half as many links as the data: trust the ranking, not the probabilities"
    if d["reversed_links"] >= 1.2 * d["links"]:
        return "reversed time finds more links than the data: directions are doubtful"
    if d["fixed_effect_agreement"] < 0.5:
        return "links change when each agent's mean is removed: persistent similarity may pass for influence"
    if d["screened_out"] > 0.1:
        return "a tenth of the links lie outside the enumerated candidates: narrow the candidate list"
    wording = "calibrated" if calibrated else "not calibrated"
    return f"checks passed: {found:.0f} links expected above 0.5, probabilities {wording}"
