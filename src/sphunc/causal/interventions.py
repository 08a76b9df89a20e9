"""Interventions as frozen values: what is set, moved or cut, for whom, and when.

Times are steps after the origin: 0 is the origin itself, 1 the first time that is forecast. ``times=None`` holds from
the origin to the horizon. State interventions act after the agent's own mechanism, as in dowhy; whatever acts on a
held agent is thereby without effect. A link or a group that is changed at a step is changed in the transition that
begins there: at step 0 it acts on the states of step 1, and at the horizon it could not act any more.
"""

from __future__ import annotations

import inspect
import json
import math
from abc import ABC
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sphunc.causal.counts import is_whole
from sphunc.causal.plain import is_plain, written
from sphunc.errors import ArgumentError, ArgumentTypeError

UNIT_TOLERANCE = 1e-4
"""Directions typed by hand or kept in float32 pass; a vector that was never normalised does not."""

LONGEST_SHOWN = 6


class Intervention(ABC):
    """One change of the system. Values: they print, compare, travel through JSON and combine with ``&``."""

    times: Any

    def acts_at(self, step: int) -> bool:
        """True if it acts at this step after the origin."""
        return self.times is None or step in self.times

    def overlaps(self, other: Intervention) -> bool:
        """True if there is a step at which both act."""
        if self.times is None or other.times is None:
            return True
        return bool(set(self.times) & set(other.times))

    def __and__(self, other: Any) -> Plan:
        """Combine; the order does not matter."""
        return Plan((self,)) & other

    def to_json(self) -> str:
        """Return a JSON document that :func:`~sphunc.causal.from_json` reads."""
        return Plan((self,)).to_json()

    def __repr__(self) -> str:
        """What was given, long vectors in a word."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # pyright: ignore[reportArgumentType]
        shown = [f"{name}={_short(value)}" for name, value in values.items() if value is not None]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, eq=False)
class Plan:
    """Several interventions that act together, in no order; a plan of one equals this one."""

    interventions: Any = ()

    def __post_init__(self) -> None:
        _set(self, interventions=flatten(self.interventions))

    def __and__(self, other: Any) -> Plan:
        """Combine with one more, or with those of another plan."""
        return Plan((self, other))

    def __eq__(self, other: object) -> bool:
        """Compare without order."""
        if not isinstance(other, Intervention | Plan):
            return NotImplemented
        return Counter(self) == Counter(flatten([other]))

    def __hash__(self) -> int:
        return hash(self.interventions[0] if len(self) == 1 else frozenset(self))

    def __iter__(self) -> Iterator[Intervention]:
        """Go through the interventions."""
        return iter(self.interventions)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.interventions)

    def to_json(self) -> str:
        """Return a JSON document that :func:`~sphunc.causal.from_json` reads."""
        return json.dumps([_document(one) for one in self.interventions])


@dataclass(frozen=True, repr=False)
class Do(Intervention):
    """Set an agent's state: do(h_i = d).

    Args:
        agent: whose state.
        direction: the state itself, a unit vector of the model's latent space.
        toward: or the name of a class: the direction in which the model reads this class.
        observed: or the id of an agent, whose believed state at the origin is taken; or the label of a time, at which
            this agent's own believed state is taken. An id wins where a label is both.
        times: steps at which it is set; None holds it to the horizon.
    """

    agent: Any
    direction: Any = None
    toward: str | None = None
    observed: Any = None
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, agent=_id("agent", self.agent), observed=_id("observed", self.observed))
        given = [name for name in ("direction", "toward", "observed") if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) if given else "none of them"
            raise ArgumentError(f"Do({self.agent!r}) takes one of direction, toward and observed; got {got}")
        if self.direction is not None:
            _set(self, direction=_unit("direction", self.direction))
        if not isinstance(self.toward, str | None):
            raise ArgumentTypeError(
                f"toward={self.toward!r} must be the name of a class, got {type(self.toward).__name__}; an agent or a "
                "time goes to observed="
            )
        _set(self, toward=plain_scalar(self.toward), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class Shift(Intervention):
    """Move an agent's state along the geodesic, by ``angle`` radians at most, and not beyond its end.

    Args:
        agent: whose state.
        toward: a class name, an agent id, or a unit vector.
        angle: radians, from 0 to pi.
        times: steps at which it is moved; None moves it at every step.
        observed: in place of ``toward``, an agent or a time as in :class:`Do`.
    """

    agent: Any
    toward: Any = None
    angle: Any = None
    times: Any = None
    observed: Any = None

    def __post_init__(self) -> None:
        _set(self, agent=_id("agent", self.agent), observed=_id("observed", self.observed))
        _set(self, toward=_either(self, "toward"))
        _set(self, angle=_number("angle", self.angle, 0.0, math.pi), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class Stochastic(Intervention):
    """Draw an agent's state from a von Mises-Fisher law, in place of its mechanism.

    Args:
        agent: whose state.
        mu: mean direction: a class name, an agent id, or a unit vector.
        kappa: concentration, above 0.
        times: steps at which it is drawn; None draws it anew at every step.
        observed: in place of ``mu``, an agent or a time as in :class:`Do`.
    """

    agent: Any
    mu: Any = None
    kappa: Any = None
    times: Any = None
    observed: Any = None

    def __post_init__(self) -> None:
        _set(self, agent=_id("agent", self.agent), observed=_id("observed", self.observed))
        _set(self, mu=_either(self, "mu"))
        _set(self, kappa=_number("kappa", self.kappa, 1e-6, 1e9), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class ScaleLink(Intervention):
    """Multiply the influence of ``source`` on ``target`` by ``factor``, in the transitions that begin at ``times``."""

    source: Any
    target: Any
    factor: Any
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, source=_id("source", self.source), target=_id("target", self.target))
        _set(self, factor=_number("factor", self.factor, -1e6, 1e6), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class CutLink(Intervention):
    """Take the influence of ``source`` on ``target`` away, in the transitions that begin at ``times``."""

    source: Any
    target: Any
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, source=_id("source", self.source), target=_id("target", self.target), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class CutGroup(Intervention):
    """A group that met at the origin does not meet any more; its members are pulled by their other groups.

    With ``times`` it does not meet in the transitions that begin there.
    """

    group: Any
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, group=_id("group", self.group), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class Policy(Intervention):
    """Let a function decide, from what the simulated states are at each step.

    Args:
        function: ``function(step, states)`` returns a mapping from agents (ids) to states, unit vectors ``[D]`` or one
            per draw ``[R, D]``; ``{}`` sets nobody. It is asked once per structure and step, with the states of this
            structure ``[R, N, D]``: R draws of the noise, agents in the order of the data. At step 0 structures have
            not acted yet, and it is asked once for all of a block that share draws. An agent whose state another
            intervention decides at the same step is refused.
        name: by which JSON remembers it; the function's own name by default.
        times: steps at which it is asked; None asks at every step.
    """

    function: Any
    name: str = ""
    times: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentTypeError(f"Policy takes a function(step, states), got {type(self.function).__name__}")
        _check_decider(self.function)
        _set(self, name=self.name or getattr(self.function, "__name__", "policy"), times=_steps(self.times))


KINDS: dict[str, type[Intervention]] = {
    kind.__name__: kind for kind in (Do, Shift, Stochastic, CutLink, ScaleLink, CutGroup, Policy)
}


def flatten(interventions: Any) -> tuple[Intervention, ...]:
    """Return single interventions, of one or several; anything else is refused."""
    is_several = isinstance(interventions, Iterable) and not isinstance(interventions, Plan)
    single: list[Intervention] = []
    for one in interventions if is_several else [interventions]:
        if not isinstance(one, Intervention | Plan):
            raise ArgumentTypeError(
                f"an intervention is one of {', '.join(KINDS)}, got {type(one).__name__}; write Do(agent, toward=...)"
            )
        single += list(one) if isinstance(one, Plan) else [one]
    return tuple(single)


def _document(one: Intervention) -> dict[str, Any]:
    values = {f.name: getattr(one, f.name) for f in fields(one)}  # pyright: ignore[reportArgumentType]
    values.pop("function", None)
    for name, value in values.items():
        if not is_plain(value):
            raise ArgumentTypeError(
                f"{name} is {value!r}: JSON keeps texts, numbers and dates; use such ids to write it"
            )
    return {"kind": type(one).__name__, **{name: written(value) for name, value in values.items() if value is not None}}


def _short(value: Any) -> str:
    if isinstance(value, tuple) and len(value) > LONGEST_SHOWN:
        is_vector = all(isinstance(part, float) for part in value)
        return f"({value[0]:.3g}, ... {len(value)} numbers)" if is_vector else f"({value[0]!r}, ... {len(value)} parts)"
    return getattr(value, "__name__", None) or repr(value)


def _check_decider(function: Any) -> None:
    """Refuse a function that cannot be asked with two values; of some, those written in C for example, nobody knows."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(0, None)
    except TypeError as error:
        raise ArgumentTypeError(
            f"Policy takes a function(step, states), but {_short(function)}{signature} cannot take these: {error}"
        ) from None


