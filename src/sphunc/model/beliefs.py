r"""Beliefs on the sphere: how concentrated the belief about an agent is, and its entropy.

A belief is a von Mises-Fisher distribution, eq. (vmf_density) of the paper. Its entropy is the
epistemic part, eq. (hyperspherical_entropy) of the paper. Its squared mean resultant length is the
product of what is known of the agent, of its state, and of what training grants,

.. math:: R_i^2 = g_i \Big(0.05 + 0.95 \frac{n_i}{n_i + 2}\Big) \sqrt{\frac{M}{M + \mathrm{tr} P_i}}, \qquad
          g_i = \frac{n}{n + D}\, \frac{n'_i}{n'_i + n_0}, \qquad
          \kappa_i = A_K^{-1}(R_i), \qquad U_{epi} = H_K(\kappa_i)

P is the posterior variance of the forecast state that more data could reduce. M is the mean squared
length of the states of the population, not of the agent: with the agent's own, hiding observations
of an agent near the middle could make its belief more concentrated. Without states the root is 1.
:math:`n_i` counts the observations of the agent, old ones less. The floor 0.05 is what the
population says of an agent of whom nothing was observed. n training rows stand against D columns of
the base; :math:`n'_i` training states lie near that of the agent, :math:`n_0` of them grant a half.
R is at most 0.9999. So the epistemic part falls with every observation of an agent and rises with age, missing
features and distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._subsets import evenly_spaced
from sphunc._typing import Bool, Float, Tensor
from sphunc.sphere import concentration_from_resultant, vmf_entropy

OUTCOME_DECAY = 0.8
"""Share of what an outcome says about its agent that is left one time later."""
OUTCOME_PRIOR = 2.0
"""Outcomes after which half of an agent's own tendency is known."""
LEAST_KNOWN = 0.05
"""Share of a belief that the population gives to an agent of whom nothing was observed."""
FEATURE_EVIDENCE = 0.25
"""What observed features say about an agent's own tendency, in outcomes."""
STALEST = 4.0
LARGEST_RESULTANT = 0.9999
MOST_REFERENCES = 2_000
SUPPORT_QUANTILE = 0.05
SMALLEST_BANDWIDTH = 1e-6
"""Of states that are all the same and known for certain: 0 would divide by itself."""


def concentration(reliability: Float[Tensor, " agent"], dim: int) -> Float[Tensor, " agent"]:
    """Concentration kappa of a belief, from the share of a state's squared length that is known.

    Args:
        reliability: R squared, in [0, 1).
        dim: of the sphere's ambient space, at least 2.
    """
    resultant = reliability.clamp(0.0, 1.0).sqrt().clamp(max=LARGEST_RESULTANT)
    return concentration_from_resultant(resultant, max(2, dim))


def belief_entropy(kappa: Float[Tensor, " agent"], dim: int) -> Float[Tensor, " agent"]:
    """Entropy of the belief, in nats.

    Args:
        kappa: concentration.
        dim: of the sphere's ambient space.
    """
    return vmf_entropy(kappa, max(2, dim))


def scaled_entropy(kappa: Float[Tensor, " agent"], dim: int) -> Float[Tensor, " agent"]:
    """Entropy between 0 (a fully known state, R = 0.9999) and 1 (nothing known).

    Args:
        kappa: concentration.
        dim: of the sphere's ambient space.
    """
    nothing = belief_entropy(torch.zeros_like(kappa[:1]), dim)
    known = concentration(torch.ones_like(kappa[:1]), dim)
    everything = belief_entropy(known, dim)
    return (belief_entropy(kappa, dim) - everything) / (nothing - everything)


def state_reliability(variance: Float[Tensor, "agent axis"], squared_length: float) -> Float[Tensor, " agent"]:
    """Share M / (M + tr P) of a state's squared length that is known.

    Args:
        variance: P, of what more data could reduce.
        squared_length: M, of the states of the population.
    """
    return squared_length / (squared_length + variance.sum(-1))


