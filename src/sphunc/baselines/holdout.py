"""Hold-out scheme of the baselines, and the outcomes that each part of it counts.

*By times*: training, validation and calibration are successive origins. Training stops on the
validation origins; the temperature comes from the calibration origins.

*By agents* (panels of four or five times): every origin trains. Agents are dealt into folds, one
network per fold learns without it, and forecasts for the agents that a network never learned from
decide how long to train and how sharp forecasts may be. This measures what is unknown about agents;
it cannot see a drift over time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Generator

from sphunc._typing import Bool, Int, Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError, DataError
from sphunc.hypergraph import Split, TemporalHypergraph, check_split

FEWEST_TRAINING_ORIGINS = 4
"""Below this, giving two parts of the origins away costs more than folds of agents do."""
HELD_OUT_SHARE = 0.1
"""Share of the origins in validation, and in calibration."""
Origins = tuple[int, ...]


@dataclass(frozen=True)
class HoldoutScheme:
    """Times that may be read, and origins of each part.

    Attributes:
        stop: times ``0 ... stop - 1`` may be read; nothing later is.
        train: origins to learn from.
        validation: origins to stop on; empty when agents are held out.
        calibration: origins to calibrate on; empty when agents are held out.
        horizon: steps from origin to target.
    """

    stop: int
    train: Origins
    validation: Origins
    calibration: Origins
    horizon: int

    @property
    def by_agents(self) -> bool:
        """True when agents, not times, are held out."""
        return not self.validation

    @property
    def train_stop(self) -> int:
        """Times ``0 ... train_stop - 1`` may be read by training: up to its last target."""
        return self.train[-1] + self.horizon + 1

    @property
    def all_origins(self) -> Origins:
        """All origins whose target may be read."""
        return tuple(range(self.stop - self.horizon))


def holdout_scheme(data: TemporalHypergraph, horizon: int, split: Split | None = None) -> HoldoutScheme:
    """Choose what is held out.

    Times are, if at least 4 training origins remain and outcomes are observed at the targets of
    every part; agents otherwise.

    Args:
        data: T times.
        horizon: steps from origin to target.
        split: origins of each part; times after the last calibration target are not read. None
            uses all times.
    """
    stop = data.num_times
    if split is not None:
        _check_split(data, split, horizon)
        stop = split.targets("calibration")[-1] + 1
    least = horizon + 1
    if stop < least:
        times = "1 time is"
        if stop != 1:
            times = f"{stop} times are"
        raise ArgumentError(f"{times} too few to learn a forecast {horizon} ahead; give at least {least} times")
    if split is None:
        parts = _successive_parts(stop - horizon, horizon)
    else:
        parts = (split.train, split.validation, split.calibration)
    if parts is not None and _can_hold_out_times(data, parts, horizon):
        return HoldoutScheme(stop, *parts, horizon)
    if data.num_nodes < 2:
        raise ArgumentError(
            f"{data.num_nodes} agent at {data.num_times} times is too little to hold anything "
            "out; give at least 2 agents, or more times"
        )
    return HoldoutScheme(stop, tuple(range(stop - horizon)), (), (), horizon)


@dataclass(frozen=True, eq=False)
class Targets:
    """Outcomes at ``t + horizon``, in the row of their origin t.

    Attributes:
        outcome: ``[T, N]`` classes or ``[T, N, K]`` numbers; 0 where none is known.
        mask: ``[T, N]`` True where a forecast from this origin counts.
    """

    outcome: Tensor
    mask: Bool[Tensor, "time agent"]

    def only(self, cells: Bool[Tensor, "*time agent"]) -> Targets:
        """Count only the outcomes in ``cells`` (``[T, N]`` or ``[N]``)."""
        return Targets(self.outcome, self.mask & cells)

    def latest(self, fewest: int) -> Targets:
        """Count the last origins: as few as have ``fewest`` outcomes together, or all."""
        count = self.mask.sum(1)
        later = count.flip(0).cumsum(0).flip(0) - count
        return self.only((later < fewest).unsqueeze(1))

    def until(self, stop: int) -> Targets:
        """Return the rows of the origins ``0 ... stop - 1``."""
        return Targets(self.outcome[:stop], self.mask[:stop])

    @property
    def count(self) -> int:
        """How many outcomes count."""
        return int(self.mask.sum())


def targets_of(data: TemporalHypergraph, horizon: int, origins: Iterable[int] | None = None) -> Targets:
    """Put each outcome of ``data`` into the row of the origin it is forecast from.

    An outcome of an agent who was neither observed nor in a group by the origin says how frequent
    classes are among unseen agents, not how agents change. Such outcomes count only where there are
    no others.

    Args:
        data: T times.
        horizon: steps from origin to target.
        origins: time indices that count; None takes all whose target is in the data.

    Returns:
        T rows; origins whose target lies beyond the data do not count.
    """
    if data.y is None:
        raise ArgumentError("data has no outcomes; give an outcomes table to learn from, or call predict only")
    outcome = torch.zeros_like(data.y)
    mask = torch.zeros_like(data.y_mask)
    known = max(data.num_times - horizon, 0)
    outcome[:known] = data.y[horizon:]
    mask[:known] = data.y_mask[horizon:]
    if origins is not None:
        chosen = torch.zeros(data.num_times, dtype=torch.bool, device=mask.device)
        chosen[list(origins)] = True
        mask &= chosen.unsqueeze(1)
    of_known_agents = mask & ((data.present | group_members(data)).cumsum(0) > 0)
    if bool(of_known_agents.any()):
        mask = of_known_agents
    return Targets(outcome, mask)


def group_members(data: TemporalHypergraph) -> Bool[Tensor, "time agent"]:
    """Members of a group at each time, whether or not they were observed otherwise."""
    members = torch.zeros_like(data.present)
    agent, group = data.hyperedge_index
    members[data.hyperedge_time[group], agent] = True
    return members


def deal_folds(num_agents: int, folds: int, generator: Generator) -> Int[Tensor, " agent"]:
    """Deal the agents at random into folds of equal size (to one agent).

    Args:
        num_agents: N.
        folds: parts.
        generator: source of randomness.
    """
    order = torch.randperm(num_agents, generator=generator, device=generator.device)
    fold = torch.empty_like(order)
    fold[order] = torch.arange(num_agents, device=order.device) % folds
    return fold


def check_outcomes(data: TemporalHypergraph, scheme: HoldoutScheme) -> None:
    """Refuse to train or stop on nothing.

    Args:
        data: T times.
        scheme: what is held out.
    """
    for part, origins in (("train", scheme.train), ("validation", scheme.validation)):
        if origins and targets_of(data, scheme.horizon, origins).count == 0:
            raise DataError(
                f"no outcome is observed at the targets of the {part} origins "
                f"({origins[0]} ... {origins[-1]}, horizon {scheme.horizon}); "
                "give outcomes there, or another split"
            )


def _successive_parts(origins: int, horizon: int) -> tuple[Origins, Origins, Origins] | None:
    """Origins of training, validation and calibration, or None where none is left to train on."""
    count = max(1, round(HELD_OUT_SHARE * origins))
    calibration = origins - count
    validation = calibration - (horizon - 1) - count
    train = validation - (horizon - 1)
    if train < 1:
        return None
    return tuple(range(train)), tuple(range(validation, validation + count)), tuple(range(calibration, origins))


def _can_hold_out_times(data: TemporalHypergraph, parts: tuple[Origins, Origins, Origins], horizon: int) -> bool:
    train, validation, calibration = parts
    if validation == calibration or len(train) < FEWEST_TRAINING_ORIGINS:
        return False
    observed = [bool(data.y_mask[[origin + horizon for origin in part]].any()) for part in parts]
    return all(observed) or data.num_nodes < 2


def _check_split(data: TemporalHypergraph, split: object, horizon: int) -> None:
    if not isinstance(split, Split):
        raise ArgumentTypeError(
            f"split={split!r:.60} must be a Split, got {type(split).__name__}; "
            f"make it with sphunc.time_split(data, horizon={horizon})"
        )
    if split.horizon != horizon:
        raise ArgumentError(
            f"split has horizon {split.horizon}, but the model forecasts {horizon} ahead; "
            f"make it with time_split(data, horizon={horizon})"
        )
    check_split(data, split)
