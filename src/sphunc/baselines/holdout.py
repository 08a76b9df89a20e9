"""Hold-out scheme of the baselines: later times where there are enough, agents where times are few.

*By times*: training, validation and calibration are successive origins. Training stops on the validation origins; the
temperature comes from the calibration origins.

*By agents* (panels of four or five times): every origin trains. Agents are dealt into folds, one network per fold
learns without it, and forecasts for the agents that a network never learned from decide how long to train and how
sharp forecasts may be. This measures what is unknown about agents; it cannot see a drift over time.
"""

from __future__ import annotations

from dataclasses import dataclass

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import Split, TemporalHypergraph
from sphunc.hypergraph.leakage import check_split

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

    Times are, if at least 4 training origins remain and outcomes are observed at the targets of every part; agents
    otherwise.

    Args:
        data: T times.
        horizon: steps from origin to target.
        split: origins of each part; times after the last calibration target are not read. None uses all times.
    """
    stop = data.num_times
    if split is not None:
        _check_split(data, split, horizon)
        stop = split.targets("calibration")[-1] + 1
    if stop < horizon + 1:
        raise ArgumentError(
            f"{stop} {'time is' if stop == 1 else 'times are'} too few to learn a forecast {horizon} ahead; "
            f"give at least {horizon + 1} times"
        )
    if split is None:
        parts = _successive_parts(stop - horizon, horizon)
    else:
        parts = (split.train, split.validation, split.calibration)
    if parts is not None and _can_hold_out_times(data, parts, horizon):
        return HoldoutScheme(stop, *parts, horizon)
    if data.num_nodes < 2:
        raise ArgumentError(
            f"{data.num_nodes} agent at {data.num_times} times is too little to hold anything out; give at least 2 "
            "agents, or more times"
        )
    return HoldoutScheme(stop, tuple(range(stop - horizon)), (), (), horizon)


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
