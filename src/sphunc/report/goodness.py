"""Goodness of fit by simulation: statistics of the observed panel against panels that the model draws.

As in RSiena's ``sienaGOF`` (Lospinoso and Snijders 2019) every period is simulated from what was observed before it,
and observed statistics are compared with the distribution of simulated ones: one by one, and by family with the
distance of Mahalanobis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Float, Int, Tensor, Whole
from sphunc.errors import DataError
from sphunc.estimator import SphUnc
from sphunc.forecasting import align
from sphunc.hypergraph import TemporalHypergraph
from sphunc.report.checks import check_fitted, default_model
from sphunc.report.drawing import Figure, violin_plot
from sphunc.report.table import Table

MOST_CELLS = 30_000
"""Agents times periods that are simulated; of longer panels the last periods are taken."""
MOST_TRANSITIONS = 4
"""Classes from which on transitions between them are not listed one by one."""
SIGNIFICANT = 0.05
TITLE = "Observed and simulated panels"


@dataclass(frozen=True, eq=False, repr=False)
class GoodnessOfFit:
    """Statistics of the observed panel and of simulated ones.

    Attributes:
        names: of K statistics.
        families: what each belongs to: class shares, transitions, persistence, homophily.
        observed: ``[K]``.
        simulated: ``[S, K]``.
        periods: that were simulated.
        is_in_sample: whether the fit saw them.
    """

    names: tuple[str, ...]
    families: tuple[str, ...]
    observed: Float[np.ndarray, " statistic"]
    simulated: Float[np.ndarray, "sample statistic"]
    periods: int
    is_in_sample: bool

    @property
    def p_values(self) -> Float[np.ndarray, " statistic"]:
        """Two-sided Monte Carlo p-value of every statistic."""
        above = (self.simulated >= self.observed).sum(0)
        below = (self.simulated <= self.observed).sum(0)
        return np.minimum(1.0, 2 * (1 + np.minimum(above, below)) / (1 + len(self.simulated)))

    @property
    def family_p_values(self) -> dict[str, float]:
        """Monte Carlo p-value of every family as a whole, by the distance of Mahalanobis."""
        found = {}
        for family in dict.fromkeys(self.families):
            columns = [k for k, one in enumerate(self.families) if one == family]
            found[family] = joint_p_value(self.observed[columns], self.simulated[:, columns])
        return found

    def to_table(self) -> Table:
        """One row per statistic, and one per family as a whole."""
        low, high = np.quantile(self.simulated, [0.025, 0.975], axis=0)
        columns = {
            "family": list(self.families),
            "statistic": list(self.names),
            "observed": self.observed.tolist(),
            "simulated": self.simulated.mean(0).tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "p_value": self.p_values.tolist(),
        }
        frame = pl.DataFrame(columns, strict=False)
        joint = self.family_p_values
        whole = pl.DataFrame(
            {"family": list(joint), "statistic": ["all of the family"] * len(joint), "p_value": list(joint.values())}
        )
        note = (
            f"{len(self.simulated)} panels of {self.periods} simulated times, each drawn from what was observed before "
            "it. Low and high hold 95 % of the simulated values. A small p-value says that the "
            "model does not reproduce this side of the data."
        )
        if self.is_in_sample:
            note += " The fit saw these periods: a good value here is necessary, not sufficient."
        return Table(TITLE, pl.concat([frame, whole], how="diagonal"), note)

    def to_figure(self) -> Figure:
        """Violins of the simulated statistics with the observed ones as points."""
        poor = [name for name, p in zip(self.names, self.p_values, strict=True) if p < SIGNIFICANT]
        seen = "All observed values lie where simulated ones do."
        if poor:
            seen = f"Outside of what is simulated: {', '.join(poor)}."
        description = f"Violins: simulated. Points: observed. {seen}"
        return violin_plot(TITLE, description, self.names, self.simulated, self.observed)

    def __repr__(self) -> str:
        return str(self.to_table())


def joint_p_value(observed: Float[np.ndarray, " statistic"], simulated: Float[np.ndarray, "sample statistic"]) -> float:
    """Share of simulated vectors at least as far from their mean as the observed one.

    Args:
        observed: statistics.
        simulated: the same of every simulation.
    """
    centre = simulated.mean(0)
    covariance = np.atleast_2d(np.cov(simulated, rowvar=False))
    inverse = np.linalg.pinv(covariance, hermitian=True, rcond=1e-8)
    rows = simulated - centre
    distance = np.einsum("sk,kl,sl->s", rows, inverse, rows)
    own = float((observed - centre) @ inverse @ (observed - centre))
    return float((1 + (distance >= own * (1 - 1e-9)).sum()) / (1 + len(simulated)))


def goodness_of_fit(model: SphUnc, data: TemporalHypergraph, *, samples: Whole = 100, seed: Whole = 0) -> GoodnessOfFit:
    """Simulate every period of a panel, and compare its statistics with those observed.

    Classes: class shares, transitions, persistence, and how often members of a group agree. Numbers: mean, deviation,
    correlation with the last outcome, and correlation between members of a group.

    Args:
        model: as fitted, not the paper's.
        data: with outcomes.
        samples: simulated panels.
        seed: of the simulation.
    """
    check_fitted("goodness_of_fit", model)
    count = whole_number("samples", samples, least=10)
    number = seed_number(seed)
    aligned = align(data, model.schema_)
    periods = _periods(aligned)
    if not periods or default_model(model) is None:
        raise DataError(
            "goodness_of_fit needs the default model and an outcome that follows a time at which any was known; give "
            "data with outcomes at two times or more"
        )
    generator = torch.Generator().manual_seed(number)
    panel = _Panel(aligned, periods)
    drawn = []
    for time in periods:
        effect = model.intervene(data=aligned, origin_index=time, horizon=1, samples=count, seed=number)
        if model.schema_.numeric:
            noise = torch.randn((count, *effect.mean.shape), generator=generator, dtype=torch.float64)
            drawn.append(effect.mean.double() + effect.variance.double().sqrt() * noise)
        else:
            drawn.append(_draw(effect.samples.double(), generator))
    outcomes = [aligned.y[time + 1].unsqueeze(0) for time in periods] if aligned.y is not None else []
    statistics = number_statistics if model.schema_.numeric else class_statistics
    names, families, simulated = statistics(panel, drawn, model.schema_.classes)
    _, _, observed = statistics(panel, outcomes, model.schema_.classes)
    kept = np.isfinite(simulated).all(0) & np.isfinite(observed[0])
    return GoodnessOfFit(
        tuple(name for name, keep in zip(names, kept, strict=True) if keep),
        tuple(name for name, keep in zip(families, kept, strict=True) if keep),
        observed[0][kept],
        simulated[:, kept],
        len(periods),
        _was_seen(model, aligned, periods),
    )


def _was_seen(model: SphUnc, data: TemporalHypergraph, periods: Sequence[int]) -> bool:
    if model.schema_.last not in data.times:
        return True
    return periods[0] + 1 <= data.time_index(model.schema_.last)


def _periods(data: TemporalHypergraph) -> list[int]:
    """Times from which the next is simulated, the last of them where there are many."""
    seen = (data.x_mask.any(-1) | data.y_mask).cumsum(0) > 0
    found = [t for t in range(data.num_times - 1) if bool((seen[t] & data.y_mask[t + 1]).any())]
    return found[-max(1, MOST_CELLS // max(1, data.num_nodes)) :]


def _draw(
    probabilities: Float[Tensor, "sample agent class"], generator: torch.Generator
) -> Int[Tensor, "sample agent"]:
    uniform = torch.rand(probabilities.shape[:2], generator=generator, dtype=torch.float64).unsqueeze(-1)
    return (uniform > probabilities.cumsum(-1)[..., :-1]).sum(-1)


class _Panel:
    """What statistics read besides outcomes: who was observed before and after, and who met.

    Args:
        data: aligned with the model.
        periods: times before each simulated one.
    """

    def __init__(self, data: TemporalHypergraph, periods: Sequence[int]) -> None:
        assert data.y is not None
        self.mask = [data.y_mask[time + 1] for time in periods]
        self.both = [data.y_mask[time] & data.y_mask[time + 1] for time in periods]
        self.last = [data.y[time] for time in periods]
        self.groups = [_memberships(data, time + 1) for time in periods]


def _memberships(data: TemporalHypergraph, time: int) -> tuple[Int[Tensor, " nnz"], Int[Tensor, " nnz"], int]:
    """Agents and groups that meet at a time with an outcome; those of the time before where nobody meets."""
    node, edge = data.hyperedge_index
    here = data.hyperedge_time[edge] == time
    if not bool(here.any()):
        here = data.hyperedge_time[edge] == time - 1
    here = here & data.y_mask[time][node]
    return node[here], edge[here], data.num_hyperedges


Statistics = tuple[list[str], list[str], Float[np.ndarray, "sample statistic"]]


def class_statistics(panel: _Panel, outcomes: Sequence[Tensor], classes: Sequence[str]) -> Statistics:
    """Class shares, transitions, persistence and agreement inside groups, over all periods.

    Args:
        panel: who was observed, and who met.
        outcomes: classes after each period ``[S, N]``.
        classes: their names.
    """
    samples = len(outcomes[0])
    C = len(classes)
    count = torch.zeros(samples, C, dtype=torch.float64)
    moves = torch.zeros(samples, C, C, dtype=torch.float64)
    agree = torch.zeros(samples, dtype=torch.float64)
    pairs = 0.0
    for k, drawn in enumerate(outcomes):
        indicator = torch.nn.functional.one_hot(drawn, C).double()
        count += indicator[:, panel.mask[k]].sum(1)
        both = panel.both[k]
        before = torch.nn.functional.one_hot(panel.last[k][both], C).double()
        moves += torch.einsum("nb,snc->sbc", before, indicator[:, both])
        node, edge, groups = panel.groups[k]
        members = torch.bincount(edge, minlength=groups).double()
        pairs += float((members * (members - 1) / 2).sum())
        for c in range(C):
            same = torch.zeros(samples, groups, dtype=torch.float64).index_add_(1, edge, indicator[:, node, c])
            agree += (same * (same - 1) / 2).sum(1)
    names = [f"share of {name}" for name in classes]
    families = ["class shares"] * C
    columns = [count / count.sum(1, keepdim=True)]
    total = moves.sum((1, 2))
    if C <= MOST_TRANSITIONS:
        off = [(a, b) for a in range(C) for b in range(C) if a != b]
        names += [f"{classes[a]} → {classes[b]}" for a, b in off]
        families += ["transitions"] * len(off)
        columns.append(torch.stack([moves[:, a, b] / moves[:, a].sum(1) for a, b in off], 1))
    names.append("same as before")
    families.append("persistence")
    columns.append((moves.diagonal(dim1=1, dim2=2).sum(1) / total).unsqueeze(1))
    names.append("members who agree")
    families.append("homophily")
    columns.append((agree / pairs if pairs else torch.full_like(agree, torch.nan)).unsqueeze(1))
    return names, families, torch.cat(columns, 1).numpy()


def number_statistics(panel: _Panel, outcomes: Sequence[Tensor], classes: Sequence[str]) -> Statistics:
    """Mean, deviation, correlation with the last outcome and inside groups, of each number over all periods.

    Args:
        panel: who was observed, and who met.
        outcomes: numbers after each period ``[S, N, K]``.
        classes: empty.
    """
    names: list[str] = []
    families: list[str] = []
    columns: list[Tensor] = []
    K = outcomes[0].shape[-1]
    for k in range(K):
        end = "" if K == 1 else f" ({k})"
        values = torch.cat([one[:, mask, k].double() for one, mask in zip(outcomes, panel.mask, strict=True)], 1)
        after = torch.cat([one[:, both, k].double() for one, both in zip(outcomes, panel.both, strict=True)], 1)
        before = torch.cat([last[both, k].double() for last, both in zip(panel.last, panel.both, strict=True)])
        mean = values.mean(1)
        spread = values.std(1, correction=0)
        paired = ((after - after.mean(1, keepdim=True)) * (before - before.mean())).mean(1)
        scale = after.std(1, correction=0) * before.std(correction=0)
        products = torch.zeros_like(mean)
        pairs = 0.0
        for one, (node, edge, groups) in zip(outcomes, panel.groups, strict=True):
            centred = one[:, node, k].double() - mean.unsqueeze(1)
            summed = centred.new_zeros(len(mean), groups)
            squares = summed.index_add(1, edge, centred.square())
            summed = summed.index_add(1, edge, centred)
            products += (summed.square() - squares).sum(1) / 2
            members = torch.bincount(edge, minlength=groups).double()
            pairs += float((members * (members - 1) / 2).sum())
        inside = torch.full_like(mean, torch.nan)
        if pairs:
            inside = products / pairs / spread.square()
        names += [f"mean{end}", f"deviation{end}", f"correlation with the last{end}", f"correlation in groups{end}"]
        families += ["level", "spread", "persistence", "homophily"]
        columns += [mean, spread, paired / scale, inside]
    return names, families, torch.stack(columns, 1).numpy()
