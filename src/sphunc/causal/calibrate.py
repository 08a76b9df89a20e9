"""Turn probabilities into frequencies: simulate from the fit, rerun the discovery, and see how often it is right."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.isotonic import IsotonicRegression
from torch import Tensor

from sphunc.causal.estimation import Estimate, Problem, estimate, hyper_parameters, spread_targets
from sphunc.causal.evidence import binary_entropy
from sphunc.causal.graph import InfluenceGraph
from sphunc.causal.latent_noise import estimate_blur
from sphunc.causal.posterior import Hyper
from sphunc.causal.replica import draw_replica, fit_mechanism
from sphunc.causal.sampling import sample_gates
from sphunc.causal.two_groups import unshrunk

LINKS_WANTED = 6000  # simulated links that settle the map
MOST_REPLICAS = 8
TARGETS = 400


@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """Increasing map from raw probability to frequency: straight between the centres of isotonic blocks."""

    raw: np.ndarray
    frequency: np.ndarray

    def __call__(self, probability: Tensor) -> Tensor:
        """Map probabilities; 0 stays 0, 1 stays 1, and order is kept."""
        mapped = np.interp(probability.cpu().numpy(), self.raw, self.frequency)
        return torch.as_tensor(mapped, dtype=probability.dtype, device=probability.device)


def fit_map(raw: np.ndarray, truth: np.ndarray) -> CalibrationMap:
    """Isotonic regression, with each level set at its centre (so that ranks survive) and half a link added to it."""
    level = IsotonicRegression(y_min=0, y_max=1).fit(raw, truth).predict(raw)
    _, block = np.unique(level, return_inverse=True)
    count = np.bincount(block)
    centre = np.bincount(block, raw) / count
    base = truth.mean() if 0 < truth.mean() < 1 else 0.5
    frequency = np.maximum.accumulate((np.bincount(block, truth) + base) / (count + 1))
    return CalibrationMap(np.concatenate([[0.0], centre, [1.0]]), np.concatenate([[0.0], frequency, [1.0]]))


@dataclass(frozen=True, eq=False)
class Simulator:
    """Draws replicas of the data with links that are known: sets of parents from their posterior, then coefficients."""

    problem: Problem
    hyper: Hyper
    result: Estimate

    def __call__(self, blur: float, seed: int) -> tuple[Problem, Tensor]:
        """Return a replica whose latents have noise of sd ``blur``, and which candidates are links in it."""
        problem, hyper, result = self.problem, self.hyper, self.result
        assert hyper.groups is not None
        generator = torch.Generator().manual_seed(seed)
        judged = torch.isin(problem.candidates.links[1], problem.explained)
        marginals = result.probability, result.probability
        is_link = sample_gates(problem.candidates.links[1], result.draws, result.bits, *marginals, 1, generator)[0][0]
        is_link = is_link & judged
        value, error = unshrunk(result.strength, result.deviation, hyper.tau)
        drawn = hyper.groups.draw(value, error, is_link, generator)
        drawn = torch.where(judged, drawn, torch.zeros_like(drawn))
        mechanism = fit_mechanism(problem, hyper, drawn, result.lag, generator, is_link=is_link, blur=blur)
        return draw_replica(problem, mechanism, blur, generator), is_link


def simulated_links(
    problem: Problem, hyper: Hyper, result: Estimate, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Raw probabilities and truth of links in replicas of the data, and the noise of the latents in them."""
    simulate = Simulator(problem, hyper, result)
    targets = spread_targets(problem, TARGETS)
    mine = torch.isin(problem.candidates.links[1], targets)
    variance = float(result.noise[targets].nanmedian()) if len(targets) else 0.0
    blur = estimate_blur(problem, hyper, variance, targets, lambda level: simulate(level, seed * 1009)[0])
    replicas = min(MOST_REPLICAS, max(1, math.ceil(LINKS_WANTED / max(int(mine.sum()), 1))))
    raw, truth = [], []
    for index in range(replicas):
        replica, is_link = simulate(blur, seed * 1009 + index + 1)
        again = hyper_parameters(replica, hyper.lags, hyper.min_effect, targets=targets, seed=seed)
        found = estimate(replica, again, targets=targets, seed=seed)
        raw.append(found.probability[mine].cpu().numpy())
        truth.append(is_link[mine].cpu().numpy().astype(float))
    return np.concatenate(raw), np.concatenate(truth), blur


def calibrate_graph(
    graph: InfluenceGraph, problem: Problem, hyper: Hyper, result: Estimate, seed: int
) -> InfluenceGraph:
    """Return the graph with probabilities mapped to frequencies; set entropies grow with those of the links."""
    raw, truth, blur = simulated_links(problem, hyper, result, seed)
    mapping = fit_map(raw, truth)
    fixed = problem.candidates.required | ~torch.isin(graph.links[1], problem.explained)
    probability = torch.where(fixed, graph.probability, mapping(graph.raw_probability))
    before = torch.zeros_like(graph.entropy).index_add_(0, graph.links[1], binary_entropy(graph.raw_probability))
    after = torch.zeros_like(graph.entropy).index_add_(0, graph.links[1], binary_entropy(probability))
    ratio = torch.where(before > 0, after / before.clamp(min=1e-12), torch.ones_like(before))
    diagnostics = {**graph.diagnostics}
    if diagnostics:
        diagnostics["simulated_calibration_error"] = calibration_error(raw, truth)
    return replace(
        graph,
        probability=probability,
        entropy=torch.minimum(graph.entropy * ratio, graph.prior_entropy),
        calibrated=True,
        fit={**graph.fit, "latent_noise": blur},
        diagnostics=diagnostics,
    )


def calibration_error(probability: np.ndarray, truth: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error over equal bins."""
    which = np.minimum((probability * bins).astype(int), bins - 1)
    gap = np.bincount(which, probability, bins) - np.bincount(which, truth, bins)
    return float(np.abs(gap).sum() / len(truth))
