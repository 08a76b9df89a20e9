"""The answer to "what if": laws of outcomes after an intervention, effects, entropies; one frozen value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import torch
from torch import Tensor

from sphunc._typing import Float, Whole
from sphunc.causal.columns import column_ends, id_column
from sphunc.causal.counts import whole_number
from sphunc.causal.graph import ASSUMPTIONS
from sphunc.causal.interventions import Plan, is_name
from sphunc.errors import ArgumentError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Effect:
    """What an intervention does to every agent's outcome, at every step from the origin to the target.

    Arrays over time have H rows, the last of which is the target. The plain names (``probabilities``, ``entropy``, ...)
    are those of the target.

    Attributes:
        plan: the interventions.
        agents: the user's ids, N of them.
        intervened: True for agents whose own state is set, turned or drawn ``[N]``.
        origin: label of the last time that was seen.
        times: labels of the H steps.
        class_names: C names; empty for numbers.
        outcomes: laws after the intervention: probabilities ``[H, N, C]``, or means ``[H, N, K]``.
        factual_outcomes: the same without it: the forecast; of a counterfactual given what was seen after the origin.
        effect_errors: Monte Carlo standard error of their difference; NaN where too few samples do not tell it.
        variances: of numbers after the intervention ``[H, N, K]``; empty for classes.
        entropies: H_causal of each agent, in nats ``[H, N]``.
        withins: what would be left of it if the structure were known ``[H, N]``.
        identifications: what not knowing the structure adds ``[H, N]``; both add up to ``entropies`` exactly. Both are
            NaN where a single structure was drawn.
        entropy_errors: Monte Carlo standard error of ``entropies`` ``[H, N]``.
        latent_bounds: entropy of the state itself is at most this, in nats ``[H, N]``.
        confidence: identification confidence of each agent's parents, in [0, 1] ``[N]``.
        samples: law of every sample at the target ``[S, N, C or K]``; of a counterfactual as often as its weight says,
            agent by agent, so that all count alike.
        structure_id: structure of each sample ``[S]``, before any weights.
        seed: of noise and structures.
        coupling: of a counterfactual, what its noise was abducted by; empty for an intervention.
        observed: of a counterfactual, True where the factual outcome was seen ``[H, N]``.
        outcome_names: K names, for numbers; empty if they have none.
    """

    plan: Plan
    agents: tuple[Hashable, ...]
    intervened: Tensor
    origin: Any
    times: tuple[Any, ...]
    class_names: tuple[str, ...]
    outcomes: Tensor
    factual_outcomes: Tensor
    effect_errors: Tensor
    variances: Tensor
    entropies: Tensor
    withins: Tensor
    identifications: Tensor
    entropy_errors: Tensor
    latent_bounds: Tensor
    confidence: Tensor
    samples: Tensor = field(repr=False)
    structure_id: Tensor = field(repr=False)
    seed: int = 0
    coupling: str = ""
    observed: Tensor | None = None
    outcome_names: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """True when outcomes are numbers."""
        return not self.class_names

    @property
    def labels(self) -> tuple[str, ...]:
        """Names along the last axis of ``outcomes``: classes, or numbers; "0", "1" ... for numbers without names."""
        return self.class_names or self.outcome_names or tuple(str(k) for k in range(self.outcomes.shape[-1]))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what is told about an outcome: classes, or ``mean_<name>`` of numbers; "mean" of one without."""
        ends = column_ends(self.outcome_names, self.outcomes.shape[-1])
        return self.class_names or tuple(f"mean{end}" for end in ends)

    @property
    def horizon(self) -> int:
        """Steps from origin to target, H."""
        return len(self.times)

    @property
    def probabilities(self) -> Float[Tensor, "agent class"]:
        """Class probabilities at the target after the intervention ``[N, C]``."""
        self._check_classes("probabilities")
        return self.outcomes[-1]

    @property
    def factual(self) -> Tensor:
        """Law at the target without the intervention ``[N, C]``, or mean ``[N, K]``."""
        return self.factual_outcomes[-1]

    @property
    def mean(self) -> Tensor:
        """Mean at the target after the intervention, of numbers ``[N, K]``."""
        if not self.numeric:
            raise ArgumentError("the outcomes are classes, which have no mean; read probabilities")
        return self.outcomes[-1]

    @property
    def variance(self) -> Tensor:
        """Variance at the target after the intervention, of numbers ``[N, K]``."""
        if not self.numeric:
            raise ArgumentError("the outcomes are classes, which have no variance; read probabilities")
        return self.variances[-1]

    @property
    def difference(self) -> Tensor:
        """Effect at the target: with less without the intervention ``[N, C]``, or ``[N, K]``."""
        return self.outcomes[-1] - self.factual_outcomes[-1]

    @property
    def size(self) -> Float[Tensor, " agent"]:
        """Size of the effect on each agent: total variation in [0, 1]; for numbers the root mean square ``[N]``."""
        if self.numeric:
            return _root_mean_square(self.difference)
        return 0.5 * self.difference.abs().sum(-1)

    @property
    def entropy(self) -> Float[Tensor, " agent"]:
        """H_causal at the target, in nats ``[N]``."""
        return self.entropies[-1]

    @property
    def within(self) -> Float[Tensor, " agent"]:
        """Part of the entropy that is left when the structure is known ``[N]``."""
        return self.withins[-1]

    @property
    def identification(self) -> Float[Tensor, " agent"]:
        """Part of the entropy that comes from not knowing the structure ``[N]``."""
        return self.identifications[-1]

    @property
    def standard_error(self) -> Float[Tensor, " agent"]:
        """Monte Carlo standard error of the entropy ``[N]``."""
        return self.entropy_errors[-1]

    @property
    def effect_error(self) -> Tensor:
        """Monte Carlo standard error of ``difference``."""
        return self.effect_errors[-1]

    @property
    def latent_bound(self) -> Float[Tensor, " agent"]:
        """Upper bound of the entropy of each state at the target, that of a von Mises-Fisher law ``[N]``."""
        return self.latent_bounds[-1]

    @property
    def assumptions(self) -> str:
        """What has to hold for this to be an effect."""
        return ASSUMPTIONS

    def to_frame(self) -> pl.DataFrame:
        """One row per step and agent: laws with and without the intervention, size of the effect, entropies."""
        H, N = self.entropies.shape
        times = pl.Series([time for time in self.times for _ in range(N)], strict=False)
        columns: dict[str, Any] = {"agent": id_column(self.agents) * H, "time": times}
        columns["intervened"] = self.intervened.tolist() * H
        columns |= self._outcome_columns()
        for name, values in (
            ("entropy", self.entropies),
            ("within", self.withins),
            ("identification", self.identifications),
            ("standard_error", self.entropy_errors),
            ("latent_bound", self.latent_bounds),
        ):
            columns[name] = values.flatten().tolist()
        columns["confidence"] = self.confidence.tolist() * H
        return pl.DataFrame(columns, strict=False)

    def top_affected(self, count: Whole = 10) -> pl.DataFrame:
        """The ``count`` agents on whom the effect at the target is largest, the intervened ones left out."""
        count = whole_number("count", count, least=1)
        size = torch.where(self.intervened, -1.0, self.size)
        order = torch.argsort(size, descending=True, stable=True)[: min(count, int((~self.intervened).sum()))]
        largest = self.difference[order].abs().argmax(-1)
        ids = id_column(self.agents)
        columns: dict[str, Any] = {
            "agent": [ids[i] for i in order.tolist()],
            "effect": size[order].tolist(),
            "error": self.effect_error[order, largest].tolist(),
        }
        if self.class_names or self.outcome_names[1:]:
            columns["most_changed"] = [self.labels[c] for c in largest.tolist()]
        columns["from"] = self.factual[order, largest].tolist()
        columns["to"] = self.outcomes[-1][order, largest].tolist()
        columns["entropy"] = self.entropy[order].tolist()
        columns["identification"] = self.identification[order].tolist()
        return pl.DataFrame(columns, strict=False)

    def of(self, agent: Hashable) -> dict[str, float]:
        """Law of one agent's outcome at the target, by class name (or ``mean_<name>``)."""
        if not is_name(agent) or agent not in self.agents:
            raise ArgumentError(f"agent {agent!r} is not among the {len(self.agents)} agents of this effect")
        row = self.outcomes[-1][self.agents.index(agent)].tolist()
        return dict(zip(self.columns, row, strict=True))

    def __repr__(self) -> str:
        what = " & ".join(map(str, self.plan)) or "no intervention"
        others = self.size[~self.intervened]
        largest = f"{float(others.max()):.3f}" if len(others) else "none"
        word = "Counterfactual" if self.coupling else "Effect"
        return (
            f"{word}({what}; {len(self.agents)} agents, {self.origin} -> {self.times[-1]}, largest effect on others "
            f"{largest}, mean entropy {float(self.entropy.mean()):z.3f} nats of which identification "
            f"{float(self.identification.mean()):z.3f})"
        )

    def _check_classes(self, asked: str) -> None:
        if self.numeric:
            raise ArgumentError(f"the outcomes are numbers, which have no {asked}; read mean and variance")

    def _outcome_columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        after, before = self.outcomes.flatten(0, 1), self.factual_outcomes.flatten(0, 1)
        for k, column in enumerate(self.columns):
            name = column if self.numeric else f"p({column})"
            columns[name] = after[:, k].tolist()
            columns[f"{name} factual"] = before[:, k].tolist()
        gap = after - before
        columns["effect"] = (_root_mean_square(gap) if self.numeric else 0.5 * gap.abs().sum(-1)).tolist()
        return columns


def _root_mean_square(values: Float[Tensor, "*batch number"]) -> Float[Tensor, "*batch"]:
    # Single precision does not hold the squares of very small numbers, nor of very large ones.
    return values.double().square().mean(-1).sqrt().to(values.dtype)
