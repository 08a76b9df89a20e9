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


def test_coefficients_before_the_noise_look_as_observed_through_it(problem):
    hyper = hyper_parameters(problem, 1, 0.02)
    result = estimate(problem, hyper)
    source, target = problem.candidates.links
    is_link = target - source == 1
    drawn = torch.where(is_link, result.strength, torch.zeros_like(result.strength))

    def fit(blur):
        generator = torch.Generator().manual_seed(0)
        return fit_mechanism(problem, hyper, drawn, result.lag, generator, is_link=is_link, blur=blur)

    plain, sharp = fit(0.0), fit(0.6)
    torch.testing.assert_close(plain.coefficient, drawn.to(plain.coefficient))
    assert bool((sharp.coefficient[is_link].abs() > 1.05 * drawn[is_link].abs()).all())
    assert not bool(sharp.coefficient[~is_link].any())
    assert bool((sharp.noise[1:] < plain.noise[1:]).all())
