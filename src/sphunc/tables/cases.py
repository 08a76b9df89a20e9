"""The paper's qualitative cases as scenarios with a measured outcome.

Influence is told from homophily; forecasts of early threads stay open until posts corroborate them; of two modalities
the noisy one is given less weight.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import torch

from sphunc.estimator import SphUnc
from sphunc.evaluation import auprc, precision_at_k
from sphunc.hypergraph import TemporalHypergraph, comembers
from sphunc.report import Table
from sphunc.worlds import simulate

AGENTS = 150
TIMES = 12
NOISE = 4.0
"""Standard deviation that is added to the features of one modality, in units of their own."""
SEED = 11


def cases_table(seed: int = SEED) -> Table:
    """Run the three scenarios; a row of what was asked, what was found, and what a simpler way finds.

    Args:
        seed: of the worlds.
    """
    rows = [homophily_case(seed), early_case(seed), modality_case(seed)]
    note = "Simulated worlds in which the truth is known; the paper shows one example each, without figures of its own."
    return Table("Qualitative cases, measured", pl.DataFrame(rows), note)


def homophily_case(seed: int) -> dict[str, object]:
    """Links of a world full of homophily, by SphUnc and by lagged similarity.

    Args:
        seed: of the world.
    """
    world = simulate("snare", agents=AGENTS, times=TIMES, homophily=0.9, group_homophily=0.9, seed=seed)
    graph = SphUnc(seed=0).fit(world.data, verbose=False).influence()
    pairs = comembers(world.data)
    count = world.data.num_nodes
    truth = torch.isin(pairs[0] * count + pairs[1], world.links[0] * count + world.links[1]).numpy()
    by_pair = torch.zeros(count * count)
    by_pair[graph.links[0] * count + graph.links[1]] = graph.probability.float()
    found = by_pair[pairs[0] * count + pairs[1]].numpy()
    similar = lagged_similarity(world.data, pairs).numpy()
    return {
        "case": "influence told from homophily",
        "asked": "average precision (P@10) of links, similar agents meeting each other",
        "SphUnc": f"{auprc(found, truth):.2f} ({precision_at_k(found, truth):.1f})",
        "simpler": f"{auprc(similar, truth):.2f} ({precision_at_k(similar, truth):.1f}), lagged cosine similarity",
    }


def lagged_similarity(data: TemporalHypergraph, pairs: torch.Tensor) -> torch.Tensor:
    """Mean cosine between the source's features and the target's at the next time ``[K]``.

    Args:
        data: features.
        pairs: sources and targets ``[2, K]``.
    """
    x = torch.where(data.x_mask, data.x, 0.0)
    x = torch.nn.functional.normalize(x, dim=-1)
    return (x[:-1, pairs[0]] * x[1:, pairs[1]]).sum(-1).mean(0)


def early_case(seed: int) -> dict[str, object]:
    """Agents of whom little was observed yet: how unsure is SphUnc, and what does waiting for them buy.

    Args:
        seed: of the world.
    """
    world = simulate("pheme", agents=AGENTS, times=TIMES, features=40, seed=seed)
    data = world.data
    model = SphUnc(seed=0).fit(data.until_index(TIMES - 3), verbose=False)
    origin = TIMES - 2
    early = torch.arange(data.num_nodes) % 2 == 0
    hidden = hide_before(data, early, origin)
    forecast = model.predict(hidden, origin_index=origin)
    later = model.predict(data, origin_index=origin)
    rise = float((forecast.epistemic[early] > later.epistemic[early]).float().mean())
    assert data.y is not None
    known = data.y_mask[origin + 1]
    right = forecast.prediction == data.y[origin + 1]
    unsure = forecast.total > forecast.total[known].median()
    return {
        "case": "early threads stay undecided",
        "asked": "agents whose epistemic part falls once their history is seen; errors of the certain half",
        "SphUnc": f"{100 * rise:.0f} % fall; {float((~right)[known & ~unsure].float().mean()):.2f} errors",
        "simpler": f"{float((~right)[known].float().mean()):.2f} errors when all are decided at once",
    }


def hide_before(data: TemporalHypergraph, agents: torch.Tensor, origin: int) -> TemporalHypergraph:
    """Hide all that some agents showed before a time.

    Args:
        data: features and outcomes.
        agents: True for agents to hide ``[N]``.
        origin: position of the time from which on they are seen.
    """
    x_mask = data.x_mask.clone()
    y_mask = data.y_mask.clone()
    x_mask[:origin, agents] = False
    y_mask[:origin, agents] = False
    assert data.y is not None
    x = torch.where(x_mask, data.x, 0.0)
    y = torch.where(y_mask, data.y, 0)
    return replace(data, x=x, x_mask=x_mask, y=y, y_mask=y_mask)


def modality_case(seed: int) -> dict[str, object]:
    """One of the modalities becomes noisy: how much weight do states give it, and what does that save.

    Args:
        seed: of the world.
    """
    world = simulate("amigos", agents=AGENTS, times=TIMES, features=24, seed=seed)
    data = world.data
    block = torch.arange(24) < 8
    generator = torch.Generator().manual_seed(seed)
    noise = NOISE * torch.randn(data.x.shape, generator=generator)
    spread = data.x.flatten(0, 1).std(0)
    noisy = replace(data, x=torch.where(block & data.x_mask, data.x + spread * noise, data.x))
    origin = TIMES - 2
    clean_fit = SphUnc(seed=0).fit(data.until_index(origin), verbose=False)
    noisy_fit = SphUnc(seed=0).fit(noisy.until_index(origin), verbose=False)
    assert data.y is not None
    outcome = data.y[origin + 1]
    known = data.y_mask[origin + 1]

    def share_right(model: SphUnc) -> float:
        prediction = model.predict(noisy, origin_index=origin).prediction
        return float((prediction == outcome)[known].float().mean())

    return {
        "case": "a noisy modality is down-weighted",
        "asked": "accuracy when a third of the features conflict with the rest",
        "SphUnc": f"{share_right(noisy_fit):.2f}, fitted where the modality is noisy",
        "simpler": f"{share_right(clean_fit):.2f}, with the weights of a clean modality",
    }
