"""What forecasts of numbers leave open: counted by what is known, raised by the total uncertainty; of newcomers all."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.hypergraph import TemporalHypergraph, scramble_future
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.network import Network
from sphunc.legacy.numbers import (
    EVERYBODY,
    NEVER,
    OLDEST,
    Numbers,
    Past,
    among_everybody,
    in_groups,
    never_falling,
    past_of,
    regression,
    residual_variances,
    units,
)
from sphunc.legacy.observed import observe
from sphunc.nn.outcome import Temperature

NO_LINKS, NO_GATES = torch.zeros(2, 0, dtype=torch.long), torch.zeros(0)
STARTS = {"new": (False, NEVER), "seen": (True, NEVER), "fresh": (True, 0), "old": (True, 2), "older": (True, 9)}


def numbers(outputs: int = 1) -> Numbers:
    law = Numbers(outputs)
    law.spread.copy_(torch.tensor([[1.5], [0.8]]).expand(2, outputs))
    law.level.copy_(torch.tensor([[0.7], [-0.2]]).expand(2, outputs))
    law.excess = torch.tensor([[0.0], [0.1], [0.3]]).repeat(1, outputs)
    law.is_split.fill_(True)
    return law


def past(outputs: int = 1) -> Past:
    seen, age = (torch.tensor([column]) for column in zip(*STARTS.values(), strict=True))
    expected = torch.where((age >= 0).unsqueeze(-1), 0.5, 0.0).repeat(1, 1, outputs)
    return Past(expected, age, seen)


def law_of(total: float, noise: float = 0.05, outputs: int = 1, **settings):
    row = torch.full((1, len(STARTS)), 1.0)
    read = torch.zeros(1, len(STARTS), outputs)
    return numbers(outputs)(read, noise * row, past(outputs), total * row, Temperature(), **settings)


def levels(agents: int, times: int, newcomers: int, seed: int = 0, noise: float = 0.1):
    """A panel in which every agent keeps a level of its own; the last ones are first seen at the last time."""
    draws = torch.Generator().manual_seed(seed)
    world = sphunc.simulate("snare", agents=agents, times=times, seed=seed).data
    y = torch.randn(agents, 1, generator=draws) + noise * torch.randn(times, agents, 1, generator=draws)
    new = torch.arange(agents) >= agents - newcomers
    y_mask, x_mask = world.y_mask.clone(), world.x_mask.clone()
    y_mask[:-1, new] = x_mask[:-1, new] = False
    agent, group = world.hyperedge_index
    keep = ~(new[agent] & (world.hyperedge_time[group] < times - 1))
    data = replace(
        world,
        x=torch.where(x_mask, world.x, 0.0),
        x_mask=x_mask,
        y=torch.where(y_mask.unsqueeze(-1), y, 0.0),
        y_mask=y_mask,
        class_names=(),
        outcome_names=("u",),
        hyperedge_index=world.hyperedge_index[:, keep],
    )
    return data, y, new


def network_of(data: TemporalHypergraph, **settings) -> Network:
    assert data.y is not None
    config, outputs = SphUncConfig(**{"dim": 16, **settings}), data.y.shape[-1]
    generator = torch.Generator().manual_seed(0)
    return Network(config, data.num_features, outputs, numeric=True, generator=generator).eval()


def test_newcomers_are_forecast_with_the_spread_of_outcomes_and_covered():
    data, y, new = levels(120, 8, 20)
    model = sphunc.SphUnc(dim=16, epochs=15, seed=0).fit(data.until_index(6), verbose=False)
    forecast = model.predict(data, origin=6, coverage=0.9)
    hit = (y[7] >= forecast.interval[..., 0]) & (y[7] <= forecast.interval[..., 1])
    deviation = forecast.variance.sqrt()
    assert deviation[new].mean() > 3 * deviation[~new].mean()
    assert hit[new].float().mean() > 0.75
    assert hit[~new].float().mean() > 0.75
    torch.testing.assert_close(deviation[new].mean().float(), y[:7, ~new].std(), rtol=0.15, atol=0.0)
    assert (forecast.mean[new] == forecast.mean[new][0]).all()
    assert forecast.aleatoric[new].mean() < 0.2 * forecast.variance[new].mean()


def test_each_kind_of_past_leaves_open_what_was_counted():
    share = torch.sigmoid(torch.tensor(3.0))
    law = law_of(0.5, noise=0.05)
    left = dict(zip(STARTS, law.left_open.flatten().tolist(), strict=True))
    wanted = {"new": 1.45, "seen": share * 0.75, "fresh": 0.0, "old": share * 0.3, "older": share * 0.3}
    assert left == pytest.approx({k: float(v) for k, v in wanted.items()}, abs=1e-6)
    torch.testing.assert_close(law.variance, 0.05 + law.left_open)
    assert law.mean.flatten().tolist() == pytest.approx([0.7, -0.2, 0.5, 0.5, 0.5])


@pytest.mark.parametrize("noise", [1e-4, 0.05, 0.5, 0.9, 3.0])
def test_variance_rises_with_the_total_and_with_the_noise(noise: float):
    steps = torch.linspace(0.01, 0.99, 15).tolist()
    by_total = torch.cat([law_of(total, noise).variance for total in steps])
    by_noise = torch.cat([law_of(0.6, noise * (1 + step)).variance for step in steps])
    for rising in (by_total, by_noise):
        assert (rising.diff(dim=0) >= -1e-7).all()
    assert (by_total.diff(dim=0)[:, 1:] > 0).all()  # of newcomers all is open already, until noise is even more
    assert (by_total[-1, 2] / by_total[0, 2]).sqrt() > 1.15


def test_total_of_a_trained_network_raises_the_deviations_of_known_agents(monkeypatch):
    data, _, new = levels(40, 6, 5)
    network = network_of(data)
    network.learn_scale(observe(data))
    seen, totals = observe(data), (0.05, 0.5, 0.95)
    spread = []
    for total in totals:
        monkeypatch.setattr(network.fusion, "forward", lambda a, _, total=total: torch.full_like(a, total))
        spread.append(network(seen, NO_LINKS, NO_GATES).variance[-2, ~new])
    assert (spread[1] > spread[0]).all()
    assert (spread[2] > spread[1]).all()


def test_only_aleatoric_leaves_nothing_open():
    law = law_of(0.5, is_open=False)
    assert not law.left_open.any()
    data, _, _ = levels(30, 5, 4)
    network = network_of(data, uncertainty="aleatoric")
    network.learn_scale(observe(data))
    assert not network(observe(data), NO_LINKS, NO_GATES).left_open.any()


def test_without_outcomes_to_follow_on_only_newcomers_are_left_open():
    data, _, new = levels(30, 5, 4)
    network = network_of(data, outcome_evidence=False)
    network.learn_scale(observe(data))
    left = network(observe(data), NO_LINKS, NO_GATES).left_open[-2]
    assert (left[new] > 0.5).all()
    assert not left[~new].any()


def test_spreads_are_those_of_agents_of_whom_as_little_was_known():
    data, _, new = levels(40, 6, 10)
    z = torch.where((new & data.y_mask).unsqueeze(-1), 2.0 + data.y, data.y)
    network = network_of(data)
    network.learn_scale(observe(replace(data, y=z)))
    assert network.numbers is not None
    late = ((z[-1] - network.centre) / network.scale)[new & data.y_mask[-1]]
    mean = late.sum(0) / (len(late) + EVERYBODY)
    torch.testing.assert_close(network.numbers.level[0], mean)
    second = (late.square().sum(0) + EVERYBODY) / (len(late) + EVERYBODY)
    torch.testing.assert_close(network.numbers.spread[0], second - mean.square())


def test_few_are_taken_to_be_like_everybody():
    mean, variance = among_everybody(torch.zeros(0, 2))
    assert (mean.tolist(), variance.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    mean, variance = among_everybody(torch.full((100_000, 1), 3.0))
    assert float(mean) == pytest.approx(3.0, abs=1e-3)
    assert 0.0 < float(variance) < 0.01


def test_an_older_outcome_leaves_more_open():
    draws = torch.Generator().manual_seed(0)
    walk = torch.randn(9, 400, 1, generator=draws).cumsum(0)
    known = torch.ones(9, 400, dtype=torch.bool)
    left, pairs = residual_variances(walk, known, torch.ones(1), 2)
    left = left.flatten()
    assert pairs.tolist() == [2800.0, *(400.0 * (7 - age) + EVERYBODY for age in range(1, 7))]
    assert left.tolist() == pytest.approx([2, 3, 4, 5, 6, 7, 8], rel=0.25)
    ever = torch.ones(80, 2, dtype=torch.bool)
    assert len(residual_variances(torch.zeros(80, 2, 1), ever, torch.ones(1), 1)[0]) == OLDEST
    law = Numbers(1)
    law.learn(walk, Past(walk, torch.zeros(9, 400, dtype=torch.long), known), known, 2)
    assert law.excess[0] == 0.0
    assert (law.excess.diff(dim=0) >= 0).all()
    law.learn(walk / 4, Past(walk, torch.zeros(9, 400, dtype=torch.long), known), known, 2)
    assert float(law.excess[1]) > 0.02
    assert float(law.excess[-1]) <= 1.0


def test_what_differs_by_chance_comes_out_equal():
    values = torch.tensor([[2.0, 1.0], [1.0, 2.0], [3.0, 3.0]])
    fitted = never_falling(values, torch.tensor([3.0, 1.0, 1.0]))
    assert fitted[:, 0].tolist() == pytest.approx([1.75, 1.75, 3.0])
    assert torch.equal(fitted[:, 1], values[:, 1])


def test_regression_is_that_of_known_pairs():
    z = torch.tensor([[[1.0], [2.0], [9.0]], [[2.0], [3.0], [9.0]]])
    known = torch.tensor([[True, True, False], [True, True, True]])
    assert regression(z, known, 1).tolist() == pytest.approx([(1 * 2 + 2 * 3) / (1 + 4)])


def test_age_and_sight_are_counted_up_to_each_time():
    data, _, new = levels(30, 5, 4)
    y_mask = data.y_mask.clone()
    y_mask[:, 0] = torch.tensor([False, True, False, False, True])
    y = torch.where(y_mask.unsqueeze(-1), data.y, 0.0)
    seen = observe(replace(data, y=y, y_mask=y_mask))
    known = past_of(seen, seen.y, outcomes=True)
    assert known.age[:, 0].tolist() == [NEVER, 0, 1, 2, 0]
    assert not known.seen[:-1, new].any()
    assert (past_of(seen, seen.y, outcomes=False).age == NEVER).all()
    company = torch.zeros_like(seen.present)
    for agent, group in data.hyperedge_index.T.tolist():
        company[data.hyperedge_time[group], agent] = True
    assert torch.equal(in_groups(seen), company)


def test_nothing_after_an_origin_moves_what_it_leaves_open():
    data, _, _ = levels(30, 6, 6)
    network = network_of(data)
    network.learn_scale(observe(data.until_index(2)))
    here, there = (network(observe(d), NO_LINKS, NO_GATES) for d in (data, scramble_future(data, 2, seed=3)))
    torch.testing.assert_close(here.variance[:3], there.variance[:3])
    torch.testing.assert_close(here.mean[:3], there.mean[:3])


def test_further_steps_leave_more_open_and_the_last_is_the_forecast():
    data, _, new = levels(40, 7, 5, noise=0.5)
    walk = torch.randn(*data.y.shape, generator=torch.Generator().manual_seed(1)).cumsum(0)
    data = replace(data, y=torch.where(data.y_mask.unsqueeze(-1), walk, 0.0)).until_index(5)
    network = network_of(data, horizon=2)
    network.learn_scale(observe(data))
    steps = network.origin(observe(data), NO_LINKS, NO_GATES, 4).run
    plain = network(observe(data), NO_LINKS, NO_GATES)
    torch.testing.assert_close(steps.variance[1], plain.variance[-1])
    torch.testing.assert_close(steps.mean[1], plain.mean[-1])
    left = steps.left_open[:, ~new & data.y_mask[-1]]
    assert not left[:2].any()
    assert (left[2] > 0).all()
    assert (left[3] >= left[2] * (1 - 1e-3)).all()


def test_every_number_leaves_open_its_own():
    data, y, new = levels(40, 6, 5)
    both = torch.cat([y, torch.randn(y.shape, generator=torch.Generator().manual_seed(2))], -1)
    data = replace(data, y=torch.where(data.y_mask.unsqueeze(-1), both, 0.0), outcome_names=("u", "v"))
    network = network_of(data)
    network.learn_scale(observe(data))
    deviation = network(observe(data), NO_LINKS, NO_GATES).variance[-2].sqrt()
    assert (deviation[new] > 0.7).all()
    assert (deviation[~new & data.y_mask[-2]][:, 0] < 0.4).all()
    assert (deviation[~new & data.y_mask[-2]][:, 1] > 0.6).all()


@pytest.mark.parametrize("value", [0.0, 100.1, -3e-20])
def test_a_constant_has_its_own_mean_and_a_spread_of_rounding(value: float):
    centre, scale = units(torch.full((7, 1), value))
    assert float(centre.float()) == float(torch.tensor(value))
    assert 0 < float(scale) <= 2e-7 * (abs(value) or 1.0)


@pytest.mark.parametrize(("times", "horizon"), [(1, 1), (2, 3), (2, 1)])
def test_panels_too_short_to_count_leave_the_marginal_open(times: int, horizon: int):
    data, _, _ = levels(12, 2, 0)
    data = data.window(0, times)
    network = network_of(data, horizon=horizon)
    network.learn_scale(observe(data))
    assert network.numbers is not None
    assert torch.equal(network.numbers.spread[0], torch.ones(1))
    assert network(observe(data), NO_LINKS, NO_GATES).variance.isfinite().all()
