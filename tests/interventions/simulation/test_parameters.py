"""Structures as sparse matrices; draws of coefficients."""

from dataclasses import replace

import torch

from sphunc.interventions.simulation.origin import Origin
from sphunc.interventions.simulation.parameters import draw_coefficients, draw_parameters


def dense(parameters, structure, agents):
    matrix = torch.zeros(agents, agents)
    matrix[parameters.target, parameters.source] = parameters.strength[structure]
    return matrix


def test_structures_are_blocks_of_one_matrix(chain):
    origin = chain.past
    parameters = draw_parameters(origin, 3, 0, torch.float32)
    found = parameters.link_matrix(torch.tensor([2, 0]), 4).to_dense()
    expected = torch.zeros(8, 8)
    expected[:4, :4] = dense(parameters, 2, 4)
    expected[4:, 4:] = dense(parameters, 0, 4)
    assert torch.equal(found, expected)
    assert torch.equal(expected[1, 0], torch.tensor(0.4))


def test_links_are_scaled_by_their_position_among_the_candidates(chain):
    origin = chain.past
    parameters = draw_parameters(origin, 2, 0, torch.float32)
    factor = torch.ones(origin.candidates.shape[1])
    position = origin.candidates.T.tolist().index([1, 2])
    factor[position] = 0.0
    found = parameters.link_matrix(torch.tensor([0]), 4, factor).to_dense()
    assert float(found[2, 1]) == 0.0
    torch.testing.assert_close(float(found[1, 0]), 0.4, atol=1e-6, rtol=0)


def test_links_follow_their_agents_to_other_places(chain):
    place = torch.tensor([2, -1, 1, 0])  # a0 is absent from no place: learned agents 2, 1, 0 are now 0, 2, 3
    inputs = chain.inputs
    moved = replace(inputs, x=inputs.x[:, place], x_mask=inputs.x_mask[:, place])
    origin = Origin(chain.model, moved, 2, place)
    parameters = draw_parameters(origin, 2, 0, torch.float32)
    expected = torch.zeros(4, 4)
    expected[2, 3] = 0.4  # learned 0 -> 1
    expected[0, 2] = -0.3  # learned 1 -> 2
    torch.testing.assert_close(dense(parameters, 0, 4), expected)


def test_structures_are_spread_evenly_over_those_kept(chain):
    origin = chain.past
    states = origin.states
    draws = states.structure.draws * torch.arange(8).view(-1, 1, 1)
    model = replace(states, structure=replace(states.structure, draws=draws))
    origin.__dict__["fitted_states"] = model
    few = draw_parameters(origin, 2, 0, torch.float32)
    torch.testing.assert_close(few.strength[1, 0] / 7, torch.tensor(0.4))
    many = draw_parameters(origin, 17, 0, torch.float32)
    assert torch.equal(many.strength[16], many.strength[8])


def test_coefficients_have_the_moments_of_their_posterior(neighbours):
    base = neighbours.model.one_step.base
    columns = base.coefficients.shape[0]
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(2, columns, columns, generator=generator, dtype=torch.float64) / columns**0.5
    covariance = root @ root.mT + 0.1 * torch.eye(columns, dtype=torch.float64)
    drawn = draw_coefficients(replace(base, covariance=covariance), 40_000, generator)
    error = 6 / 40_000**0.5
    torch.testing.assert_close(drawn.mean(0), base.coefficients, atol=2 * error, rtol=0)
    for output in range(2):
        torch.testing.assert_close(torch.cov(drawn[..., output].T), covariance[output], atol=4 * error, rtol=0)


def test_coefficients_of_numbers_are_in_units_of_the_noise(chain):
    base = chain.model.one_step.base
    one = replace(base, covariance=torch.eye(len(base.coefficients), dtype=torch.float64).unsqueeze(0))
    wide = one.log_variance.clone()
    wide[-1] = 2.0
    narrow = draw_coefficients(one, 5, torch.Generator().manual_seed(0))
    broad = draw_coefficients(replace(one, log_variance=wide), 5, torch.Generator().manual_seed(0))
    torch.testing.assert_close(broad, narrow * torch.tensor(1.0, dtype=torch.float64).exp())
