"""Parametric bootstrap: panels drawn from the fitted regression, with links that are known, found in the same way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sphunc._subsets import evenly_spaced
from sphunc._typing import Bool, Float
from sphunc.discovery.checks.decoys import against_decoys, draw_decoys
from sphunc.discovery.posterior.estimate import Estimate, Problem, Settings, estimate, fit_settings
from sphunc.discovery.regression.panel import Panel, candidate_mean

SHOWN = 0.5
MOST_TARGETS = 300
LARGEST = 1e3
"""Standard deviations at which a simulated path counts as one that does not settle."""


@dataclass(frozen=True)
class SimulatedCalibration:
    """What the method finds on simulated panels whose links are known.

    Attributes:
        shown: links above one half.
        true: how many of them exist.
        claimed: how many of them should exist by their probabilities.
        existing: links that exist, found or not.
    """

    shown: int
    true: int
    claimed: float
    existing: int

    @property
    def precision(self) -> float:
        """Share of the links shown that exist; NaN where none is shown."""
        return self.true / self.shown if self.shown else torch.nan

    @property
    def reading(self) -> str:
        """How to read the check, in one sentence."""
        if not self.shown:
            return f"of {self.existing} simulated links none is shown: these data are too few for the links of the fit"
        return (
            f"of {self.shown} links shown on data simulated from the fit {self.true} exist "
            f"({self.claimed:.0f} by their probabilities), of {self.existing} that could have been found"
        )


def calibration_of(probability: Float[Tensor, " link"], exists: Bool[Tensor, " link"]) -> SimulatedCalibration:
    """Count what is shown and what is true.

    Args:
        probability: of links on simulated data.
        exists: whether they exist there.
    """
    shown = probability > SHOWN
    return SimulatedCalibration(
        shown=int(shown.sum()),
        true=int((shown & exists).sum()),
        claimed=float(probability[shown].sum()),
        existing=int(exists.sum()),
    )


def simulated_calibration(
    problem: Problem,
    settings: Settings,
    result: Estimate,
    probability: Float[Tensor, " link"],
    seed: int,
    *,
    calibrate: bool,
) -> SimulatedCalibration:
    """Draw a panel from the fit with links drawn from their posterior, and find them again.

    Args:
        problem: panel and candidates.
        settings: what all targets share.
        result: posterior of the links.
        probability: of the links, calibrated.
        seed: of the simulation.
        calibrate: compare with decoys on the simulated panel too.
    """
    generator = torch.Generator().manual_seed(seed)
    is_open = torch.isin(problem.candidates.links[1], problem.explained)
    exists = torch.rand(len(probability), generator=generator, dtype=torch.double).to(probability) < probability
    exists = exists & is_open
    noise = torch.randn(len(probability), generator=generator, dtype=torch.double).to(probability)
    strength = torch.where(exists, result.strength + noise * result.deviation, 0.0)
    panel = simulate_panel(problem, settings, strength, result.lag, generator)
    replica = replace(problem, panel=panel)
    targets = replica.explained[evenly_spaced(len(replica.explained), MOST_TARGETS, replica.explained.device)]
    if not len(targets):
        return SimulatedCalibration(0, 0, 0.0, int(exists.sum()))
    again = fit_settings(replica)
    found = estimate(replica, again, targets).probability
    is_compared = torch.isin(problem.candidates.links[1], targets) & ~problem.candidates.required
    is_compared = is_compared & ~panel.silent[problem.candidates.links[0]]
    found = found[is_compared]
    if calibrate:
        found = against_decoys(found, draw_decoys(replica, again, seed), again.reference)
    return calibration_of(found, exists[is_compared])


def simulate_panel(
    problem: Problem,
    settings: Settings,
    strength: Float[Tensor, " link"],
    lag: Tensor,
    generator: torch.Generator,
) -> Panel:
    """Draw states forward from the observed first ones, with as many coordinates as the fit counts as independent.

    Args:
        problem: panel and candidates.
        settings: noise, levels, inertia.
        strength: coefficient of every link, 0 where it does not exist.
        lag: of every link.
        generator: source of randomness.
    """
    panel = problem.panel
    components = settings.components
    agents, times, dim = panel.shape
    width = max(1, min(dim, round(panel.effective / components.inflation)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.double).to(strength)

    own = components.theta[: problem.own_lags].to(strength).repeat(agents, 1)
    own = own + normal(agents, problem.own_lags) * components.spread[: problem.own_lags].to(strength).sqrt()
    # Inertia is drawn around the common one: an agent beyond the unit circle would leave the panel.
    own = own * (0.98 / own.abs().sum(1, keepdim=True).clamp(min=0.98))
    degrees = max(1, round(components.degrees))
    squares = normal(agents, degrees).square().sum(1, keepdim=True)
    variance = components.scale * degrees / squares.clamp(min=0.1 * degrees)
    level = normal(agents, width) * (components.level * variance).sqrt()
    slope = normal(agents, width) * (components.trend * variance).sqrt()
    spread = panel.values.double().square().mean().sqrt().clamp(min=1e-12)
    links = problem.candidates.links
    longest = max(problem.own_lags, problem.lags)
    path = [panel.values[:, t, :width].to(strength) for t in range(longest)]
    for t in range(longest, times):
        mean = level + slope * (2.0 * t / max(times - 1, 1) - 1.0) * 3**0.5
        for k in range(problem.own_lags):
            mean = mean + own[:, k : k + 1] * path[t - k - 1]
        for k in range(1, problem.lags + 1):
            mine = (lag == k) & (strength != 0)
            sent = strength[mine].unsqueeze(1) * path[t - k][links[0, mine]]
            mean = mean.index_add(0, links[1, mine], sent)
        step = mean + normal(agents, width) * variance.sqrt()
        path.append(step.clamp(min=-LARGEST * spread, max=LARGEST * spread))
    values = torch.stack(path, 1)
    values[panel.silent] = panel.values[panel.silent][:, :, :width].to(values)
    values = (values * panel.present.unsqueeze(-1)).to(panel.values)
    neighbourhood = panel.neighbourhood[:, :, :width]
    if not panel.has_groups:
        neighbourhood = candidate_mean(values, panel.present, links)
    return replace(panel, values=values, neighbourhood=neighbourhood, effective=float(width))
