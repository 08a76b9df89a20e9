import torch

from sphunc.causal.estimation import estimate, hyper_parameters
from sphunc.causal.replica import draw_replica, fit_mechanism


def test_a_replica_stays_on_the_sphere_and_resembles_the_data(problem):
    hyper = hyper_parameters(problem, 1, 0.02)
    result = estimate(problem, hyper)
    generator = torch.Generator().manual_seed(0)
    mechanism = fit_mechanism(problem, hyper, result.probability * result.strength, result.lag, generator)
    replica = draw_replica(problem, mechanism, 0.0, generator)
    raw = replica.panel.values @ torch.linalg.pinv(problem.panel.root) + problem.panel.centre
    torch.testing.assert_close(raw.norm(dim=-1), torch.ones(6, 8, dtype=torch.double))
    torch.testing.assert_close(replica.panel.values[:, 0], problem.panel.values[:, 0])
    steps = [(p.values[:, 1:] - p.values[:, :-1]).square().mean() for p in (replica.panel, problem.panel)]
    assert 0.7 < float(steps[0] / steps[1]) < 1.4