def belief_reliability(
    own: Float[Tensor, " agent"], state: Float[Tensor, " agent"], granted: Float[Tensor, " agent"]
) -> Float[Tensor, " agent"]:
    r"""R squared of a belief, from what is known of the agent, of its state, and what training grants.

    .. math:: R^2 = g\, (0.05 + 0.95\, u) \sqrt{v}

    Factors, so that none depends on how much states weigh in the forecast; the share of the state counts by its root,
    since the parameters of an unseen agent's chain are those of the population.

    Args:
        own: u, share of the agent's own tendency that its observations tell.
        state: v, share of its state that is known; 1 without states.
        granted: g, by support and by the number of training rows.
    """
    return granted * (LEAST_KNOWN + (1.0 - LEAST_KNOWN) * own) * state.sqrt()


@dataclass(frozen=True, eq=False)
class OwnEvidence:
    """How many observations of each agent still count, old ones less.

    Attributes:
        count: ``[N]``.
    """

    count: Float[Tensor, " agent"]

    @property
    def reliability(self) -> Float[Tensor, " agent"]:
        """Share of an agent's own tendency that its observations tell."""
        return self.count / (self.count + OUTCOME_PRIOR)


def own_evidence(y_mask: Bool[Tensor, "time agent"], observed: Bool[Tensor, "time agent"]) -> OwnEvidence:
    """Discounted number of observations of every agent up to the last time; features count a
    quarter of an outcome.

    Args:
        y_mask: True where an outcome was observed.
        observed: True where features were.
    """
    times = torch.arange(len(y_mask), device=y_mask.device)
    weight = OUTCOME_DECAY ** (len(y_mask) - 1 - times).double()
    seen = y_mask + FEATURE_EVIDENCE * observed
    return OwnEvidence((weight.unsqueeze(1) * seen).sum(0))


def staleness(y_mask: Bool[Tensor, "time agent"], observed: Bool[Tensor, "time agent"]) -> Float[Tensor, " agent"]:
    """Times since anything of an agent was observed, at most 4; 4 for agents of whom nothing ever
    was.

    Args:
        y_mask: True where an outcome was observed.
        observed: True where features were.
    """
    seen = y_mask | observed
    times = torch.arange(1, len(seen) + 1, device=seen.device, dtype=torch.float64)
    last = (times.unsqueeze(1) * seen).amax(0)
    return torch.where(last > 0, len(seen) - last, STALEST).clamp(max=STALEST)


@dataclass(frozen=True, eq=False)
class Support:
    """Training states, to tell how many of them lie near a believed state.

    Attributes:
        states: believed training states ``[n, K]``.
        bandwidth: of the Gaussian kernel.
        half: number of near states at which half of the concentration is granted.
    """

    states: Float[Tensor, "reference axis"]
    bandwidth: float
    half: float

    def share(self, states: Float[Tensor, "agent axis"]) -> Float[Tensor, " agent"]:
        """Share n / (n + n0) of the concentration that is granted.

        Args:
            states: believed, of each agent.
        """
        near = _near(states, self.states, self.bandwidth)
        return near / (near + self.half)


def learn_support(states: Float[Tensor, "row axis"], noise: float) -> Support:
    """Choose bandwidth and half-saturation so that nearly all training states are supported.

    Args:
        states: believed training states.
        noise: mean posterior deviation of a state along an axis.
    """
    rows = len(states)
    if rows > MOST_REFERENCES:
        states = states[evenly_spaced(rows, MOST_REFERENCES, states.device)]
    spread = float(states.var(0).mean().sqrt()) if rows > 1 else 1.0
    bandwidth = max(noise, 0.5 * spread, SMALLEST_BANDWIDTH)
    near = _near(states, states, bandwidth) - 1.0
    half = float(torch.quantile(near, SUPPORT_QUANTILE).clamp(min=1e-6)) if rows > 1 else 1.0
    return Support(states, bandwidth, half)


def _near(states: Tensor, references: Tensor, bandwidth: float) -> Float[Tensor, " agent"]:
    distance = torch.cdist(states, references).square()
    return torch.exp(-0.5 * distance / bandwidth**2).sum(1)
