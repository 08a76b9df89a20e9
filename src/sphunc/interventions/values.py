"""Interventions as frozen values: what is set, moved or cut, of which agent, and when.

Times are steps after the origin: 0 is the origin itself, 1 the first time that is forecast.
``times=None`` holds to the horizon, from the origin on; of outcomes, which were observed at the
origin, from the first simulated step on. Interventions on states act after the agent's own
mechanism, as in dowhy: whatever acts on a held agent has no effect. A link or a group that is
changed at a step is changed in the transition that begins there: at step 0 it acts on the states
of step 1, and at the horizon it could not act any more.

Fields take values of Python, numpy and torch in any form that makes sense, and keep them as
Python's own; this is why they are declared ``object`` or ``Any``.
"""

from __future__ import annotations

import inspect
import json
import math
from abc import ABC
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from sphunc._checks import is_name, is_whole, number_between, plain_list, plain_scalar
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.interventions.serialisation import can_serialise, serialise

UNIT_TOLERANCE = 1e-4
"""Directions typed by hand or kept in float32 pass; a vector that was never normalised does not."""
LONGEST_SHOWN = 6
LARGEST_OUTCOME = 1e30
"""Of a number that is held; its square still fits single precision."""


class Intervention(ABC):
    """One change of the system. Values: they print, compare, become JSON and combine with ``&``."""

    times: Any

    def acts_at(self, step: int) -> bool:
        """Say whether it acts at a step after the origin."""
        return self.times is None or step in self.times

    def overlaps(self, other: Intervention) -> bool:
        """Say whether there is a step at which both act."""
        if self.times is None or other.times is None:
            return True
        return not set(self.times).isdisjoint(other.times)

    def __and__(self, other: object) -> Plan:
        """Combine; the order does not matter."""
        return Plan((self, other))

    def to_json(self) -> str:
        """Return a JSON document that :func:`~sphunc.interventions.from_json` reads."""
        return Plan((self,)).to_json()

    def __repr__(self) -> str:
        """What was given, long vectors in a word."""
        given = {name: value for name, value in field_values(self).items() if value is not None}
        shown = [f"{name}={_short(value)}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, eq=False)
class Plan:
    """Several interventions that act together, in no order; a plan of one equals this one."""

    interventions: Any = ()

    def __post_init__(self) -> None:
        _set(self, interventions=flatten(self.interventions))

    def __and__(self, other: object) -> Plan:
        """Combine with one more, or with those of another plan."""
        return Plan((self, other))

    def __eq__(self, other: object) -> bool:
        """Compare without order."""
        if not isinstance(other, Intervention | Plan):
            return NotImplemented
        return Counter(self) == Counter(flatten([other]))

    def __hash__(self) -> int:
        if len(self) == 1:
            return hash(self.interventions[0])
        return hash(frozenset(self))

    def __iter__(self) -> Iterator[Intervention]:
        """Go through the interventions."""
        return iter(self.interventions)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.interventions)

    def to_json(self) -> str:
        """Return a JSON document that :func:`~sphunc.interventions.from_json` reads."""
        return json.dumps([_document(one) for one in self.interventions])


@dataclass(frozen=True, repr=False)
class Do(Intervention):
    """Set an agent's state, do(h_i = d), or its outcome, do(y_i = y).

    Exactly one of the four is given.

    Args:
        agent: id of the agent that is set.
        direction: the state itself, a unit vector of the model's state space.
        toward: name of a class: the direction in which the model reads this class.
        observed: id of an agent, whose believed state at the origin is taken; or label of a time,
            at which this agent's own believed state is taken. An id wins where a label is both.
        outcome: name of a class, or number, at which the agent's outcome is held; of several
            numbers a sequence of them. Others feel it one step later, through what they know of
            past outcomes; the agent's state goes its own way.
        times: steps at which it is set, of an outcome 1 or later; None holds it to the horizon.

    Example:
        >>> Do("ann", toward="calm") & Do("bob", outcome="upset", times=1)
        Plan(interventions=(Do(agent='ann', toward='calm'), Do(agent='bob', times=(1,), outcome='upset')))
    """

    agent: object
    direction: Any = None
    toward: str | None = None
    observed: object = None
    times: Any = None
    outcome: Any = None

    def __post_init__(self) -> None:
        _set(self, agent=_id("agent", self.agent))
        _set(self, observed=_id("observed", self.observed))
        names = ("direction", "toward", "observed", "outcome")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none of them"
            raise ArgumentError(f"Do({self.agent!r}) takes one of direction, toward, observed and outcome; got {got}")
        if self.direction is not None:
            _set(self, direction=_unit_vector("direction", self.direction))
        if not isinstance(self.toward, str | None):
            raise ArgumentTypeError(
                f"toward={self.toward!r} must be the name of a class, got "
                f"{type(self.toward).__name__}; an agent or a time goes to observed="
            )
        _set(self, toward=plain_scalar(self.toward), times=_steps(self.times))
        if self.outcome is not None:
            _set(self, outcome=_outcome(self.outcome))
            _refuse_origin(self)

    @property
    def sets_outcome(self) -> bool:
        """Whether it sets the outcome, and leaves the state to its mechanism."""
        return self.outcome is not None


