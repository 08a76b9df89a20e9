r"""Counterfactuals: abduct the noise from what was seen, act, and predict under the same noise.

**Abduct.** Along the times that were seen a path is drawn for every sample: von Mises-Fisher laws are conjugate, so a
state is drawn from :math:`\mathrm{vMF}(\kappa_s s(h_{t-1}) + e_t)`, what the step says plus the evidence of that time.
A draw counts by how likely it made what was seen, :func:`log_evidence`. Relative to the step alone, with mean
direction :math:`\mu` and concentration :math:`\kappa`, the state is noise: :math:`h = t\mu + \sqrt{1-t^2}\,\xi` with
Moebius coordinate :math:`z = (t - t_0(\kappa))/(1 - t_0(\kappa) t)`.
**Act and predict.** The other arm keeps z and :math:`\xi` (projected onto the new tangent space), and so do the beliefs
that outcomes are read from, :func:`carry`. Outcomes that were seen follow the maximal coupling: an outcome stays unless
it became less likely. A vMF step is not additive noise, so other couplings would fit the same data: the result names
this one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.causal.action import Action, turn
from sphunc.causal.mechanism import Company, Mechanism, drive
from sphunc.causal.noise import moebius
from sphunc.sphere import log_normalizer

COUPLING = (
    "states: Moebius coordinate of the angle and tangent direction of the von Mises-Fisher noise are kept; outcomes: "
    "maximal coupling of classes (an outcome stays unless it became less likely), additive noise of numbers"
)
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Residual:
    r"""Noise of one step relative to its law: z ``[N, S]`` and unit tangents :math:`\xi` ``[N, S, D]``."""

    z: Tensor
    tangent: Tensor


def abduct(states: Float[Tensor, "agent sample dim"], eta: Float[Tensor, "agent sample dim"]) -> Residual:
    """Noise that turns the law of ``eta`` into these unit states."""
    kappa = eta.norm(dim=-1)
    mu = eta / kappa.clamp(min=TINY).unsqueeze(-1)
    t0 = moebius(kappa, states.shape[-1])
    t = (states * mu).sum(-1).clamp(-1.0, 1.0)
    tangent = states - t.unsqueeze(-1) * mu
    return Residual((t - t0) / (1.0 - t0 * t).clamp(min=TINY), torch.nn.functional.normalize(tangent, dim=-1))


def replay(residual: Residual, eta: Float[Tensor, "agent sample dim"]) -> Float[Tensor, "agent sample dim"]:
    """States that the same noise gives under another law."""
    kappa = eta.norm(dim=-1)
    mu = eta / kappa.clamp(min=TINY).unsqueeze(-1)
    t0 = moebius(kappa, eta.shape[-1])
    t = ((residual.z + t0) / (1.0 + t0 * residual.z)).clamp(-1.0, 1.0).unsqueeze(-1)
    along = (residual.tangent * mu).sum(-1, keepdim=True)
    tangent = torch.nn.functional.normalize(residual.tangent - along * mu, dim=-1)
    return t * mu + (1.0 - t.square()).sqrt() * tangent


def log_evidence(
    eta: Float[Tensor, "*batch dim"], posterior: Float[Tensor, "*batch dim"], dim: int
) -> Float[Tensor, "*batch"]:
    r"""Log-likelihood of evidence e on a state with natural parameter :math:`\eta`, up to what all draws share.

    .. math:: \log \int \mathrm{vMF}(h; \eta)\, e^{e \cdot h}\, dh = \log C_D(\|\eta\|) - \log C_D(\|\eta + e\|)

    Args:
        eta: before the evidence.
        posterior: with it, :math:`\eta + e`.
        dim: D.
    """
    return log_normalizer(eta.norm(dim=-1), dim) - log_normalizer(posterior.norm(dim=-1), dim)


def carry(
    mechanism: Mechanism,
    eta: Float[Tensor, "agent sample dim"],
    posterior: Float[Tensor, "agent sample dim"],
    eta_other: Float[Tensor, "agent sample dim"],
) -> Float[Tensor, "agent sample dim"]:
    r"""Belief about the state of the other arm, once evidence has turned ``eta`` into ``posterior`` in the factual one.

    Its mode is that of ``posterior`` under the same noise. Its spread :math:`A_D(\kappa)/\kappa` is that of
    ``eta_other``, narrowed in the same proportion: evidence is about the noise, which both arms share. Without evidence
    it is ``eta_other``; without an intervention, ``posterior``.
    """
    here, told, there = (value.norm(dim=-1) for value in (eta, posterior, eta_other))
    mode = replay(abduct(posterior / told.clamp(min=TINY).unsqueeze(-1), eta), eta_other)
    spread = mechanism.mean_length
    below, above = (mechanism.dim - 1) / 2, (mechanism.dim + 1) / 2
    length = (spread(here) / (spread(told) * spread(there)) - below).square().sub(above**2).clamp(min=0.0).sqrt()
    same, untold = ((eta == value).all(-1, keepdim=True) for value in (eta_other, posterior))
    return torch.where(same, posterior, torch.where(untold, eta_other, length.unsqueeze(-1) * mode))


def force(mechanism: Mechanism, states: Tensor, prior: Tensor, around: Company) -> Float[Tensor, "agent sample dim"]:
    """Natural parameter of the law of the next states."""
    return mechanism.strength * drive(mechanism, states, None, mechanism.prior * prior, around)[0]


def act(action: Action, step: int, states: Float[Tensor, "agent sample dim"]) -> Float[Tensor, "agent sample dim"]:
    """States with those of set agents put in place, and those of shifted ones turned."""
    states = states.clone()
    for change in action.states:
        if change.source.acts_at(step):
            i, target = change.agent, change.direction
            states[i] = target if change.kind == "do" else turn(states[i], target, change.amount)
    return states


def coupled_law(
    before: Float[Tensor, "*batch class"],
    after: Float[Tensor, "*batch class"],
    outcome: Int[Tensor, "*batch"],
) -> Float[Tensor, "*batch class"]:
    r"""Law of the counterfactual class, given the class that was seen, under the maximal coupling.

    .. math:: P(Y' = y \mid Y = y) = \min(1, p'_y / p_y), \qquad
              P(Y' = c \mid Y = y) \propto (p'_c - p_c)_+ \text{ otherwise}

    Averaged over the seen class it is ``after``; equal laws leave the outcome as it was.
    """
    seen = torch.nn.functional.one_hot(outcome, before.shape[-1]).to(before.dtype)
    had, has = (before * seen).sum(-1), (after * seen).sum(-1)
    stays = torch.where(had > 0, (has / had.clamp(min=TINY)).clamp(max=1.0), 1.0).unsqueeze(-1)
    gained = (after - before).clamp(min=0.0)
    total = gained.sum(-1, keepdim=True)
    elsewhere = torch.where(total > 0, gained / total.clamp(min=TINY), seen)
    return stays * seen + (1.0 - stays) * elsewhere


def coupled_outcomes(
    before: Float[Tensor, "agent sample class"],
    after: Float[Tensor, "agent sample class"],
    outcome: Int[Tensor, " agent"],
    is_seen: Bool[Tensor, " agent"],
) -> tuple[Float[Tensor, "agent sample class"], Float[Tensor, "agent sample class"]]:
    """Factual and counterfactual law of every sample: what was seen is certain, what was not has its own law."""
    wide = outcome.unsqueeze(1).expand(-1, before.shape[1])
    seen = torch.nn.functional.one_hot(wide, before.shape[-1]).to(before.dtype)
    chosen = is_seen[:, None, None]
    return torch.where(chosen, seen, before), torch.where(chosen, coupled_law(before, after, wide), after)
