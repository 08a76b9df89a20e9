"""A simulated world as a value: the data that a model sees, and the truth that it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from sphunc._checks import seed_number, some_names, whole_number
from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.worlds.dynamics import Law
from sphunc.worlds.future import Assignment, forecast
from sphunc.worlds.settings import WorldSettings

ORACLE_SAMPLES = 512


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class World:
    """A temporal hypergraph with known truth, made by :func:`simulate`. Truths are float64 and follow ``node_ids``.

    Attributes:
        preset: name of the preset it started from.
        seed: the seed; the same seed gives the same world.
        settings: every knob, as used.
        data: what a model sees; its ``influence`` is the true links, of kind "simulated".
        links: true links ``[2, K]``, row 0 source, row 1 target (node indices).
        strengths: signed strength of each link, ``[K]``.
        states: true unit states h ``[T, N, D]``.
        biases: persistent unit biases u ``[N, D]``.
        class_directions: orthonormal direction of each class, ``[C, D]``.
        driver: observable driver v of the label noise, without its observation noise, ``[T, N]``.
        outcomes: the drawn classes ``[T, N]``, also where ``data.y_mask`` hides them.
        label_entropy: entropy in nats of the outcome given true state and driver, ``[T, N]``.
        communities: community of each agent ``[N]``; the unseen community has the last number.
        newcomers: agents from known communities that enter at T - 2, ``[N]``: the controls.
        out_of_distribution: agents of the community never seen in training, which enter at T - 2 too, ``[N]``.
        law: the law of motion (numpy), for :meth:`oracle` and :meth:`interventional`.
        hidden: the hidden force of each community, ``[T, K + 1, D]``; without effect unless ``confounder`` is set.
    """

    preset: str
    seed: int
    settings: WorldSettings
    data: TemporalHypergraph
    links: Int[Tensor, "2 link"]
    strengths: Float[Tensor, " link"]
    states: Float[Tensor, "time agent dim"]
    biases: Float[Tensor, "agent dim"]
    class_directions: Float[Tensor, "class dim"]
    driver: Float[Tensor, "time agent"]
    outcomes: Int[Tensor, "time agent"]
    label_entropy: Float[Tensor, "time agent"]
    communities: Int[Tensor, " agent"]
    newcomers: Bool[Tensor, " agent"]
    out_of_distribution: Bool[Tensor, " agent"]
    law: Law
    hidden: Float[Tensor, "time community dim"]

    def oracle(self, origin: int, horizon: int = 1, samples: int = ORACLE_SAMPLES) -> Float[Tensor, "agent class"]:
        """Class probabilities at ``origin + horizon`` given all that is true at ``origin``.

        Monte Carlo over the noise of states and driver (512 draws from a fixed stream unless told otherwise), exact
        over the noise of labels; the standard error of an entry is below 0.5 / sqrt(samples), typically 0.01.
        Groups up to the horizon are those that really meet; after the last time the last groups meet on.

        Args:
            origin: time index of what is known.
            horizon: steps ahead.
            samples: draws.
        """
        return self.interventional({}, origin=origin, horizon=horizon, samples=samples, seed=self.seed)

    def interventional(
        self,
        assignments: Mapping[str, str],
        *,
        origin: int,
        horizon: int = 1,
        samples: int = ORACLE_SAMPLES,
        seed: int = 0,
        persistent: bool = True,
    ) -> Float[Tensor, "agent class"]:
        """Class probabilities at ``origin + horizon`` after do(): the truth.

        Each agent in ``assignments`` takes the state of its donor: another agent's state at ``origin`` (an id), or the
        direction of a class (a class name). The state is held up to the horizon, so that nothing acts on the agent any
        more; with ``persistent=False`` it is set at the origin only. The driver of label noise stays the agent's own.
        Equal seeds share the noise, so that differences between two calls are effects.

        Args:
            assignments: donor of each agent that is set, both by name.
            origin: time index at which agents are set.
            horizon: steps ahead.
            samples: draws.
            seed: of the draws.
            persistent: whether the states are held up to the horizon.
        """
        _check_time(self.data, origin, horizon)
        seed = seed_number(seed)
        samples = whole_number("samples", samples, least=1)
        _check_mapping(assignments)
        held = {self._agent(agent): self._donor(donor, origin) for agent, donor in assignments.items()}
        now = (self.states[origin].numpy(), self.driver[origin].numpy(), self.hidden[origin].numpy())
        probabilities = forecast(self.law, now, Assignment(held, persistent), origin, horizon, samples, seed)
        return torch.from_numpy(probabilities)

    def _agent(self, agent: str) -> int:
        ids = self.data.node_ids
        if agent not in ids:
            raise ArgumentError(f"agent {agent!r} is not in this world; its {len(ids)} agents are {some_names(ids)}")
        return ids.index(agent)

    def _donor(self, donor: str, origin: int) -> np.ndarray:
        if donor in self.data.class_names:
            return self.class_directions[self.data.class_names.index(donor)].numpy()
        if donor in self.data.node_ids:
            return self.states[origin, self.data.node_ids.index(donor)].numpy()
        raise ArgumentError(
            f"donor {donor!r} is neither an agent nor a class of this world; give an agent id "
            f"({some_names(self.data.node_ids)}) or a class name ({some_names(self.data.class_names)})"
        )

    def __repr__(self) -> str:
        late = int(self.newcomers.sum())
        unseen = int(self.out_of_distribution.sum())
        entering = ""
        if late or unseen:
            entering = f", {late} newcomers, {unseen} out of distribution"
        return f"World({self.preset!r}, seed={self.seed}, {self.data!r}{entering})"


def _check_mapping(assignments: object) -> None:
    if not isinstance(assignments, Mapping):
        kind = type(assignments).__name__
        raise ArgumentTypeError(f"assignments must map agents to donors, got {kind}; write {{agent: donor}}")


def _check_time(data: TemporalHypergraph, origin: int, horizon: int) -> None:
    whole_number("origin", origin)
    whole_number("horizon", horizon, least=1)
    if not 0 <= origin < data.num_times:
        raise ArgumentError(
            f"origin={origin} is outside the {data.num_times} times of the world; "
            f"choose a time index from 0 to {data.num_times - 1}"
        )
