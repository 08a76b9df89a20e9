"""From settings and a seed to a world: people, meetings, links, the path of the states, what is shown of it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sphunc._checks import seed_number
from sphunc.hypergraph import TemporalHypergraph
from sphunc.worlds.dynamics import Law, Snapshot, initial, law_of, step
from sphunc.worlds.links import draw_links
from sphunc.worlds.meetings import Meeting, meet, met_before
from sphunc.worlds.observation import draw_outcomes, entropy, feature_mask, feature_names, outcome_law, show
from sphunc.worlds.population import populate
from sphunc.worlds.presets import settings_for
from sphunc.worlds.settings import WorldSettings
from sphunc.worlds.streams import stream
from sphunc.worlds.world import World

BURN_IN = 10


def simulate(preset: str = "snare", *, seed: int = 0, **overrides: object) -> World:
    """Make a world whose truth is known.

    Args:
        preset: "snare", "pheme", "amigos", "financial" or "collaboration": the sizes of the paper's data sets and a
            difficulty matched to its results.
        seed: the same seed gives the same world; comparisons between knobs share what the knobs leave alone.
        **overrides: any knob of :class:`WorldSettings`, such as ``agents=200`` or ``unseen=0.1``.

    Example:
        >>> world = simulate("snare", seed=0, agents=60, times=4)
        >>> world.data.num_nodes, world.oracle(origin=2).shape
        (60, torch.Size([60, 3]))
    """
    seed = seed_number(seed)
    settings = settings_for(preset, overrides)
    people = populate(settings, stream(seed, "population"))
    present = _presence(settings, people.newcomer, stream(seed, "presence"))
    meetings = meet(settings, people.community, present, stream(seed, "meetings"))
    met = met_before(meetings, max(settings.entry_time, 1), settings.agents)
    links, strengths = draw_links(settings, met, stream(seed, "links"))
    law = law_of(settings, people, links, strengths, _attendance(settings, meetings))
    path = _path(law, stream(seed, "path"))
    return _world(preset, seed, law, meetings, present, links, strengths, path)


def _presence(settings: WorldSettings, newcomer: NDArray[np.bool_], rng: Generator) -> NDArray[np.bool_]:
    present = rng.random((settings.times, settings.agents)) >= settings.absent
    present[: settings.entry_time, newcomer] = False
    present[:, np.flatnonzero(~newcomer)[:2]] = True  # somebody must be there to meet
    return present


def _attendance(settings: WorldSettings, meetings: tuple[Meeting, ...]) -> tuple[csr_matrix, ...]:
    matrices = []
    for time in range(settings.times):
        here = [meeting.members for meeting in meetings if meeting.time == time]
        ends = np.cumsum([0, *(len(members) for members in here)])
        agents = np.array([agent for members in here for agent in members], dtype=np.int64)
        matrices.append(csr_matrix((np.ones(len(agents)), agents, ends), shape=(len(here), settings.agents)))
    return tuple(matrices)


def _path(law: Law, rng: Generator) -> list[Snapshot]:
    now = initial(law, rng)
    for _ in range(BURN_IN):
        now = step(law, now, -1, rng)
    path = [now]
    for time in range(law.settings.times - 1):
        path.append(step(law, path[-1], time, rng))
    return path


def _world(
    preset: str,
    seed: int,
    law: Law,
    meetings: tuple[Meeting, ...],
    present: NDArray[np.bool_],
    links: NDArray[np.int64],
    strengths: NDArray[np.float64],
    path: list[Snapshot],
) -> World:
    settings = law.settings
    people = law.population
    states = np.stack([now.states[:, 0] for now in path])
    driver = np.stack([now.driver[:, 0] for now in path])
    probabilities = outcome_law(settings, people.class_directions, states, driver)
    outcomes = draw_outcomes(probabilities, stream(seed, "outcomes"))
    x = show(settings, people, states, driver, stream(seed, "features"))
    x_mask = feature_mask(settings, present, stream(seed, "masks"))
    unseen = people.community == settings.communities
    return World(
        preset=preset,
        seed=seed,
        settings=settings,
        data=_data(settings, meetings, x, x_mask, outcomes, _labelled(settings, present, people.newcomer), links),
        links=torch.from_numpy(links),
        strengths=torch.from_numpy(strengths),
        states=torch.from_numpy(states),
        biases=torch.from_numpy(people.biases),
        class_directions=torch.from_numpy(people.class_directions),
        driver=torch.from_numpy(driver),
        outcomes=torch.from_numpy(outcomes),
        label_entropy=torch.from_numpy(entropy(probabilities)),
        communities=torch.from_numpy(people.community),
        newcomers=torch.from_numpy(people.newcomer & ~unseen),
        out_of_distribution=torch.from_numpy(unseen),
        law=law,
        hidden=torch.from_numpy(np.stack([now.hidden[:, 0] for now in path])),
    )


def _labelled(settings: WorldSettings, present: NDArray[np.bool_], newcomer: NDArray[np.bool_]) -> NDArray[np.bool_]:
    labelled = present.copy()
    labelled[: settings.entry_time + 1, newcomer] = False
    return labelled


def _data(
    settings: WorldSettings,
    meetings: tuple[Meeting, ...],
    x: NDArray[np.float64],
    x_mask: NDArray[np.bool_],
    outcomes: NDArray[np.int64],
    y_mask: NDArray[np.bool_],
    links: NDArray[np.int64],
) -> TemporalHypergraph:
    nodes = [agent for meeting in meetings for agent in meeting.members]
    edges = [edge for edge, meeting in enumerate(meetings) for _ in meeting.members]
    digits = len(str(settings.agents - 1))
    return TemporalHypergraph(
        x=torch.from_numpy(np.where(x_mask, x, 0.0).astype(np.float32)),
        x_mask=torch.from_numpy(x_mask),
        hyperedge_index=torch.tensor([nodes, edges], dtype=torch.long),
        hyperedge_time=torch.tensor([meeting.time for meeting in meetings], dtype=torch.long),
        y=torch.from_numpy(np.where(y_mask, outcomes, 0)),
        y_mask=torch.from_numpy(y_mask),
        num_nodes=settings.agents,
        num_hyperedges=len(meetings),
        node_ids=tuple(f"a{agent:0{digits}d}" for agent in range(settings.agents)),
        hyperedge_ids=tuple(f"g{meeting.name}-t{meeting.time}" for meeting in meetings),
        feature_names=feature_names(settings),
        class_names=tuple(f"class-{c}" for c in range(settings.classes)),
        times=tuple(range(settings.times)),
        influence=torch.from_numpy(links),
        influence_kind="simulated",
    )
