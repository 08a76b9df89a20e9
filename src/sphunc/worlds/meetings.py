"""Who meets whom: timed groups, formed with homophily, part of them recurring from one time to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from sphunc.worlds.settings import WorldSettings

TURNOVER = 0.1
ATTEMPTS = 20  # draws for a place before any free agent is taken


@dataclass(frozen=True)
class Meeting:
    """One group at one time: its lasting name, its time index and its members, ascending."""

    name: int
    time: int
    members: tuple[int, ...]


class _Decks:
    """Shuffled decks of agents per community and one of all: drawn through, then shuffled again."""

    def __init__(self, available: NDArray[np.int64], community: NDArray[np.int64], rng: Generator) -> None:
        self._rng = rng
        self._all = available
        self._by_community = {int(c): available[community[available] == c] for c in np.unique(community[available])}
        self._piles: dict[int, list[int]] = {}

    def draw(self, community: int) -> int:
        """Take the next agent of a community; -1 stands for all agents."""
        pile = self._piles.get(community)
        if not pile:
            cards = self._by_community.get(community, self._all)
            pile = self._piles[community] = self._rng.permutation(cards).tolist()
        return pile.pop()


def meet(
    settings: WorldSettings, community: NDArray[np.int64], present: NDArray[np.bool_], rng: Generator
) -> tuple[Meeting, ...]:
    """Draw all meetings, ordered by time.

    Args:
        settings: of the world.
        community: of each agent, ``[N]``.
        present: who can meet when, ``[T, N]``.
        rng: source of randomness.
    """
    meetings: list[Meeting] = []
    previous: list[Meeting] = []
    named = 0
    for time in range(settings.times):
        count = settings.groups * (time + 1) // settings.times - settings.groups * time // settings.times
        available = np.flatnonzero(present[time])
        decks = _Decks(available, community, rng)
        recurring = min(round(settings.recurrence * count), len(previous))
        chosen = np.sort(rng.permutation(len(previous))[:recurring])
        current = []
        for old in (previous[k] for k in chosen.tolist()):
            members = _renew(old, present[time], community, decks, rng)
            current.append(Meeting(old.name, time, members))
        homes = community[available][rng.integers(len(available), size=count - len(current))]
        sizes = np.minimum(2 + rng.poisson(settings.group_size - 2, size=len(homes)), len(available))
        for home, size in zip(homes.tolist(), sizes.tolist(), strict=True):
            members = _fill(set(), size, home, settings.group_homophily, decks, rng, available)
            current.append(Meeting(named, time, members))
            named += 1
        meetings += current
        previous = current
    return tuple(meetings)


def _renew(
    old: Meeting,
    present: NDArray[np.bool_],
    community: NDArray[np.int64],
    decks: _Decks,
    rng: Generator,
) -> tuple[int, ...]:
    stays = rng.random(len(old.members)) >= TURNOVER
    kept = {agent for agent, stay in zip(old.members, stays.tolist(), strict=True) if stay and present[agent]}
    home = int(np.bincount(community[list(old.members)]).argmax())
    available = np.flatnonzero(present)
    size = min(len(old.members), len(available))
    return _fill(kept, size, home, 1.0, decks, rng, available)


def _fill(
    members: set[int],
    size: int,
    home: int,
    homophily: float,
    decks: _Decks,
    rng: Generator,
    available: NDArray[np.int64],
) -> tuple[int, ...]:
    draws = 0
    at_home = rng.random(size * ATTEMPTS) < homophily
    while len(members) < size and draws < len(at_home):
        community = -1
        if at_home[draws]:
            community = home
        members.add(decks.draw(community))
        draws += 1
    if len(members) < size:
        free = np.setdiff1d(available, list(members))
        members |= set(rng.permutation(free)[: size - len(members)].tolist())
    return tuple(sorted(members))


def met_before(meetings: tuple[Meeting, ...], end: int, agents: int) -> list[list[int]]:
    """Return for each agent the others that it met before the time index ``end``, ascending.

    Args:
        meetings: of all times.
        end: time index; earlier meetings count.
        agents: N.
    """
    met: list[set[int]] = [set() for _ in range(agents)]
    for meeting in meetings:
        if meeting.time < end:
            for agent in meeting.members:
                met[agent].update(meeting.members)
    return [sorted(others - {agent}) for agent, others in enumerate(met)]
