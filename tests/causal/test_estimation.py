import torch

from sphunc.causal.estimation import batches, estimate, hyper_parameters, spread_targets


def test_targets_alone_give_what_all_give(problem):
    hyper = hyper_parameters(problem, 1, 0.02)
    whole, part = estimate(problem, hyper), estimate(problem, hyper, targets=torch.tensor([2, 4]))
    mine = torch.isin(problem.candidates.links[1], torch.tensor([2, 4]))
    torch.testing.assert_close(part.probability[mine], whole.probability[mine])


def test_batches_cover_every_target(problem):
    assert sorted(torch.cat(list(batches(problem, problem.explained, 1))).tolist()) == list(range(6))
    assert spread_targets(problem, 3).tolist() == [0, 2, 5]
