import torch

from sphunc.causal import estimation
from sphunc.causal.estimation import affordable, batches, estimate, hyper_parameters, spread_targets


def test_targets_alone_give_what_all_give(problem):
    hyper = hyper_parameters(problem, 1, 0.02)
    whole, part = estimate(problem, hyper), estimate(problem, hyper, targets=torch.tensor([2, 4]))
    mine = torch.isin(problem.candidates.links[1], torch.tensor([2, 4]))
    torch.testing.assert_close(part.probability[mine], whole.probability[mine])


def test_batches_cover_every_target(problem):
    assert sorted(torch.cat(list(batches(problem, problem.explained, 1))).tolist()) == list(range(6))
    assert spread_targets(problem, 3).tolist() == [0, 2, 5]


def test_targets_with_many_candidates_are_thinned_where_their_cube_counts(problem, monkeypatch):
    targets = problem.explained
    assert torch.equal(affordable(problem, targets, 1), targets)
    monkeypatch.setattr(estimation, "FEWEST_TARGETS", 2)
    cube = float(problem.candidates.counts[targets].double().pow(3).mean())
    monkeypatch.setattr(estimation, "POOLED_WORK", 3 * cube)
    assert affordable(problem, targets, 1).tolist() == targets[[0, 2, 5]].tolist()
    assert affordable(problem, targets, 2).tolist() == targets[[0, 5]].tolist()
    assert len(affordable(problem, targets[:0], 1)) == 0
