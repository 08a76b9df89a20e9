"""Which outcomes a model learns from, stops on and is calibrated on; by times, or by agents where times are too few.

*By times*: training, validation and calibration are successive origins. Stopping is decided on the validation origins,
temperature and conformal scores come from the calibration origins.

*By agents* (panels too short to spare a time, such as four or five): every origin trains. The agents are dealt into
folds, one network per fold learns without it, and what these networks say about the agents they never learned from
decides how long to train and how sure forecasts may be. The model itself then learns from all agents for that long.
This measures what is unknown about *agents*; it cannot see a drift over time, and the forecast says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import Split, TemporalHypergraph
from sphunc.hypergraph.leakage import check_split
from sphunc.hypergraph.splits import least_times

FEWEST_TRAINING_ORIGINS = 4
"""Below this, giving two parts of the origins away costs more than folds of agents do."""
HELD_OUT_SHARE = 0.1


@dataclass(frozen=True)
class Plan:
    """Times that may be seen, and origins of each part.

    Attributes:
        stop: times ``0 ... stop - 1`` may be seen; nothing later is ever read.
        train: origins to learn from.
        validation: origins to stop on; empty when agents are held out.
        calibration: origins to calibrate on; empty when agents are held out.
        horizon: steps from origin to target.
    """

    stop: int
    train: tuple[int, ...]
    validation: tuple[int, ...]
    calibration: tuple[int, ...]
    horizon: int

    @property
    def by_agents(self) -> bool:
        """True when agents, not times, are held out."""
        return not self.validation

    @property
    def train_stop(self) -> int:
        """Times ``0 ... train_stop - 1`` may be seen by training: up to its last target."""
        return self.train[-1] + self.horizon + 1

    @property
    def everything(self) -> tuple[int, ...]:
        """All origins whose target may be seen."""
        return tuple(range(self.stop - self.horizon))


def make_plan(data: TemporalHypergraph, horizon: int, split: Split | None = None, holdout: str = "auto") -> Plan:
    """Plan the use of ``data``.

    Args:
        data: T times.
        horizon: steps from origin to target.
        split: origins of each part; times after the last calibration target are not looked at. None uses all times.
        holdout: "times", "agents", or "auto": times if at least 4 training origins remain, and outcomes are observed
            at the targets of every part.
    """
    if split is not None:
        _check_split(data, split, horizon)
    stop = data.num_times if split is None else split.targets("calibration")[-1] + 1
    if stop < horizon + 1:
        raise ArgumentError(
            f"{stop} {'time is' if stop == 1 else 'times are'} too few to learn a forecast {horizon} ahead; "
            f"give at least {horizon + 1} times"
        )
    parts = _parts(stop - horizon, horizon) if split is None else (split.train, split.validation, split.calibration)
    by_times = parts is not None and _is_enough(data, parts, horizon)
    if holdout == "times":
        by_times = _insist(parts, stop, horizon)
    if holdout == "agents" or not by_times or parts is None:
        _check_agents(data)
        return Plan(stop, tuple(range(stop - horizon)), (), (), horizon)
    return Plan(stop, *parts, horizon)


def _parts(origins: int, horizon: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    held = max(1, round(HELD_OUT_SHARE * origins))
    calibration = origins - held
    validation = calibration - (horizon - 1) - held
    train = validation - (horizon - 1)
    if train < 1:
        return None
    return tuple(range(train)), tuple(range(validation, validation + held)), tuple(range(calibration, origins))


def _is_enough(data: TemporalHypergraph, parts: tuple[tuple[int, ...], ...], horizon: int) -> bool:
    apart = parts[1] != parts[2] and len(parts[0]) >= FEWEST_TRAINING_ORIGINS
    known = all(bool(data.y_mask[[origin + horizon for origin in part]].any()) for part in parts)
    return apart and (known or data.num_nodes < 2)


def _insist(parts: tuple[tuple[int, ...], ...] | None, stop: int, horizon: int) -> bool:
    if parts is None:
        raise ArgumentError(
            f"holdout is 'times', but {stop} times leave none to train on; give at least {least_times(horizon)}, "
            "or choose holdout='agents'"
        )
    return True


def _check_agents(data: TemporalHypergraph) -> None:
    if data.num_nodes < 2:
        raise ArgumentError(
            f"{data.num_nodes} agent at {data.num_times} times is too little to hold anything out; give at least 2 "
            "agents, or more times"
        )


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