@dataclass(frozen=True, repr=False)
class Shift(Intervention):
    """Move an agent's state along the geodesic, by ``angle`` at most, and not beyond its end.

    Args:
        agent: id of the agent that is moved.
        toward: a class name, an agent id, or a unit vector.
        angle: radians, from 0 to pi.
        times: steps at which it is moved; None moves it at every step.
        observed: in place of ``toward``, an agent or a time as in :class:`Do`.
    """

    agent: object
    toward: Any = None
    angle: Any = None
    times: Any = None
    observed: object = None

    def __post_init__(self) -> None:
        _set(self, agent=_id("agent", self.agent))
        _set(self, observed=_id("observed", self.observed))
        _set(self, toward=_target_or_observed(self, "toward"))
        _set(self, angle=number_between("angle", self.angle, 0.0, math.pi))
        _set(self, times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class Stochastic(Intervention):
    """Draw an agent's state from a von Mises-Fisher distribution, in place of its mechanism.

    Args:
        agent: id of the agent whose state is drawn.
        mu: mean direction: a class name, an agent id, or a unit vector.
        kappa: concentration, above 0.
        times: steps at which it is drawn; None draws it anew at every step.
        observed: in place of ``mu``, an agent or a time as in :class:`Do`.
    """

    agent: object
    mu: Any = None
    kappa: Any = None
    times: Any = None
    observed: object = None

    def __post_init__(self) -> None:
        _set(self, agent=_id("agent", self.agent))
        _set(self, observed=_id("observed", self.observed))
        _set(self, mu=_target_or_observed(self, "mu"))
        _set(self, kappa=number_between("kappa", self.kappa, 1e-6, 1e9))
        _set(self, times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class ScaleLink(Intervention):
    """Multiply the influence of one agent on another.

    Args:
        source: id of the agent that influences.
        target: id of the agent that is influenced.
        factor: by which the coefficient of the link is multiplied.
        times: steps at which the transitions begin that are changed; None changes all.
    """

    source: object
    target: object
    factor: Any
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, source=_id("source", self.source), target=_id("target", self.target))
        _set(self, factor=number_between("factor", self.factor, -1e6, 1e6))
        _set(self, times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class CutLink(Intervention):
    """Remove the influence of one agent on another.

    Args:
        source: id of the agent that influences.
        target: id of the agent that is influenced.
        times: steps at which the transitions begin that go without it; None cuts all.
    """

    source: object
    target: object
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, source=_id("source", self.source), target=_id("target", self.target))
        _set(self, times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class CutGroup(Intervention):
    """Keep a group that met at the origin from meeting; its members keep their other groups.

    Args:
        group: id of the group.
        times: steps at which the transitions begin in which it does not meet; None cuts all.
    """

    group: object
    times: Any = None

    def __post_init__(self) -> None:
        _set(self, group=_id("group", self.group), times=_steps(self.times))


@dataclass(frozen=True, repr=False)
class Policy(Intervention):
    """Let a function decide, from what the simulated states are at each step.

    Args:
        function: ``function(step, states)`` returns a mapping from agents (ids) to states, unit
            vectors ``[K]`` or one per sample ``[S, K]``; ``{}`` sets none. It is called once per
            step and block of samples, with their states ``[S, N, K]``, agents in the order of the
            data. An agent whose state another intervention sets at the same step is refused.
        name: by which JSON remembers it; the function's own name by default.
        times: steps at which it is called; None calls it at every step.
    """

    function: Any
    name: str = ""
    times: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            kind = type(self.function).__name__
            raise ArgumentTypeError(f"Policy takes a function(step, states), got {kind}")
        _check_signature(self.function)
        name = self.name or getattr(self.function, "__name__", "policy")
        _set(self, name=name, times=_steps(self.times))


KINDS: dict[str, type[Intervention]] = {
    kind.__name__: kind for kind in (Do, Shift, Stochastic, CutLink, ScaleLink, CutGroup, Policy)
}


def flatten(interventions: object) -> tuple[Intervention, ...]:
    """Return single interventions, of one, several or a plan; anything else is refused."""
    several: Iterable[object] = [interventions]
    if isinstance(interventions, Iterable):
        several = interventions
    single: list[Intervention] = []
    for one in several:
        if isinstance(one, Plan):
            single.extend(one)
        elif isinstance(one, Intervention):
            single.append(one)
        else:
            raise ArgumentTypeError(
                f"an intervention is one of {', '.join(KINDS)}, got {type(one).__name__}; write Do(agent, toward=...)"
            )
    return tuple(single)


def field_values(one: Intervention) -> dict[str, Any]:
    """Values of an intervention by the names of its arguments."""
    kind: Any = type(one)
    return {field.name: getattr(one, field.name) for field in fields(kind)}


def _document(one: Intervention) -> dict[str, Any]:
    values = field_values(one)
    values.pop("function", None)
    for name, value in values.items():
        if not can_serialise(value):
            raise ArgumentTypeError(
                f"{name} is {value!r}: JSON keeps texts, numbers and dates; use such ids to write it"
            )
    given = {name: serialise(value) for name, value in values.items() if value is not None}
    return {"kind": type(one).__name__, **given}


def _short(value: object) -> str:
    if isinstance(value, tuple) and len(value) > LONGEST_SHOWN:
        if all(isinstance(part, float) for part in value):
            return f"({value[0]:.3g}, ... {len(value)} numbers)"
        return f"({value[0]!r}, ... {len(value)} parts)"
    return getattr(value, "__name__", None) or repr(value)


def _check_signature(function: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with two values; some, written in C, do not say."""
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
    """Give a frozen value the checked form of its arguments."""
    for name, value in values.items():
        object.__setattr__(one, name, value)


def _steps(times: object) -> tuple[int, ...] | None:
    if times is None:
        return None
    listed = plain_list(times)
    given: list[Any] = [listed]
    if isinstance(listed, Iterable):
        given = list(listed)
    if isinstance(times, str | Mapping) or not all(is_whole(step) for step in given):
        raise ArgumentTypeError(f"times={times!r} must be a step after the origin, several of them, or None")
    if not given or min(given) < 0:
        raise ArgumentError(f"times={times!r} must name steps after the origin, 0 (the origin itself) or later")
    return tuple(sorted({int(step) for step in given}))


def _refuse_origin(one: Do) -> None:
    if one.times is not None and one.times[0] == 0:
        raise ArgumentError(f"{one} sets an outcome at the origin, where outcomes were observed; choose times from 1")


def _id(name: str, value: object) -> Hashable:
    value = plain_scalar(value)
    if not is_name(value):
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name}={value!r} must be an id of the data, got {kind}; name one")
    return value


def _outcome(value: object) -> str | float | tuple[float, ...]:
    """Name of a class as text, a number as float, several numbers as a tuple."""
    value = plain_scalar(value)
    if isinstance(value, str):
        return value
    listed = plain_list(value)
    if isinstance(listed, list | tuple):
        return tuple(_held_number(entry) for entry in listed)
    return _held_number(listed)


def _held_number(value: object) -> float:
    try:
        return number_between("outcome", value, -LARGEST_OUTCOME, LARGEST_OUTCOME)
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"outcome={value!r} must be the name of a class or a number, got {type(value).__name__}"
        ) from None


def _target_or_observed(one: Shift | Stochastic, name: str) -> Any:
    """What is aimed at; None where ``observed`` says it."""
    value = plain_scalar(getattr(one, name))
    if (value is None) == (one.observed is None):
        got = "neither" if value is None else "both"
        kind = type(one).__name__
        raise ArgumentError(f"{kind}({one.agent!r}) takes one of {name} and observed; got {got}")
    if value is None or (is_name(value) and not isinstance(value, tuple)):
        return value
    return _unit_vector(name, value)


def _unit_vector(name: str, value: object) -> tuple[float, ...]:
    listed = plain_list(value)
    try:
        if isinstance(listed, str | bytes | Mapping):
            raise TypeError  # they too have parts that float() may take
        entries = tuple(float(entry) for entry in listed)
    except (TypeError, ValueError, OverflowError):
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name} must be a vector of numbers, got {kind}") from None
    if not all(math.isfinite(entry) for entry in entries):
        raise ArgumentError(f"{name} has an entry that is not finite; give a unit vector")
    length = math.sqrt(math.fsum(entry * entry for entry in entries))
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ArgumentError(f"{name} has length {length:.6g}, not 1; divide it by its length")
    return entries
