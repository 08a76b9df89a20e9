r"""Change over time: do persistence and influence differ between the first and the second half, with a test.

Classes: a conditional logit of the next outcome, with constants, persistence and co-members' influence of each half,

.. math:: \log p(y_{i,t+1} = c) = a_{hc} + \theta_h [y_{i,t} = c] + \gamma_h\, \bar y_{i,t,c} + \text{const},

:math:`\bar y` the share of class c among co-members. Numbers: the same as a linear regression. Errors are clustered by
agent (White 1982), and the halves are compared by a Wald test. Influence over links is compared by
the marginal likelihood of the features, with one factor on all links in each half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch
from scipy import stats

from sphunc._typing import Float, Int, Tensor
from sphunc.estimator import SphUnc
from sphunc.forecasting import align
from sphunc.hypergraph import TemporalHypergraph, incidence_at
from sphunc.model import links_by_half
from sphunc.report.checks import check_fitted, default_model
from sphunc.report.table import Table

RIDGE = 0.01
"""Prior precision of every coefficient: keeps them finite where an outcome never changes."""
SIGNIFICANT = 0.05
ITERATIONS = 50
FEWEST_STEPS = 2
TITLE = "Change over time"
SCHEMA = {
    "quantity": pl.String,
    "first_half": pl.Float64,
    "second_half": pl.Float64,
    "difference": pl.Float64,
    "standard_error": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_value": pl.Float64,
    "reading": pl.String,
}


@dataclass(frozen=True, eq=False)
class Steps:
    """Pairs of successive outcomes.

    Attributes:
        agent: of each pair ``[n]``.
        late: 1 in the second half of the times ``[n]``.
        last: outcome before, indicators or numbers ``[n, C]``.
        others: mean of the co-members' outcomes before; 0 where there are none ``[n, C]``.
        following: the outcome that followed ``[n, C]``.
    """

    agent: Int[Tensor, " row"]
    late: Float[Tensor, " row"]
    last: Float[Tensor, "row output"]
    others: Float[Tensor, "row output"]
    following: Float[Tensor, "row output"]


def change_over_time(model: SphUnc, data: TemporalHypergraph) -> Table:
    """Persistence, co-members' influence and influence over links in both halves of the times, and their differences.

    Args:
        model: as fitted; gives the links and the order of outcomes.
        data: with outcomes at three times or more.
    """
    check_fitted("change_over_time", model)
    aligned = align(data, model.schema_)
    rows: list[dict[str, Any]] = []
    steps = successive_outcomes(aligned)
    if steps is not None:
        is_numeric = model.schema_.numeric
        estimate, covariance = linear_by_halves(steps) if is_numeric else logit_by_halves(steps)
        rows = _comparisons(estimate, covariance, is_numeric)
    of_links = _link_row(model, aligned)
    if of_links is not None:
        rows.append(of_links)
    note = (
        "Persistence and co-members' influence are estimated in both halves, without other covariates, with errors "
        "clustered by agent. "
    )
    if not model.schema_.numeric:
        note += "They are log odds: of an outcome that is as the last one, and of one that all co-members had. "
    if of_links is not None:
        note += (
            "Influence over links is a factor on the strengths of the graph, which are cautious, so that it is often "
            "above 1; what counts is the difference."
        )
    if not rows:
        note = "Too few times with outcomes to compare two halves."
    return Table(TITLE, pl.DataFrame(rows, schema=SCHEMA), note.strip())


def successive_outcomes(data: TemporalHypergraph) -> Steps | None:
    """Pairs of outcomes of an agent at successive times; None where a half has none.

    Args:
        data: with outcomes.
    """
    if data.y is None or data.num_times <= FEWEST_STEPS:
        return None
    outcome = data.y.double()
    if data.class_names:
        outcome = torch.nn.functional.one_hot(data.y, data.num_classes).double()
    outcome = torch.where(data.y_mask.unsqueeze(-1), outcome, 0.0)
    parts: list[list[Tensor]] = []
    half = (data.num_times - 1) / 2
    for time in range(data.num_times - 1):
        agent = (data.y_mask[time] & data.y_mask[time + 1]).nonzero().flatten()
        known = data.y_mask[time].double().unsqueeze(-1).expand_as(outcome[time])
        others, weight = incidence_at(data, time).mean_of_others(outcome[time], known)
        others = torch.where(weight > 0, others, 0.0)
        late = torch.full((len(agent),), float(time >= half), dtype=torch.float64)
        parts.append([agent, late, outcome[time][agent], others[agent], outcome[time + 1][agent]])
    steps = Steps(*(torch.cat([part[k] for part in parts]) for k in range(5)))
    if not bool((steps.late == 0).any()) or not bool((steps.late == 1).any()):
        return None
    return steps


def _by_half(late: Float[Tensor, " row"], columns: Tensor) -> Tensor:
    """Columns of the first half, then those of the second ``[n, ..., 2 P]``."""
    weight = late.view(-1, *(1,) * (columns.ndim - 1))
    return torch.cat([columns * (1 - weight), columns * weight], -1)


def logit_by_halves(steps: Steps) -> tuple[Float[Tensor, " parameter"], Float[Tensor, "parameter parameter2"]]:
    """Persistence and influence of both halves: (theta_1, gamma_1, theta_2, gamma_2), and their clustered covariance.

    Gamma is left out where nobody meets.

    Args:
        steps: of classes.
    """
    rows, classes = steps.following.shape
    constants = torch.eye(classes, dtype=torch.float64)[:, 1:].expand(rows, -1, -1)
    columns = [constants, steps.last.unsqueeze(-1)]
    if bool((steps.others != 0).any()):
        columns.append(steps.others.unsqueeze(-1))
    single = torch.cat(columns, -1)
    design = _by_half(steps.late, single)
    beta = design.new_zeros(design.shape[-1])
    hessian = torch.eye(len(beta)).to(design)
    for _ in range(ITERATIONS):
        p = torch.softmax(design @ beta, -1)
        gradient = torch.einsum("nc,ncd->d", steps.following - p, design) - RIDGE * beta
        mean = torch.einsum("nc,ncd->nd", p, design)
        second = torch.einsum("nc,ncd,nce->de", p, design, design) - mean.mT @ mean
        hessian = second + RIDGE * torch.eye(len(beta)).to(design)
        step = torch.linalg.solve(hessian, gradient)
        beta = beta + step * min(1.0, 5.0 / float(step.abs().max().clamp(min=1e-12)))
        if float(step.abs().max()) < 1e-9:
            break
    p = torch.softmax(design @ beta, -1)
    scores = torch.einsum("nc,ncd->nd", steps.following - p, design)
    covariance = _clustered(scores, steps.agent, hessian)
    width = single.shape[-1]
    kept = [*range(classes - 1, width), *range(width + classes - 1, 2 * width)]
    return beta[kept], covariance[kept][:, kept]


def linear_by_halves(steps: Steps) -> tuple[Float[Tensor, " parameter"], Float[Tensor, "parameter parameter2"]]:
    """The same for numbers, standardised and pooled over the outcomes.

    Args:
        steps: of numbers.
    """
    centre = steps.last.mean(0)
    scale = steps.last.std(0, correction=0).clamp(min=1e-12)
    last = (steps.last - centre) / scale
    following = (steps.following - centre) / scale
    met = (steps.others != 0).any(-1, keepdim=True)
    others = torch.where(met, (steps.others - centre) / scale, 0.0)
    columns = [torch.ones_like(last).unsqueeze(-1), last.unsqueeze(-1)]
    if bool(met.any()):
        columns.append(others.unsqueeze(-1))
    single = torch.cat(columns, -1)
    design = _by_half(steps.late, single)
    flat = design.flatten(0, 1)
    hessian = flat.mT @ flat + RIDGE * torch.eye(flat.shape[1]).to(flat)
    beta = torch.linalg.solve(hessian, flat.mT @ following.flatten())
    residual = following - design @ beta
    scores = torch.einsum("nk,nkd->nd", residual, design)
    covariance = _clustered(scores, steps.agent, hessian)
    width = single.shape[-1]
    kept = [*range(1, width), *range(width + 1, 2 * width)]
    return beta[kept], covariance[kept][:, kept]


def _clustered(scores: Float[Tensor, "row parameter"], agent: Int[Tensor, " row"], hessian: Tensor) -> Tensor:
    summed = scores.new_zeros(int(agent.max()) + 1, scores.shape[1]).index_add_(0, agent, scores)
    inverse = torch.linalg.inv(hessian)
    clusters = int(torch.unique(agent).numel())
    correction = clusters / max(1, clusters - 1)
    return correction * inverse @ (summed.mT @ summed) @ inverse


def _comparisons(estimate: Tensor, covariance: Tensor, is_numeric: bool) -> list[dict[str, Any]]:
    names = ["persistence", "co-members' influence"]
    count = len(estimate) // 2
    rows = []
    for k in range(count):
        variance = covariance[k, k] + covariance[count + k, count + k] - 2 * covariance[k, count + k]
        error = float(variance.clamp(min=0).sqrt())
        first = float(estimate[k])
        second = float(estimate[count + k])
        p_value = math.nan
        if error > 0:
            p_value = float(2 * stats.norm.sf(abs(second - first) / error))
        name = names[k] if is_numeric else f"{names[k]} (log odds)"
        rows.append(_comparison(name, first, second, error, p_value))
    return rows


def _comparison(name: str, first: float, second: float, error: float, p_value: float) -> dict[str, Any]:
    difference = second - first
    half = 1.96 * error
    reading = "no sign of a change"
    if p_value < SIGNIFICANT:
        reading = "stronger in the second half" if difference > 0 else "weaker in the second half"
    return {
        "quantity": name,
        "first_half": first,
        "second_half": second,
        "difference": difference,
        "standard_error": error,
        "low": difference - half,
        "high": difference + half,
        "p_value": p_value,
        "reading": reading,
    }


def _link_row(model: SphUnc, aligned: TemporalHypergraph) -> dict[str, Any] | None:
    """Influence over the links of the fitted graph, as features show it; None where not comparable."""
    learned = default_model(model)
    if learned is None or aligned.node_ids != model.schema_.agents:
        return None
    first, second, error = links_by_half(learned, model.schema_, model.preparation_, aligned)
    if not error > 0:
        return None
    p_value = float(2 * stats.norm.sf(abs(second - first) / error))
    return _comparison("influence over links", first, second, error, p_value)
