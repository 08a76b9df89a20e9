import torch

from sphunc.discovery.candidates import all_pairs, candidate_links
from sphunc.discovery.checks.decoys import against_decoys, decoy_kind, draw_decoys
from sphunc.discovery.posterior.estimate import Problem, fit_settings
from sphunc.discovery.regression.panel import build_panel


def uniform(count: int, seed: int) -> torch.Tensor:
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def test_candidates_that_look_like_decoys_fall_to_the_prior():
    lowered = against_decoys(uniform(2000, 0), uniform(4000, 1), 0.02)
    assert float(lowered.max()) < 0.3
    assert float((lowered > 0.021).double().mean()) < 0.05


def test_candidates_above_all_decoys_stay_and_order_is_kept():
    raw = torch.cat([0.1 * uniform(1000, 0), 0.9 + 0.1 * uniform(100, 1)])
    lowered = against_decoys(raw, 0.1 * uniform(4000, 2), 0.02)
    assert float(lowered[1000:].min()) > 0.85
    assert bool((lowered <= raw).all())
    order = torch.argsort(raw)
    assert bool((lowered[order].diff() >= 0).all())


def test_a_few_lucky_candidates_are_not_believed():
    raw = torch.cat([0.5 * uniform(1000, 0), torch.tensor([0.97, 0.98], dtype=torch.double)])
    assert float(against_decoys(raw, 0.5 * uniform(1000, 1), 0.02).max()) < 0.5


def test_nothing_happens_without_decoys():
    raw = uniform(10, 0)
    assert torch.equal(against_decoys(raw, raw[:0], 0.1), raw)


def test_kind_follows_the_candidates(ring, neighbours):
    present = torch.ones(20, 30, dtype=torch.bool)
    for states, pairs, kind in (
        (ring, neighbours, "agents"),
        (ring, all_pairs(30), "innovations"),
        (ring[..., :1], all_pairs(30), "innovations"),
    ):
        links = candidate_links(pairs, range(30))
        problem = Problem(build_panel(states, present, links.links, None, replicates=False), links)
        assert decoy_kind(problem, problem.explained) == kind
        assert len(draw_decoys(problem, fit_settings(problem), 0)) > 0


def test_decoys_of_planted_links_are_improbable(ring, neighbours):
    links = candidate_links(neighbours, range(30))
    present = torch.ones(20, 30, dtype=torch.bool)
    problem = Problem(build_panel(ring, present, links.links, None, replicates=False), links)
    settings = fit_settings(problem)
    decoys = draw_decoys(problem, settings, 0)
    assert len(decoys) > 100
    assert float((decoys > 0.9).double().mean()) < 0.05
