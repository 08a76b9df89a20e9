"""`discover`: from latent states to an influence graph with probabilities, diagnostics and calibration."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int, Links
from sphunc.causal.calibrate import calibrate_graph
from sphunc.causal.candidates import CandidateLinks, all_pairs, candidate_links
from sphunc.causal.diagnostics import diagnose as run_diagnostics
from sphunc.causal.estimation import Estimate, Problem, estimate, hyper_parameters
from sphunc.causal.graph import InfluenceGraph
from sphunc.causal.inputs import check_latents, check_settings, describe_agents
from sphunc.causal.lag import allowed_lags, choose_lag
from sphunc.causal.messages import learn_message_map, weigh_messages
from sphunc.causal.panel import Panel, scalar_panel, vector_panel
from sphunc.causal.posterior import Hyper
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph, comembers

MIN_EFFECT = 0.02


def discover(
    latents: Float[Tensor, "time agent dim"],
    candidates: Links | None = None,
    data: TemporalHypergraph | None = None,
    *,
    max_lag: int | None = None,
    forbidden: Int[Tensor, "2 forbidden"] | None = None,
    required: Int[Tensor, "2 required"] | None = None,
    min_effect: float = MIN_EFFECT,
    mask: Bool[Tensor, "time agent"] | None = None,
    replicates: bool = False,
    whiten: bool = True,
    message_map: Float[Tensor, "to from"] | str | None = None,
    phi: float | None = None,
    diagnose: bool = True,
    calibrate: bool = True,
    seed: int = 0,
) -> InfluenceGraph:
    r"""Posterior probability that one agent's past influences another, for every candidate link.

    .. math:: h^i_t = \sum_l a_l h^i_{t-l} + \sum_{j \in S_i} \beta_{ij} \Phi h^j_{t-l} + c_0 h^i_0 + c_1 \bar h_0 +
              c_2\,\text{pull}^i_{t-1} + u_i + e_t, \quad u_i \sim N(0, \phi\sigma_i^2 I)

    on whitened states; all sets of parents :math:`S_i` of up to 7 among the 12 most promising candidates are
    enumerated, and the others judged one by one. See docs/structure.md for priors, diagnostics and accuracy.

    Args:
        latents: states, ``[T, N, D]``; plain scalar series are ``[T, N, 1]``.
        candidates: ``[2, K]`` rows source and target that may influence; with ``data``, added to its co-members;
            without either, all pairs (at most 200 agents).
        data: groups of the same agents and times; gives candidates, the pull of the groups, and ids.
        max_lag: largest lag to consider; by default up to 2 by evidence, 1 when T < 6.
        forbidden: ``[2, K]`` links that do not exist.
        required: ``[2, K]`` links that exist; at most 7 per target.
        min_effect: :math:`\delta`, coefficients of about this size or less do not count as a link; 0 for a point null.
        mask: ``[T, N]`` True where an agent was seen; default ``data.present`` or everywhere.
        replicates: the last axis holds repetitions of scalar series (aligned in time, same mechanism), not
            coordinates of one vector.
        whiten: make coordinates comparable by one pooled covariance.
        message_map: :math:`\Phi`, ``[D, D]``; ``"learn"`` estimates an orthogonal one, ``"weigh"`` one that passes a
            direction on as far as noise lets it be seen; None is the identity.
        phi: variance of the persistent bias over that of the noise; estimated when None, ``inf`` for fixed effects.
        diagnose: run placebo, reversed time, fixed effects and the fit's own calibration (a few partial refits).
        calibrate: map probabilities to frequencies of true links in simulations from the fit.
        seed: of every random choice.

    Example:
        >>> h = torch.nn.functional.normalize(torch.randn(8, 5, 16, generator=torch.Generator().manual_seed(0)), dim=-1)
        >>> discover(h, diagnose=False, calibrate=False).probability.shape
        torch.Size([20])
    """
    check_settings(latents, data, max_lag, min_effect, message_map, replicates, phi)
    present = _presence(latents, data, mask)
    check_latents(latents, present)
    links = candidate_links(_all_candidates(latents, candidates, data), latents.shape[1], forbidden, required)
    latents = latents.double() if latents.dtype not in (torch.float32, torch.float64) else latents
    latents = torch.where(present.unsqueeze(-1), latents, torch.zeros_like(latents))
    silent, notes = describe_agents(latents, present, links)
    panel = _panel(latents, present, data, replicates, whiten, message_map)
    problem = Problem(panel, links, silent)
    lags = choose_lag(problem, allowed_lags(latents.shape[0], max_lag), min_effect, seed)
    if message_map == "learn":
        problem = learn_message_map(problem, lags, min_effect, seed)
    if message_map == "weigh":
        problem = weigh_messages(problem, lags, min_effect, phi, seed)
    hyper = hyper_parameters(problem, lags, min_effect, phi, seed=seed)
    result = estimate(problem, hyper, seed=seed)
    graph = build_graph(problem, hyper, result, _ids(latents.shape[1], data), notes)
    if diagnose:
        graph = replace(graph, diagnostics=run_diagnostics(problem, hyper, result, seed))
    if calibrate:
        graph = calibrate_graph(graph, problem, hyper, result, seed)
    return graph


def build_graph(
    problem: Problem, hyper: Hyper, result: Estimate, agents: tuple[Hashable, ...], notes: tuple[str, ...]
) -> InfluenceGraph:
    """Wrap an estimate as the value that users see."""
    panel = problem.panel
    return InfluenceGraph(
        links=problem.candidates.links,
        probability=result.probability,
        raw_probability=result.probability,
        strength=result.strength,
        deviation=result.deviation,
        lag=result.lag,
        most_probable=result.best,
        entropy=result.entropy,
        prior_entropy=result.prior_entropy,
        best_mass=result.best_mass,
        agents=agents,
        draws=result.draws,
        bits=result.bits,
        fit={
            "lags": hyper.lags,
            "phi": hyper.phi,
            "tau": hyper.tau,
            "min_effect": hyper.min_effect,
            "effective_dimension": panel.effective,
            "raw_effective_dimension": panel.raw_effective,
            "shrinkage": panel.shrinkage,
            "initial_links": int(result.initial.sum()),
        },
        notes=notes,
    )


def _presence(latents: Tensor, data: TemporalHypergraph | None, mask: Tensor | None) -> Tensor:
    if mask is not None:
        return mask
    if data is not None:
        return data.present.to(latents.device)
    return torch.ones(latents.shape[:2], dtype=torch.bool, device=latents.device)


def _all_candidates(latents: Tensor, candidates: Links | None, data: TemporalHypergraph | None) -> Links:
    given = [] if candidates is None else [candidates.to(latents.device)]
    if data is not None:
        given.append(comembers(data).to(latents.device))
    if given:
        return torch.cat(given, 1)
    if latents.shape[1] > 200:
        raise ArgumentError(
            f"neither candidates nor data is given, and all pairs of {latents.shape[1]} agents are too many; "
            "pass candidates [2, K], or data whose groups say who meets whom (all pairs are taken up to 200 agents)"
        )
    return all_pairs(latents.shape[1]).to(latents.device)


def _panel(
    latents: Tensor,
    present: Tensor,
    data: TemporalHypergraph | None,
    replicates: bool,
    whiten: bool,
    message_map: Tensor | str | None,
) -> Panel:
    if replicates or latents.shape[2] == 1:
        return scalar_panel(latents, present, data)
    given = message_map if isinstance(message_map, Tensor) else None
    return vector_panel(latents, present, data, whiten=whiten, message_map=given)


def _ids(agents: int, data: TemporalHypergraph | None) -> tuple[Hashable, ...]:
    return tuple(range(agents)) if data is None else data.node_ids


__all__ = ["CandidateLinks", "build_graph", "discover"]
