"""From figures to the lines of the table: mean over seeds, 95 % interval, target, reached or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from model_store import Figures
from model_worlds import SIZES
from scipy.stats import t as student

Found = dict[tuple[str, str], dict[int, Figures]]  # (unit, preset) -> seed -> figures
HEADLINE = {"snare": ("macro-F1", 78.5), "pheme": ("macro AUC", 85.2), "amigos": ("accuracy", 75.1)}


@dataclass(frozen=True)
class Line:
    """One line of the table; ``reached`` is None where nothing is asked for."""

    row: str
    preset: str
    values: tuple[float, ...]
    target: str = "-"
    reached: bool | None = None
    note: str = ""

    def __str__(self) -> str:
        mark = {True: "yes", False: "NO", None: ""}[self.reached]
        mean, spread = np.mean(self.values), interval(self.values)
        return (
            f"{self.row:24s} {self.preset:14s} {len(self.values):5d} {mean:8.3f} {spread:>17s} "
            f"{self.target:>10s} {mark:7s} {self.note}"
        )


HEADER = (
    f"{'what':24s} {'on':14s} {'seeds':>5s} {'mean':>8s} {'95 % interval':>17s} {'target':>10s} {'reached':7s} notes"
)


def interval(values: tuple[float, ...]) -> str:
    """Student's interval of the mean; a dash for a single value."""
    if len(values) < 2:
        return "-"
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return f"{np.mean(values) - half:.3f} ... {np.mean(values) + half:.3f}"


def at_least(row: str, preset: str, values: list[float], bound: float, note: str = "") -> Line:
    """A line whose mean must reach a bound."""
    return Line(row, preset, tuple(values), f">= {bound:g}", bool(np.mean(values) >= bound), note)


def below(row: str, preset: str, values: list[float], bound: float, note: str = "") -> Line:
    """A line whose mean must stay under a bound."""
    return Line(row, preset, tuple(values), f"< {bound:g}", bool(np.mean(values) < bound), note)


def column(found: Found, unit: str, preset: str, name: str) -> list[float]:
    """One figure over the seeds."""
    return [float(figures[name]) for figures in found.get((unit, preset), {}).values()]


def mean(found: Found, unit: str, preset: str, name: str) -> float:
    """Mean of one figure over the seeds."""
    return float(np.mean(column(found, unit, preset, name)))


def size_note(found: Found, preset: str) -> str:
    """Agents and seconds of the fits of a preset."""
    return f"{mean(found, 'fitted', preset, 'agents'):.0f} agents, fit {mean(found, 'fitted', preset, 'seconds'):.0f} s"


def nll_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Share of the way from the best trivial model of each seed to the oracle."""
    for preset in presets:
        ours, peers = found.get(("fitted", preset), {}), found.get(("trivial", preset), {})
        both = sorted(ours.keys() & peers.keys())
        if not both:
            continue
        rivals = {seed: {k: v for k, v in peers[seed].items() if k != "oracle"} for seed in both}
        best = {seed: min(rivals[seed], key=lambda name, r=rivals[seed]: r[name]) for seed in both}
        gap = {seed: rivals[seed][best[seed]] - peers[seed]["oracle"] for seed in both}
        shares = [(rivals[s][best[s]] - ours[s]["nll"]) / gap[s] for s in both]
        words = ", ".join(f"{name} {np.mean([rivals[s][name] for s in both]):.3f}" for name in rivals[both[0]])
        note = f"NLL {np.mean([ours[s]['nll'] for s in both]):.3f}; {words}; "
        note += f"oracle {np.mean([peers[s]['oracle'] for s in both]):.3f}; "
        pooled = np.dot(shares, list(gap.values())) / sum(gap.values())
        note += f"of the summed gaps {pooled:.3f}; {size_note(found, preset)}"
        yield at_least("NLL, share of the way", preset, shares, 0.5, note)


def headline_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """The paper's metric at the paper's sizes."""
    for preset in presets:
        metric, target = HEADLINE[preset]
        if values := column(found, "headline", preset, "score"):
            note = f"oracle {mean(found, 'headline', preset, 'oracle'):.1f}; "
            note += f"fit {mean(found, 'headline', preset, 'seconds'):.0f} s"
            yield at_least(f"headline {metric}", preset, values, target, note)


def ece_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Mean error against the mean upper edge of the band of perfect calibration."""
    verdicts = []
    for preset in presets:
        if values := column(found, "fitted", preset, "ece"):
            floor, edge = (mean(found, "fitted", preset, name) for name in ("ece_floor", "ece_edge"))
            hits = int(sum(column(found, "fitted", preset, "is_calibrated")))
            verdicts.append(bool(np.mean(values) <= edge))
            note = f"floor {floor:.3f}; not above the band on {hits} of {len(values)} seeds"
            yield Line("ECE", preset, tuple(values), f"<= {edge:.3f}", verdicts[-1], note)
    if verdicts:
        reached = sum(verdicts) >= 4 if len(verdicts) == 5 else None
        yield Line("ECE, presets not above", f"{len(verdicts)} presets", (float(sum(verdicts)),), ">= 4 of 5", reached)


def aleatoric_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Rank correlation of aleatoric with the true entropy of labels."""
    for preset in presets:
        if values := column(found, "fitted", preset, "aleatoric_entropy"):
            note = f"total reaches {mean(found, 'fitted', preset, 'total_entropy'):.3f}"
            yield at_least("aleatoric, true entropy", preset, values, 0.6, note)


def correlation_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Rank correlation of the two parts."""
    for preset in presets:
        if values := column(found, "fitted", preset, "parts"):
            yield below("epistemic, aleatoric", preset, values, 0.4)


