"""The answer to "what if": outcomes after an intervention, effects, entropies; one frozen value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import torch

from sphunc._checks import did_you_mean, is_name, whole_number
from sphunc._typing import Bool, Float, Tensor, Whole
from sphunc.discovery import ASSUMPTIONS
from sphunc.errors import ArgumentError
from sphunc.forecasting import column_ends, id_column, probability_columns, time_column
from sphunc.interventions.values import Plan


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Effect:
    """What an intervention does to every agent's outcome, at every step from origin to target.

    Arrays over time have H rows, the last of which is the target. The plain names
    (``probabilities``, ``entropy``, ...) are those of the target.

    Attributes:
        plan: the interventions.
        agents: the user's ids, N of them.
        intervened: True for agents whose own state or outcome is set, moved or drawn ``[N]``.
        origin: label of the last time that was observed.
        times: labels of the H steps.
        class_names: C names; empty for numbers.
        outcomes: after the intervention: probabilities ``[H, N, C]``, or means ``[H, N, M]``.
        factual_outcomes: the same without it: the forecast; of a counterfactual given what was
            observed after the origin.
        monte_carlo_errors: standard error of their difference from a finite number of samples; NaN
            where too few cannot tell it ``[H, N, C]``.
        posterior_deviations: standard deviation of the difference over the posterior of structures
            and coefficients: more data make it smaller, more samples do not ``[H, N, C]``.
        interval: holds the difference at the target with a probability of 90 % under that
            posterior ``[N, C, 2]``.
        variances: of numbers after the intervention ``[H, N, M]``; empty for classes.
        entropies: H_causal of each agent, in nats ``[H, N]``.
        withins: what would be left of it if the structure were known ``[H, N]``.
        identifications: what not knowing the structure adds ``[H, N]``; both add up to
            ``entropies`` exactly. Both are NaN where a single structure was drawn.
        entropy_errors: Monte Carlo standard error of ``entropies`` ``[H, N]``.
        confidence: identification confidence of each agent's parents, in [0, 1] ``[N]``.
        samples: probabilities or means of every sample at the target ``[S, N, C]``.
        structure_id: structure of each sample ``[S]``.
        seed: of noise and structures.
        coupling: of a counterfactual, by what its noise was abducted; empty for an intervention.
        observed: of a counterfactual, True where the factual outcome was observed ``[H, N]``.
        outcome_names: M names, for numbers; empty if they have none.
        message: one sentence where the fit gives no influence to act through, or where the
            intervention lies outside of what was observed; else empty.
    """

    plan: Plan
    agents: tuple[Hashable, ...]
    intervened: Bool[Tensor, " agent"]
    origin: Any
    times: tuple[Any, ...]
    class_names: tuple[str, ...]
    outcomes: Float[Tensor, "step agent output"]
    factual_outcomes: Float[Tensor, "step agent output"]
    monte_carlo_errors: Float[Tensor, "step agent output"]
    posterior_deviations: Float[Tensor, "step agent output"]
    interval: Float[Tensor, "agent output 2"]
    variances: Float[Tensor, "step agent number"]
    entropies: Float[Tensor, "step agent"]
    withins: Float[Tensor, "step agent"]
    identifications: Float[Tensor, "step agent"]
    entropy_errors: Float[Tensor, "step agent"]
    confidence: Float[Tensor, " agent"]
    samples: Float[Tensor, "sample agent output"] = field(repr=False)
    structure_id: Tensor = field(repr=False)
    seed: int = 0
    coupling: str = ""
    observed: Bool[Tensor, "step agent"] | None = None
    outcome_names: tuple[str, ...] = ()
    message: str = ""

    @property
    def numeric(self) -> bool:
        """True when outcomes are numbers."""
        return not self.class_names

    @property
    def horizon(self) -> int:
        """Steps from origin to target, H."""
        return len(self.times)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names along the last axis of ``outcomes``; "0", "1" ... for numbers without names."""
        numbered = tuple(str(k) for k in range(self.outcomes.shape[-1]))
        return self.class_names or self.outcome_names or numbered

    @property
    def columns(self) -> tuple[str, ...]:
        """What is stated of an outcome: classes, or ``mean_<name>`` of numbers."""
        ends = column_ends(self.outcome_names, self.outcomes.shape[-1])
        return self.class_names or tuple(f"mean{end}" for end in ends)

    @property
    def probabilities(self) -> Float[Tensor, "agent class"]:
        """Class probabilities at the target after the intervention ``[N, C]``."""
        if self.numeric:
            raise ArgumentError("the outcomes are numbers, which have no probabilities; read mean and variance")
        return self.outcomes[-1]

    @property
    def mean(self) -> Float[Tensor, "agent number"]:
        """Mean at the target after the intervention, of numbers ``[N, M]``."""
        self._check_numeric("mean")
        return self.outcomes[-1]

    @property
    def variance(self) -> Float[Tensor, "agent number"]:
        """Variance at the target after the intervention, of numbers ``[N, M]``."""
        self._check_numeric("variance")
        return self.variances[-1]

    @property
    def factual(self) -> Float[Tensor, "agent output"]:
        """Probabilities ``[N, C]`` or means ``[N, M]`` at the target without the intervention."""
        return self.factual_outcomes[-1]

    @property
    def difference(self) -> Float[Tensor, "agent output"]:
        """Effect at the target: with less without the intervention ``[N, C]`` or ``[N, M]``."""
        return self.outcomes[-1] - self.factual_outcomes[-1]

    @property
    def size(self) -> Float[Tensor, " agent"]:
        """Size of each agent's effect: total variation in [0, 1]; root mean square of numbers ``[N]``."""
        return self._sizes()[-1]

    @property
    def monte_carlo_error(self) -> Float[Tensor, "agent output"]:
        """Monte Carlo standard error of ``difference``."""
        return self.monte_carlo_errors[-1]

    @property
    def posterior_deviation(self) -> Float[Tensor, "agent output"]:
        """Standard deviation of ``difference`` over the posterior of structures and coefficients."""
        return self.posterior_deviations[-1]

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
    def assumptions(self) -> str:
        """What has to hold for this to be an effect."""
        return ASSUMPTIONS

    def to_frame(self) -> pl.DataFrame:
        """One row per step and agent: outcomes of both arms, size of the effect, entropies.

        Columns ``... low`` and ``... high`` are the interval of the difference; it is stated for the
        target only.
        """
        H = self.horizon
        columns: dict[str, Any] = {
            "agent": id_column(self.agents) * H,
            "time": time_column(self.times, len(self.agents)),
            "intervened": self.intervened.tolist() * H,
        }
        columns |= self._outcome_columns()
        columns["effect"] = self._sizes().flatten().tolist()
        columns["entropy"] = self.entropies.flatten().tolist()
        columns["within"] = self.withins.flatten().tolist()
        columns["identification"] = self.identifications.flatten().tolist()
        columns["standard_error"] = self.entropy_errors.flatten().tolist()
        columns["confidence"] = self.confidence.tolist() * H
        return pl.DataFrame(columns, strict=False)

    def top_affected(self, count: Whole = 10) -> pl.DataFrame:
        """Agents on whom the effect at the target is largest, the intervened ones left out.

        ``from`` and ``to`` are probability or mean of the outcome that changes most, ``error``,
        ``low`` and ``high`` belong to its difference. Of two classes it is always the second, so
        that rows can be compared.

        Args:
            count: of agents, at most.
        """
        count = whole_number("count", count, least=1)
        others = int((~self.intervened).sum())
        size = torch.where(self.intervened, -1.0, self.size)
        order = torch.argsort(size, descending=True, stable=True)[: min(count, others)]
        most = self.difference[order].abs().argmax(-1)
        if len(self.class_names) == 2:
            most = torch.ones_like(most)
        ids = id_column(self.agents)
        columns: dict[str, Any] = {
            "agent": [ids[i] for i in order.tolist()],
            "effect": size[order].tolist(),
        }
        if self.class_names or len(self.outcome_names) > 1:
            columns["most_changed"] = [self.labels[c] for c in most.tolist()]
        columns["from"] = self.factual[order, most].tolist()
        columns["to"] = self.outcomes[-1][order, most].tolist()
        columns["low"] = self.interval[order, most, 0].tolist()
        columns["high"] = self.interval[order, most, 1].tolist()
        columns["error"] = self.monte_carlo_error[order, most].tolist()
        columns["entropy"] = self.entropy[order].tolist()
        columns["identification"] = self.identification[order].tolist()
        return pl.DataFrame(columns, strict=False)

    def of(self, agent: Hashable) -> dict[str, float]:
        """Outcome of one agent at the target, by class name (or ``mean_<name>``).

        Args:
            agent: its id.
        """
        row = self.outcomes[-1][self.index(agent)].tolist()
        return dict(zip(self.columns, row, strict=True))

    def index(self, agent: Hashable) -> int:
        """Row of an agent in every array.

        Args:
            agent: its id.
        """
        if not is_name(agent) or agent not in self.agents:
            raise ArgumentError(
                f"agent {agent!r} is not among the {len(self.agents)} agents of this effect"
                f"{did_you_mean(agent, self.agents)}"
            )
        return self.agents.index(agent)

    def __repr__(self) -> str:
        what = " & ".join(map(str, self.plan)) or "no intervention"
        others = self.size[~self.intervened]
        largest = "none"
        if len(others):
            largest = f"{float(others.max()):.3f}"
        word = "Counterfactual" if self.coupling else "Effect"
        message = f"; {self.message}" if self.message else ""
        return (
            f"{word}({what}; {len(self.agents)} agents, {self.origin} -> {self.times[-1]}, largest "
            f"effect on others {largest}, mean entropy {float(self.entropy.mean()):z.3f} nats of "
            f"which identification {float(self.identification.mean()):z.3f}{message})"
        )

    def _check_numeric(self, asked: str) -> None:
        if not self.numeric:
            raise ArgumentError(f"the outcomes are classes, which have no {asked}; read probabilities")

    def _sizes(self) -> Float[Tensor, "step agent"]:
        difference = self.outcomes - self.factual_outcomes
        if not self.numeric:
            return 0.5 * difference.abs().sum(-1)
        # Single precision does not hold the squares of very small numbers, nor of very large ones.
        return difference.double().square().mean(-1).sqrt().to(difference.dtype)

    def _outcome_columns(self) -> dict[str, list[float | None]]:
        """Per outcome: with and without the intervention, Monte Carlo error, interval at the target."""
        names = self.columns
        if not self.numeric:
            names = probability_columns(self.class_names)
        before_target: list[float | None] = [None] * (self.entropies[:-1].numel())
        columns: dict[str, list[float | None]] = {}
        for k, name in enumerate(names):
            columns[name] = self.outcomes[..., k].flatten().tolist()
            columns[f"{name} factual"] = self.factual_outcomes[..., k].flatten().tolist()
            columns[f"{name} error"] = self.monte_carlo_errors[..., k].flatten().tolist()
            columns[f"{name} low"] = before_target + self.interval[:, k, 0].tolist()
            columns[f"{name} high"] = before_target + self.interval[:, k, 1].tolist()
        return columns
