"""The structure posterior of a fitted model as the graph that users see."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch

from sphunc._checks import some_names
from sphunc._typing import Bool, Tensor
from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentError
from sphunc.forecasting import canonical_order
from sphunc.model.fitting import FittedModel
from sphunc.model.link_calibration import KINDS
from sphunc.model.paper import FittedPaper
from sphunc.model.paper.structure import prior_log_odds
from sphunc.model.structure import StructurePosterior

NO_STATES = "features show nothing that persists, so that there are no states to act on each other"
NO_MEETINGS = "nobody ever meets, so that there are no candidates"


def influence_graph(model: FittedModel | FittedPaper, agents: tuple[Hashable, ...]) -> InfluenceGraph:
    """Return candidate links with their probabilities, in the order of the training data's agents.

    Args:
        model: as fitted.
        agents: ids of the training data, in its order.
    """
    if isinstance(model, FittedPaper):
        links, probability, strength = model.influence()
        prior = prior_log_odds(links, len(agents)).sigmoid()
        return InfluenceGraph(
            links.cpu(),
            agents,
            probability.double().cpu(),
            strength.double().cpu(),
            torch.zeros_like(strength, dtype=torch.float64).cpu(),
            prior=prior.cpu(),
        )
    states = model.predictor.states
    if model.quick:
        raise ArgumentError(
            "no influence could be learned: quick=True fits covariates alone, without states and links between them; "
            "fit with quick=False"
        )
    if states is None:
        return _without_candidates(agents, NO_STATES)
    if states.links is None or states.structure is None:
        return _without_candidates(agents, NO_MEETINGS)
    links = states.links
    target, slot = links.is_candidate.nonzero(as_tuple=True)
    probability = links.probability[target, slot]
    given = probability.clamp(min=1e-12)
    strength = links.mean[target, slot] / given
    second = links.square[target, slot] / given
    deviation = (second - strength.square()).clamp(min=0).sqrt()
    order = torch.tensor(canonical_order(agents), device=target.device)
    source = links.source[target, slot]
    share = min(1.0, states.structure.prior.share)
    diagnostics = dict(states.structure.diagnostics)
    return InfluenceGraph(
        torch.stack([order[source], order[target]]).cpu(),
        agents,
        probability.cpu(),
        strength.cpu(),
        deviation.cpu(),
        prior=torch.full_like(probability, share).cpu(),
        structure_draws=_structure_draws(states.structure),
        calibrated=not diagnostics.keys().isdisjoint(KINDS),
        fit={
            "share": share,
            "size": states.structure.prior.size,
            "axes": states.axes.num_axes,
            "detectable": states.structure.detectable,
        },
        diagnostics=diagnostics,
        notes=_notes(order[(~links.is_candidate.any(1)).nonzero().flatten()].tolist(), agents),
    )


def _structure_draws(structure: StructurePosterior) -> Bool[Tensor, "sample link"] | None:
    """Sampled structures, True where a link exists, in the order of the candidates; None where none were kept."""
    draws = structure.draws
    if not len(draws):
        return None
    is_candidate = structure.links.is_candidate
    slots = structure.slots.expand(len(draws), -1, -1)
    exists = torch.zeros(len(draws), *is_candidate.shape, dtype=draws.dtype, device=draws.device)
    exists = exists.scatter(2, slots, (draws != 0).to(draws.dtype)) > 0
    return exists[:, is_candidate].cpu()


def _without_candidates(agents: tuple[Hashable, ...], note: str) -> InfluenceGraph:
    none = torch.zeros(0, dtype=torch.float64)
    return InfluenceGraph(torch.zeros(2, 0, dtype=torch.long), agents, none, none, none, calibrated=True, notes=(note,))


def _notes(lonely: Sequence[int], agents: tuple[Hashable, ...]) -> tuple[str, ...]:
    if not lonely:
        return ()
    names = some_names([agents[index] for index in lonely])
    return (f"{len(lonely)} agents have no candidates: no parents can be found for them, confidence 0 ({names})",)