def dropout_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Macro-F1 with features lost at test, relative to none lost."""
    for preset in presets:
        whole, lost = (column(found, "fitted", preset, name) for name in ("macro_f1", "macro_f1_lost"))
        if whole:
            note = f"macro-F1 {np.mean(whole):.3f} -> {np.mean(lost):.3f}"
            yield at_least("60 % lost, macro-F1", preset, [b / a for a, b in zip(whole, lost, strict=True)], 0.93, note)


def link_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Influence from features end to end."""
    for preset in presets:
        if not (values := column(found, "fitted", preset, "p10")):
            continue
        yield at_least("influence P@10", preset, values, 0.9, f"{mean(found, 'fitted', preset, 'agents'):.0f} agents")
        area, cosine = (column(found, "fitted", preset, name) for name in ("auprc", "cosine"))
        views = {figures["cosine_view"] for figures in found["fitted", preset].values()}
        note = (
            f"AUPRC {np.mean(area):.3f}, lagged cosine at its best {np.mean(cosine):.3f} ({', '.join(sorted(views))})"
        )
        note += f", centred {mean(found, 'fitted', preset, 'correlation'):.3f}"
        note += f", base rate {mean(found, 'fitted', preset, 'base_rate'):.3f}"
        yield at_least("AUPRC / lagged cosine", preset, [a / b for a, b in zip(area, cosine, strict=True)], 1.3, note)


def ood_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Newcomers of an unseen community, found by epistemic entropy."""
    for preset in presets:
        ours, peers = found.get(("newcomers", preset), {}), found.get(("newcomer_peers", preset), {})
        both = sorted(ours.keys() & peers.keys())
        if not both:
            continue
        epistemic = np.array([ours[s]["epistemic"] for s in both])
        density = np.array([peers[s]["density"] for s in both])
        scores = {name: np.array([peers[s][name] for s in both]) for name in peers[both[0]] if name != "density"}
        best = max(scores, key=lambda name: float(scores[name].mean()))
        largest = np.array([ours[s]["max_probability"] for s in both])
        note = f"AUROC {epistemic.mean():.3f}, density of true states {density.mean():.3f}"
        yield at_least("newcomers, AUROC share", preset, list(epistemic / density), 0.85, note)
        for name, rival in (("max probability", largest), ("ensemble", scores[best])):
            lead, words = epistemic - rival, f"{name} {rival.mean():.3f}" + f" ({best})" * (name == "ensemble")
            yield Line(f"  over {name}", preset, tuple(lead), "> 0", bool(lead.mean() > 0), words)


def size_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Epistemic falls with training agents, aleatoric hardly moves; both on their scale of 0 to 1."""
    for preset in presets:
        runs = list(found.get(("sizes", preset), {}).values())
        if not runs:
            continue
        epistemic, aleatoric = (np.array([run[name] for run in runs]) for name in ("epistemic", "aleatoric"))
        fall, course = epistemic[:, 0] - epistemic[:, -1], np.diff(epistemic.mean(0))
        yield Line(
            "epistemic fall 50 to 400", preset, tuple(fall), "each > 0", bool((course < 0).all()), curve(epistemic)
        )
        move = np.ptp(aleatoric.mean(0)) / max(float(fall.mean()), 1e-9)
        note = f"largest move of the mean / fall; {curve(aleatoric)}"
        yield below("aleatoric move / fall", preset, [float(move)], 0.25, note)


def curve(values: np.ndarray) -> str:
    """Means by training agents."""
    return ", ".join(f"{size}: {value:.4f}" for size, value in zip(SIZES, values.mean(0), strict=True))


def epoch_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """One pass against the bare network."""
    for preset in presets:
        for figures in found.get(("epoch", preset), {}).values():
            note = f"{figures['agents']} agents, {figures['full']:.1f} s against {figures['bare']:.1f} s, 1 thread; "
            note += f"ratios {min(figures['ratios']):.2f} ... {max(figures['ratios']):.2f}"
            yield below("epoch / bare epoch", preset, [figures["ratio"]], 2.5, note)


def layer_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """One layer against PyG."""
    for figures in found.get(("layer", "snare"), {}).values():
        for name, timing in figures.items():
            note = f"{name}: {timing['ms']:.0f} ms against {timing['reference_ms']:.0f} ms of processor time"
            yield below("layer / HypergraphConv", "10,000 agents", [timing["ratio"]], 1.2, note)


def fit_lines(found: Found, presets: list[str]) -> Iterator[Line]:
    """Seconds of a fit with defaults."""
    if values := column(found, "fit", "snare", "seconds"):
        note = f"2 threads, {mean(found, 'fit', 'snare', 'passes'):.0f} passes, "
        note += f"processor time {mean(found, 'fit', 'snare', 'processor'):.0f} s"
        yield below("fit, seconds", "snare", values, 60, note)


def real_lines(found: Found, presets: list[str]) -> Iterator[str]:
    """One block per real data set, as text."""
    for (unit, case), seeds in found.items():
        for figures in seeds.values() if unit == "real" else ():
            yield f"{case}: {figures['rows']} forecasts of {figures['agents']} agents"
            for name, system in figures["systems"].items():
                lead = f"  NLL of it less ours {_span(system['lead'])}" if "lead" in system else ""
                yield (
                    f"  {name:12s} NLL {_span(system['nll'])}  macro-F1 {_span(system['macro_f1'])}  accuracy "
                    f"{_span(system['accuracy'])}  ECE {system['ece']:.3f} (floor {system['ece_floor']:.3f}, edge "
                    f"{system['ece_edge']:.3f}){lead}"
                )


def _span(values: list[float]) -> str:
    return f"{values[0]:.3f} [{values[1]:.3f}, {values[2]:.3f}]"


Lines = Callable[[Found, list[str]], Iterator[Line]]
