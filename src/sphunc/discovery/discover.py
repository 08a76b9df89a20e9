"""`discover`: from states or series to an influence graph with probabilities and checks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from sphunc._checks import number_between, seed_number, some_names, whole_number
from sphunc._typing import Bool, Float, Int, Links
from sphunc.discovery.candidates import CandidateLinks, all_pairs, candidate_links
from sphunc.discovery.checks.bootstrap import simulated_calibration
from sphunc.discovery.checks.decoys import against_decoys, draw_decoys
from sphunc.discovery.checks.shocks import response_on_panel
from sphunc.discovery.checks.stability import stability_on_panel
from sphunc.discovery.graph import InfluenceGraph
from sphunc.discovery.posterior.estimate import (
    Problem,
    Settings,
    components_of,
    estimate,
    fit_settings,
    link_evidence,
)
from sphunc.discovery.posterior.links import CAP
from sphunc.discovery.regression.panel import Panel, build_panel
from sphunc.discovery.verdict import TYPICAL_EFFECT
from sphunc.errors import ArgumentError, DataError
from sphunc.hypergraph import TemporalHypergraph, comembers

SHORTEST = 3
SHORTEST_FOR_TWO_LAGS = 6
"""With fewer times a second lag costs more rows than it can explain."""
LONGER_LAG_ERRORS = 4.0
"""Standard errors by which a longer lag has to win: noise in the states lets it win by little."""
NATS_PER_TARGET = 2.0
"""Mean gain in evidence that a longer lag has to bring; true second lags bring ten."""
MOST_AGENTS_FOR_ALL_PAIRS = 200
LEAST_EFFECT = 0.2
"""Default ``min_effect``, in standard errors."""
DETECTABLE = 4.0
"""Standard errors at which a link among many candidates is seen."""


def discover(
    latents: Float[Tensor, "time agent dim"] | Float[np.ndarray, "time agent dim"],
    candidates: Links | None = None,
    data: TemporalHypergraph | None = None,
    *,
    max_lag: int | None = None,
    forbidden: Int[Tensor, "2 forbidden"] | None = None,
    required: Int[Tensor, "2 required"] | None = None,
    min_effect: float | None = None,
    mask: Bool[Tensor, "time agent"] | None = None,
    replicates: bool = False,
    diagnose: bool = True,
    calibrate: bool = True,
    seed: int = 0,
) -> InfluenceGraph:
    r"""Posterior probability that one agent's past influences another, for every candidate link.

    .. math:: h^i_t = a_i h^i_{t-1} + \sum_{j \in S_i} \beta_{ij} h^j_{t-l} + c_0 h^i_0 + c_1 \bar h^i_0 +
              c_2 \bar h^i_{t-1} + u_i + v_i \tau_t + e_t, \qquad e_t \sim N(0, \sigma_i^2 I)

    on standardised states without the mean of all agents at a time; :math:`\bar h^i` is the mean of the agent's groups.
    Inertia :math:`a_i`, nuisance coefficients c, level :math:`u_i` and trend :math:`v_i` are random effects whose
    variances all agents share; noise variances are shrunk towards each other. All sets of parents :math:`S_i` of up
    to 7 among the 12 most promising candidates are enumerated, the others judged one by one; share and size of links
    are integrated over their posterior, in which "no influence at all" has prior mass one half. See docs/structure.md.

    Args:
        latents: states, ``[T, N, D]``, as a tensor or an array; plain scalar series are ``[T, N, 1]``.
        candidates: ``[2, K]`` rows source and target that may influence; with ``data``, added to its co-members;
            without either, all pairs (at most 200 agents).
        data: groups of the same agents and times; gives candidates, neighbourhood means, and ids.
        max_lag: largest lag to consider; by default up to 2 by evidence, 1 where T < 6.
        forbidden: ``[2, K]`` links that do not exist.
        required: ``[2, K]`` links that exist; at most 7 per target.
        min_effect: coefficients smaller than this do not count as links; by default a fifth of a standard error, which
            shrinks with the number of rows. 0 counts every coefficient.
        mask: ``[T, N]`` True where an agent was observed; default ``data.present`` or everywhere.
        replicates: the last axis holds repetitions of scalar series (aligned in time, same mechanism), not
            coordinates of one vector.
        diagnose: run the checks: placebo, reversed time, shocks of sources, both halves of the times, simulation
            from the fit. See ``graph.checks``.
        calibrate: compare with decoys, sources that cannot influence the target, and lower probabilities that decoys
            reach as often.
        seed: of every random choice.

    Example:
        >>> h = torch.randn(8, 5, 16, generator=torch.Generator().manual_seed(0))
        >>> discover(h).probability.shape
        torch.Size([20])
    """
    latents = torch.as_tensor(latents)
    _check_settings(latents, data, max_lag, min_effect)
    seed = seed_number(seed)
    agents = tuple(range(latents.shape[1])) if data is None else tuple(data.node_ids)
    present = _presence(latents, data, mask)
    _check_latents(latents, present, agents)
    links = candidate_links(_candidates(latents, candidates, data), agents, forbidden, required)
    _check_required(links, agents)
    if latents.dtype not in (torch.float32, torch.float64):
        latents = latents.double()
    latents = torch.where(present.unsqueeze(-1), latents, torch.zeros_like(latents))
    panel = build_panel(latents, present, links.links, data, replicates=replicates)
    problem = Problem(panel, links)
    notes = describe_agents(problem, agents)
    if not len(problem.explained):
        return _unexplained(problem, agents, notes)

    problem, settings = choose_lags(problem, max_lag)
    result = estimate(problem, settings, problem.explained, seed, draw=True)
    fit = describe_fit(problem, settings)
    least = min_effect
    if least is None:
        least = LEAST_EFFECT / max(fit["rows_per_target"], 1.0) ** 0.5
    probability = result.probability * probability_above(result.strength, result.deviation, least)
    probability = torch.where(links.required, torch.ones_like(probability), probability)
    diagnostics: dict[str, float] = {}
    is_explained = torch.isin(links.links[1], problem.explained) & ~panel.silent[links.links[0]]
    is_open = is_explained & ~links.required
    if calibrate:
        decoys = draw_decoys(problem, settings, seed)
        probability[is_open] = against_decoys(probability[is_open], decoys, settings.reference)
        if diagnose and len(decoys):
            scale = float(is_open.sum()) / len(decoys)
            diagnostics["placebo_links"] = float(decoys[decoys > 0.5].sum()) * scale
    if diagnose:
        diagnostics["reversed_links"] = reversed_links(problem, seed)
        diagnostics["detectable"] = fit["detectable"]
        simulated = simulated_calibration(problem, settings, result, probability, seed, calibrate=calibrate)
        diagnostics["simulated_links"] = float(simulated.shown)
        diagnostics["simulated_precision"] = simulated.precision
    graph = InfluenceGraph(
        links=links.links,
        agents=agents,
        probability=probability,
        strength=result.strength,
        deviation=result.deviation,
        lag=result.lag,
        prior=torch.where(
            links.required, torch.ones_like(probability), torch.full_like(probability, settings.reference)
        ),
        set_entropy=result.entropy,
        structure_draws=result.draws,
        calibrated=calibrate,
        fit=fit,
        diagnostics=diagnostics,
        notes=notes,
    )
    if not diagnose:
        return graph
    halves = stability_on_panel(graph, panel)
    response = response_on_panel(graph, panel)
    return replace(graph, diagnostics={**diagnostics, **halves.figures(), **response.figures()})


def choose_lags(problem: Problem, max_lag: int | None) -> tuple[Problem, Settings]:
    """Take one lag, and more where their evidence wins by four standard errors and two nats per target.

    The target's own lags are the same in all arms: what persists in an agent would otherwise pass for a second lag of
    its sources.

    Args:
        problem: panel and candidates.
        max_lag: largest lag; None takes 2, or 1 where T < 6.
    """
    times = problem.panel.shape[1]
    longest = 2 if times >= SHORTEST_FOR_TWO_LAGS else 1
    if max_lag is not None:
        longest = min(max_lag, max(times - 2, 1))
    best = replace(problem, lags=1, own_lags=1)
    if longest > 1:
        shortest = replace(problem, lags=1, own_lags=longest)
        components = components_of(shortest)
        evidence = link_evidence(shortest, components)
        for lags in range(2, longest + 1):
            longer = replace(shortest, lags=lags)
            candidate_evidence = link_evidence(longer, components)
            gain = candidate_evidence - evidence
            error = float(gain.std(correction=0)) * len(gain) ** 0.5
            if float(gain.sum()) > max(LONGER_LAG_ERRORS * error, NATS_PER_TARGET * len(gain)):
                best = longer
                evidence = candidate_evidence
    return best, fit_settings(best)


def probability_above(
    strength: Float[Tensor, " link"], deviation: Float[Tensor, " link"], least: float
) -> Float[Tensor, " link"]:
    """Probability that a normal coefficient is larger than ``least`` in size.

    Args:
        strength: mean.
        deviation: standard deviation.
        least: smallest size that counts.
    """
    if least <= 0:
        return torch.ones_like(strength)
    scale = deviation.clamp(min=1e-12)
    above = torch.special.ndtr((strength - least) / scale)
    below = torch.special.ndtr((-strength - least) / scale)
    return above + below


def describe_fit(problem: Problem, settings: Settings) -> dict[str, float]:
    """What was estimated on the way, with the size of effect that the rows can show.

    Args:
        problem: panel and candidates.
        settings: what all targets share.
    """
    components = settings.components
    panel = problem.panel
    observed = (panel.present[:, 1:] & panel.present[:, :-1])[problem.explained].sum(1).double()
    rows = float(observed.mean()) * panel.effective / components.inflation
    spread = panel.values[problem.explained][panel.present[problem.explained]].double()
    ratio = components.scale / max(float(spread.square().mean()), 1e-12)
    detectable = DETECTABLE * (ratio / max(rows, 1e-9)) ** 0.5
    return {
        "lags": float(problem.lags),
        "level": components.level,
        "trend": components.trend,
        "polygenic": components.polygenic,
        "inertia": float(components.theta[0]),
        "inertia_spread": float(components.spread[0]),
        "neighbourhood_spread": float(components.spread[-1]),
        "noise_degrees": components.degrees,
        "error_inflation": components.inflation,
        "effective_dimension": panel.effective,
        "effect_size": settings.tau,
        "link_share": settings.share,
        "rows_per_target": rows,
        "detectable": detectable,
        "rows_needed": rows * (detectable / TYPICAL_EFFECT) ** 2,
    }


def reversed_links(problem: Problem, seed: int) -> float:
    """Expected number of links above one half with time running backwards.

    Args:
        problem: panel and candidates.
        seed: of the decoys.
    """
    backwards = replace(problem, panel=problem.panel.reversed())
    settings = fit_settings(backwards)
    found = estimate(backwards, settings, backwards.explained).probability
    found = against_decoys(found, draw_decoys(backwards, settings, seed), settings.reference)
    return float(found[found > 0.5].sum())


def describe_agents(problem: Problem, agents: Sequence[Hashable]) -> tuple[str, ...]:
    """Notes about agents that never change, have no candidates, repeat others or were hardly observed, by id.

    Args:
        problem: panel and candidates.
        agents: ids.
    """
    panel = problem.panel
    rows = (panel.present[:, 1:] & panel.present[:, :-1]).sum(1)
    lonely = problem.candidates.counts == 0
    twins = _duplicates(panel) & ~panel.silent
    found = [
        (panel.silent, "never change: their links keep the prior probability"),
        (lonely, "have no candidates: no parents can be found for them, confidence 0"),
        (twins & ~lonely, "have the same series as another agent: such sources share their probability"),
        ((rows < 2) & ~lonely & ~panel.silent, "are observed at too few consecutive times: their links keep the prior"),
    ]
    notes = []
    for which, what in found:
        names = [agents[index] for index in which.nonzero().flatten().tolist()]
        if names:
            notes.append(f"{len(names)} agents {what} ({some_names(names)})")
    return tuple(notes)


def _duplicates(panel: Panel) -> Tensor:
    generator = torch.Generator().manual_seed(0)  # a fixed projection: equal series get equal numbers
    direction = torch.randn(panel.shape[1:], generator=generator, dtype=torch.double).to(panel.values)
    number = (panel.values * direction).sum((1, 2))
    _, inverse, counts = torch.unique(number, return_inverse=True, return_counts=True)
    return counts[inverse] > 1


def _unexplained(problem: Problem, agents: tuple[Hashable, ...], notes: tuple[str, ...]) -> InfluenceGraph:
    """Every link keeps the prior: no agent could be explained."""
    links = problem.candidates
    mean = float(links.counts[links.counts > 0].double().mean())
    prior = torch.full((links.links.shape[1],), 0.5 / max(mean, 1.0), dtype=torch.double, device=links.links.device)
    prior = torch.where(links.required, torch.ones_like(prior), prior)
    note = "no agent changes over time at two consecutive steps: there is nothing to explain"
    zeros = torch.zeros_like(prior)
    return InfluenceGraph(links.links, agents, prior, zeros, zeros + 1, prior=prior, notes=(*notes, note))


def _candidates(latents: Tensor, candidates: Links | None, data: TemporalHypergraph | None) -> Tensor:
    agents = latents.shape[1]
    if data is not None:
        met = comembers(data).to(latents.device)
        if candidates is None:
            return met
        return torch.cat([met, candidates.to(met)], 1)
    if candidates is not None:
        return candidates.to(latents.device)
    if agents > MOST_AGENTS_FOR_ALL_PAIRS:
        raise ArgumentError(
            f"latents has {agents} agents and neither candidates nor data were given; all pairs are taken up to "
            f"{MOST_AGENTS_FOR_ALL_PAIRS} agents: pass candidates=[2, K] or data with groups"
        )
    return all_pairs(agents).to(latents.device)


def _presence(latents: Tensor, data: TemporalHypergraph | None, mask: Tensor | None) -> Tensor:
    if mask is not None:
        if tuple(mask.shape) != tuple(latents.shape[:2]):
            raise ArgumentError(f"mask has shape {tuple(mask.shape)}; give [times, agents] {tuple(latents.shape[:2])}")
        return mask.to(latents.device)
    if data is not None:
        return data.present.to(latents.device)
    return torch.ones(latents.shape[:2], dtype=torch.bool, device=latents.device)


def _check_settings(
    latents: Tensor, data: TemporalHypergraph | None, max_lag: int | None, min_effect: float | None
) -> None:
    if latents.ndim != 3:
        raise ArgumentError(
            f"latents has shape {tuple(latents.shape)}; give [times, agents, dimensions] "
            "(scalar series: latents.unsqueeze(-1))"
        )
    times, agents, _ = latents.shape
    if times < SHORTEST:
        raise ArgumentError(f"latents has {times} times; influence over time needs at least {SHORTEST}")
    if agents < 2:
        raise ArgumentError(f"latents has {agents} agents; influence needs at least 2")
    if data is not None and (data.num_times, data.num_nodes) != (times, agents):
        raise ArgumentError(
            f"latents has {times} times and {agents} agents, but data has {data.num_times} and {data.num_nodes}; "
            "pass data.window(0, T) for the same times"
        )
    if max_lag is not None:
        whole_number("max_lag", max_lag, least=1)
    if min_effect is not None:
        number_between("min_effect", min_effect, 0.0, 1e6)


def _check_latents(latents: Tensor, present: Tensor, agents: Sequence[Hashable]) -> None:
    broken = (~latents.isfinite()).any(-1) & present
    if bool(broken.any()):
        time, agent = broken.nonzero()[0].tolist()
        raise DataError(
            f"latents[{time}, {agent}] (agent {agents[agent]}) has NaN or infinity ({int(broken.sum())} such states); "
            "pass mask=False where an agent was not observed, or repair the encoder"
        )


def _check_required(links: CandidateLinks, agents: Sequence[Hashable]) -> None:
    counts = torch.bincount(links.links[1][links.required], minlength=links.num_agents)
    if int(counts.max()) > CAP:
        name = agents[int(counts.argmax())]
        raise ArgumentError(f"agent {name} has {int(counts.max())} required parents; at most {CAP} are allowed")
