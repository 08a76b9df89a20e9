"""What is believed at the origin, and the directions that are named."""

from dataclasses import replace

import torch

from sphunc.model.uncertainty import Temperature


def test_features_that_show_states_exactly_are_believed(chain):
    origin = chain.past
    torch.testing.assert_close(origin.belief.mean[origin.belief_time], chain.inputs.x[-1], atol=1e-4, rtol=0)
    squares = chain.inputs.x.square().mean()
    torch.testing.assert_close(float(origin.state_covariance), float(squares), atol=1e-3, rtol=0)


def test_a_typical_state_has_length_one(build):
    generator = torch.Generator().manual_seed(0)
    stretched = torch.randn(5, 40, 3, generator=generator) * torch.tensor([3.0, 1.0, 0.2])
    inputs = build.panel(stretched, torch.zeros(5, 40, dtype=torch.long), [[]], 2)
    states = build.state_model(inputs, {}, torch.randn(2, 3), numeric=False, noise=1.0)
    origin = build.system(inputs, build.regression(inputs), states).past
    length = torch.einsum("tnk,kl,tnl->tn", inputs.x, origin.state_metric, inputs.x)
    torch.testing.assert_close(float(length.mean()), 1.0, atol=1e-3, rtol=0)


def test_a_class_has_the_direction_in_which_its_readout_gains_most(build):
    inputs = build.panel(torch.randn(3, 4, 2), torch.zeros(3, 4, dtype=torch.long), [[]], 3)
    weight = [[2.0, 0.0], [0.0, 1.0], [-2.0, -1.0]]
    states = build.state_model(inputs, {}, weight, numeric=False)
    origin = build.system(inputs, build.regression(inputs), states).past
    found = origin.direction("class", 1, 0).double()
    on_ellipsoid = torch.randn(20_000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    on_ellipsoid = torch.cat([on_ellipsoid, found.unsqueeze(0)])
    length = ((on_ellipsoid @ origin.state_metric) * on_ellipsoid).sum(-1, keepdim=True).sqrt()
    preference = (on_ellipsoid / length) @ torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert int(preference.argmax()) == 20_000
    agent = torch.nn.functional.normalize(inputs.x[-1, 2], dim=0).float()
    torch.testing.assert_close(origin.direction("agent", 2, 0), agent, atol=1e-3, rtol=0)
    earlier = torch.nn.functional.normalize(inputs.x[0, 1], dim=0).float()
    torch.testing.assert_close(origin.direction("time", 0, 1), earlier, atol=1e-3, rtol=0)


def test_states_without_weight_are_not_there(chain):
    silent = replace(chain, model=replace(chain.model, weight=0.0)).past
    assert silent.states is None
    assert silent.belief is None
    assert silent.candidates.shape == (2, 2)
    assert silent.active_links.shape == (2, 0)
    assert silent.direction("agent", 0, 0).tolist() == [0.0]
    assert not bool(silent.confidence.any())


def test_links_that_are_certain_are_identified(chain):
    confidence = chain.past.confidence
    torch.testing.assert_close(confidence, torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=torch.float64))


def test_after_the_last_time_its_groups_stay(neighbours):
    origin = neighbours.past
    assert origin.groups(5) is neighbours.inputs.groups[-1]


def test_groups_are_found_by_their_ids_at_later_times(build):
    inputs = build.panel(torch.zeros(3, 4, 1), torch.zeros(3, 4, dtype=torch.long), [[[0, 1]], [[0, 1]], [[2, 3]]], 2)
    system = build.system(inputs, build.regression(inputs), origin=0)
    system = replace(system, group_ids=(("x", "y"), ("y", "z", "x"), ("z",)))
    origin = system.observed_future
    assert origin.positions_at(0, torch.tensor([0])).tolist() == [0]
    assert origin.positions_at(1, torch.tensor([0])).tolist() == [2]
    assert origin.positions_at(2, torch.tensor([0])).tolist() == []


def test_a_model_that_tempers_has_temperatures(neighbours):
    assert neighbours.past.temperature.tolist() == [1.0] * 6
    hot = replace(neighbours.model, temperature=Temperature(level=0.5))
    found = replace(neighbours, model=hot).past.temperature
    torch.testing.assert_close(found, torch.full((6,), 0.5, dtype=torch.float64).exp())


def test_one_step_is_forecast_whatever_the_horizon(neighbours):
    far = replace(neighbours.model, predictor=replace(neighbours.model.predictor, horizon=3))
    forecasts = replace(neighbours, model=far).past.forecasts
    assert sorted(forecasts) == [1, 3]