def _set(one: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(one, name, value)


def _steps(times: Any) -> tuple[int, ...] | None:
    if times is None:
        return None
    listed = times.tolist() if hasattr(times, "tolist") else times
    given = list(listed) if isinstance(listed, Iterable) else [listed]
    if isinstance(times, str | Mapping) or not all(is_whole(t) for t in given):
        raise ArgumentTypeError(f"times={times!r} must be a step after the origin, several of them, or None")
    if not given or min(given) < 0:
        raise ArgumentError(f"times={times!r} must name steps after the origin, 0 (the origin itself) or later")
    return tuple(sorted({int(t) for t in given}))


def plain_scalar(value: Any) -> Any:
    """Return numbers and texts of numpy, and tensors of a single number, as Python's own; anything else as it is."""
    is_scalar = isinstance(value, np.number | np.bool_ | np.str_) or getattr(value, "ndim", None) == 0
    # A date of numpy may be finer than Python's, which would turn it into a number.
    return value if isinstance(value, np.datetime64) or not is_scalar else value.item()


def is_name(value: Any) -> bool:
    """Say whether a value may name an agent, a group or a time: it has a hash, and is no truth value and no array."""
    if isinstance(value, bool) or (hasattr(value, "tolist") and not isinstance(value, np.generic)):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _id(name: str, value: Any) -> Hashable:
    value = plain_scalar(value)
    if not is_name(value):
        raise ArgumentTypeError(f"{name}={value!r} must be an id of the data, got {type(value).__name__}; name one")
    return value


def _either(one: Any, name: str) -> Any:
    """What is aimed at, None where ``observed`` says it."""
    value = plain_scalar(getattr(one, name))
    if (value is None) == (one.observed is None):
        got = "neither" if value is None else "both"
        raise ArgumentError(f"{type(one).__name__}({one.agent!r}) takes one of {name} and observed; got {got}")
    return None if value is None else _aim(name, value)


def _aim(name: str, value: Any) -> Any:
    return value if is_name(value) and not isinstance(value, tuple) else _unit(name, value)


def _unit(name: str, value: Any) -> tuple[float, ...]:
    listed = value.tolist() if hasattr(value, "tolist") else value
    try:
        if isinstance(listed, str | bytes | Mapping):
            raise TypeError  # they too have parts that float() may take
        entries = tuple(float(entry) for entry in listed)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"{name} must be a vector of numbers, got {type(value).__name__}") from None
    if not all(math.isfinite(entry) for entry in entries):
        raise ArgumentError(f"{name} has an entry that is not finite; give a unit vector")
    length = math.sqrt(math.fsum(entry * entry for entry in entries))
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ArgumentError(f"{name} has length {length:.6g}, not 1; divide it by its length")
    return entries


def _number(name: str, value: Any, low: float, high: float) -> float:
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError  # float() would take them
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentTypeError(f"{name}={value!r} must be a number, got {type(value).__name__}") from None
    if not low <= number <= high:
        raise ArgumentError(f"{name}={number:g} is outside {low:g} ... {high:g}")
    return number
