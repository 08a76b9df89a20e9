"""The network as a whole: no leak, no order of agents, every ablation, every kind of outcome."""

from dataclasses import replace

import pytest
import torch

from sphunc.hypergraph import TemporalHypergraph, scramble_future
from sphunc.legacy.beginning import INITIAL_READOUT
from sphunc.legacy.config import ABLATIONS, SphUncConfig
from sphunc.legacy.network import Network
from sphunc.legacy.objective import causal_loss
from sphunc.legacy.observed import observe
from sphunc.legacy.opening import NEWCOMERS
from sphunc.legacy.run import Run
from sphunc.legacy.signal import outcome_directions
from sphunc.legacy.step import LASTING
from sphunc.legacy.targets import targets_of
from sphunc.nn.aleatoric import squashed_variance
from sphunc.nn.concentration import HIGHEST, LOWEST, cap
from sphunc.worlds import simulate

DIM = 16
LINKS, GATES = torch.tensor([[0, 1, 5], [2, 3, 0]]), torch.tensor([0.4, -0.3, 0.2])


def world() -> TemporalHypergraph:
    return simulate("snare", seed=0, agents=30, times=5, groups=40).data


def make(data: TemporalHypergraph, **settings) -> Network:
    config = SphUncConfig(**{"dim": DIM, **settings})
    numeric = not data.class_names
    outputs = data.y.shape[-1] if numeric else data.num_classes
    network = Network(config, data.num_features, outputs, numeric=numeric, generator=torch.Generator().manual_seed(0))
    network.learn_scale(observe(data))
    with torch.no_grad():
        network.readout.weight.normal_(generator=torch.Generator().manual_seed(1))
    return network.eval()


def outputs(run: Run) -> list[torch.Tensor]:
    return [v for v in (run.log_probabilities, run.mean, run.variance, run.kappa, run.total) if v is not None]


@pytest.mark.parametrize("name", [None, *ABLATIONS])
def test_nothing_after_an_origin_moves_its_forecast(name: str | None) -> None:
    data = world()
    network = make(data, **({} if name is None else ABLATIONS[name]))
    other = scramble_future(data, 2, seed=3)
    here = network(observe(data), LINKS, GATES)
    there = network(observe(other), LINKS, GATES)
    for a, b in zip(outputs(here), outputs(there), strict=True):
        torch.testing.assert_close(a[:3], b[:3])
    assert here.log_probabilities is not None
    assert there.log_probabilities is not None
    assert not torch.allclose(here.log_probabilities[3:], there.log_probabilities[3:])


def test_shorter_past_gives_the_same_forecasts() -> None:
    data = world()
    network = make(data)
    whole, part = network(observe(data), LINKS, GATES), network(observe(data, upto=3), LINKS, GATES)
    for a, b in zip(outputs(whole), outputs(part), strict=True):
        torch.testing.assert_close(a[:3], b, atol=1e-5, rtol=1e-4)


def shuffled(data: TemporalHypergraph, order: torch.Tensor) -> TemporalHypergraph:
    assert data.y is not None
    place = torch.argsort(order)
    nodes, edges = place[data.hyperedge_index[0]], data.hyperedge_index[1]
    by_group = torch.argsort(edges * data.num_nodes + nodes)
    return replace(
        data,
        x=data.x[:, order],
        x_mask=data.x_mask[:, order],
        y=data.y[:, order],
        y_mask=data.y_mask[:, order],
        node_ids=tuple(data.node_ids[i] for i in order.tolist()),
        hyperedge_index=torch.stack([nodes, edges])[:, by_group],
        influence=None,
        influence_kind="",
    )


def test_order_of_agents_does_not_matter() -> None:
    data = world()
    network = make(data)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(5))
    moved, links = shuffled(data, order), torch.argsort(order)[LINKS]
    here, there = network(observe(data), LINKS, GATES), network(observe(moved), links, GATES)
    for a, b in zip(outputs(here), outputs(there), strict=True):
        torch.testing.assert_close(a[:, order], b, atol=1e-4, rtol=1e-4)
    lasting = [network.origin(observe(one), to, GATES, 1).lasting for one, to in ((data, LINKS), (moved, links))]
    torch.testing.assert_close(lasting[0][order], lasting[1], atol=1e-4, rtol=1e-4)


def unseen(data: TemporalHypergraph, times: slice, agent: int) -> TemporalHypergraph:
    """The data without features and outcomes of an agent, who still meets others."""
    assert data.y is not None
    x_mask, y_mask = data.x_mask.clone(), data.y_mask.clone()
    x_mask[times, agent], y_mask[times, agent] = False, False
    x, y = torch.where(x_mask, data.x, 0.0), torch.where(y_mask, data.y, 0)
    return replace(data, x=x, x_mask=x_mask, y=y, y_mask=y_mask)


def gappy() -> TemporalHypergraph:
    """Agent 7 is never seen, 2 from time 2 on, 5 not at times 1 to 3."""
    data = unseen(unseen(world(), slice(None), 7), slice(0, 2), 2)
    return unseen(data, slice(1, 4), 5)


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_beliefs_and_persistent_prior_equal_a_plain_loop(geometry: str) -> None:
    data = gappy()
    network = make(data, geometry=geometry)
    step, seen = network.step, observe(data)
    with torch.no_grad():
        origin = network.origin(seen, LINKS, GATES, 1)
        u, n = torch.zeros(30, DIM), [0] * 30
        prior = torch.zeros(30, DIM)
        for time in range(5):
            eta = prior + origin.evidence[time]
            torch.testing.assert_close(origin.eta[time], eta, atol=1e-4, rtol=1e-4)
            m, expected = step.mean(eta), step.mean(prior)
            for i in range(30):
                if not origin.evidence[time, i].any():
                    continue
                moved = u[i] + LASTING["pace"] / (LASTING["patience"] + n[i]) * (m[i] - expected[i])
                u[i] = moved if n[i] else LASTING["first"] * m[i]
                n[i] += 1
            prior = step.strength * step(eta, u, seen.pull[time], LINKS, GATES)
    assert [n[i] for i in (0, 2, 5, 7)] == [5, 3, 2, 0]
    torch.testing.assert_close(origin.lasting, u, atol=1e-4, rtol=1e-4)


def test_agent_never_seen_is_moved_by_others_but_has_no_prior_of_its_own() -> None:
    data = gappy()
    network = make(data)
    origin = network.origin(observe(data), LINKS, GATES, 1)
    assert torch.equal(origin.lasting[7], torch.zeros(DIM))
    assert origin.eta[-1, 7].norm() > 0


def test_an_agent_that_nobody_saw_lately_keeps_its_prior() -> None:
    data = world()
    network = make(data)
    away = unseen(data, slice(3, 5), 5)
    before, after = (network.origin(observe(away, upto=upto), LINKS, GATES, 1).lasting for upto in (3, 5))
    torch.testing.assert_close(after[5], before[5])
    assert not torch.allclose(after[6], before[6])


@pytest.mark.parametrize("numeric", [False, True])
def test_outcomes_begin_where_their_agents_point(numeric: bool) -> None:
    data = world()
    assert data.y is not None
    if numeric:
        data = replace(data, y=data.y.float().unsqueeze(-1) * 3 + 50, class_names=())
    seen = observe(data)
    config = SphUncConfig(dim=DIM, initial_projection="signal")
    network = Network(
        config, data.num_features, 1 if numeric else 3, numeric=numeric, generator=torch.Generator().manual_seed(0)
    )
    network.learn_scale(seen)
    centre = seen.y[seen.y_mask].mean(0) if numeric else torch.zeros(3)
    expected = outcome_directions(network.latents(seen), seen.y, seen.y_mask, centre)
    torch.testing.assert_close(network.evidence.outcome_directions.detach(), expected)
    read = torch.zeros_like(expected) if numeric else INITIAL_READOUT * expected / network.readout.scale
    torch.testing.assert_close(network.readout.weight.detach(), read)


def test_classes_begin_as_frequent_as_they_are() -> None:
    data = world()
    assert data.y is not None
    rare = torch.rand(data.y.shape, generator=torch.Generator().manual_seed(0))
    data = replace(data, y=(rare > 0.9).long() + (rare > 0.97).long())
    network = make(data)
    first, later = (torch.bincount(data.y[part][data.y_mask[part]], minlength=3) for part in (slice(1), slice(1, None)))
    readout = network.readout
    torch.testing.assert_close(network.frequency, later / later.sum(), atol=0.02, rtol=0)
    torch.testing.assert_close((readout.bias + readout.lean).softmax(-1), network.frequency)
    among_first = (first + NEWCOMERS * network.frequency) / (first.sum() + NEWCOMERS)
    torch.testing.assert_close(readout.bias.softmax(-1), among_first)
    assert not readout.bias.requires_grad
    assert readout.lean not in network.matrices()


def test_of_whom_nothing_is_known_classes_are_as_frequent_as_among_newcomers() -> None:
    data = world()
    seen = replace(observe(data), pull=(None,) * data.num_times)
    x_mask, y_mask = seen.x_mask.clone(), seen.y_mask.clone()
    x_mask[:, 3] = y_mask[:, 3] = False
    links, gates = torch.tensor([[0, 1], [1, 2]]), torch.tensor([0.4, 0.2])
    network = make(data)
    with torch.no_grad():
        network.readout.lean.fill_(5.0)
        network.aleatoric.out_bias.fill_(-30.0)
    run = network(replace(seen, x_mask=x_mask, y_mask=y_mask), links, gates)
    assert run.log_probabilities is not None
    tau = network.temperature(run.total[:, 3]).unsqueeze(1)
    torch.testing.assert_close(run.log_probabilities[:, 3], (network.readout.bias / tau).log_softmax(-1))
    among_newcomers = network.readout.bias.softmax(-1).expand(5, -1)
    torch.testing.assert_close(run.log_probabilities[:, 3].exp(), among_newcomers, atol=0.01, rtol=0)


def test_a_readout_opens_where_outcomes_are_likeliest() -> None:
    data = world()
    network, seen, targets = make(data), observe(data), targets_of(data, 1)
    network.learn_scale(seen)

    @torch.no_grad()
    def surprise() -> float:
        run = network(seen, LINKS, GATES)
        assert run.log_probabilities is not None
        return -float(run.log_probabilities[targets.mask].gather(1, targets.outcome[targets.mask].unsqueeze(1)).sum())

    with torch.no_grad():
        network.readout.weight.mul_(0.2)  # far too faint
    bias, before = network.readout.bias.clone(), surprise()
    network.open_reading(seen, LINKS, GATES, targets)
    opened = surprise()
    assert opened < before - 1
    assert torch.equal(network.readout.bias, bias)
    for factor in (1.05, 1 / 1.05**2):  # larger than it opened with, then smaller
        with torch.no_grad():
            network.readout.weight.mul_(factor)
        assert surprise() > opened - 0.2  # the prior may hold it back by so little


def test_states_open_as_sure_as_the_next_sights_of_agents_allow() -> None:
    data = world()
    network, seen = make(data), observe(data)
    network.learn_scale(seen)
    network.open_reading(seen, LINKS, GATES, targets_of(data, 1))

    @torch.no_grad()
    def surprise(factor: float) -> float:
        run = network(seen, LINKS, GATES)
        length = (run.ahead_strength - 1.0) / network.step.log_sureness.exp()  # far from its cap in so small a world
        kappa = cap(factor * network.step.sureness * length)
        return float(causal_loss(replace(run, ahead_strength=kappa), seen, DIM))

    found = surprise(1.0)
    assert found < surprise(0.8)
    assert found < surprise(1.25)


def test_the_concentration_head_learns_from_how_far_states_really_move() -> None:
    data = world()
    network, seen = make(data, kappa_from="direction"), observe(data)
    assert network.head is not None
    run = network(seen, LINKS, GATES)
    assert torch.equal(run.ahead_strength, run.kappa)  # without support, what the forecast reads is what is judged
    before = causal_loss(run, seen, DIM)
    before.backward()
    assert network.head.out_bias.grad is not None
    assert network.step.log_sureness.grad is None
    with torch.no_grad():
        network.head.out_bias -= 0.1 * network.head.out_bias.grad.sign()
    assert causal_loss(network(seen, LINKS, GATES), seen, DIM) < before


def opened(**settings: str) -> tuple[Network, set[str]]:
    """A network, and what an opening changes in it."""
    data = world()
    network = make(data, **settings)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.open_reading(observe(data), LINKS, GATES, targets_of(data, 1))
    return network, {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}


def test_a_readout_that_begins_at_random_is_left_as_it_is() -> None:
    network, changed = opened(initial_projection="gaussian")
    assert changed <= {"step.sureness"}
    assert network.readout.bias.requires_grad


def test_a_readout_without_lean_opens_with_its_offset() -> None:
    network, changed = opened(geometry="euclidean")
    assert {"readout.weight", "readout.bias", "aleatoric.out_bias"} <= changed
    assert network.readout.bias.requires_grad
    assert not network.readout.lean.any()


def test_prepared_features_change_no_forecast() -> None:
    data = world()
    network, seen = make(data), observe(data)
    assert not seen.x_mask.all()
    ready = network.prepare(seen)
    assert ready.standard is not None
    for one, other in zip(*(outputs(network(o, LINKS, GATES)) for o in (ready, seen)), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(network.latents(ready), network.latents(seen))


def test_numbers_begin_at_the_regression_on_the_last_one_seen() -> None:
    data = world()
    numbers = torch.randn(data.num_times, data.num_nodes, 1, generator=torch.Generator().manual_seed(1)).cumsum(0)
    seen = observe(replace(data, y=numbers, class_names=()))
    network = Network(
        SphUncConfig(dim=DIM), data.num_features, 1, numeric=True, generator=torch.Generator().manual_seed(0)
    )
    network.learn_scale(seen)
    network.eval()
    z = (numbers - network.centre) / network.scale
    both = seen.y_mask[:-1] & seen.y_mask[1:]
    slope = (z[:-1][both] * z[1:][both]).sum() / z[:-1][both].square().sum()
    run = network(seen, LINKS, GATES)
    assert run.mean is not None
    last = torch.where(seen.y_mask[0].unsqueeze(-1), z[0], 0.0)
    torch.testing.assert_close(run.mean[0].detach(), network.centre + network.scale * slope * last)


def test_every_number_begins_with_its_own_noise() -> None:
    data, draws = world(), torch.Generator().manual_seed(1)
    lasting = torch.randn(1, data.num_nodes, 1, generator=draws).expand(data.num_times, -1, -1)
    shape = data.num_times, data.num_nodes, 1
    sure = lasting + 0.02 * torch.randn(shape, generator=draws)
    seen = observe(replace(data, y=torch.cat([sure, 7.0 * torch.randn(shape, generator=draws)], -1), class_names=()))
    network = Network(
        SphUncConfig(dim=DIM), data.num_features, 2, numeric=True, generator=torch.Generator().manual_seed(0)
    )
    network.learn_scale(seen)
    network.eval()
    run = network(seen, LINKS, GATES)
    deviation = (run.unit * run.variance.sqrt()).mean((0, 1)).detach()
    assert 0.01 < float(deviation[0]) < 0.1
    assert 4.0 < float(deviation[1]) < 10.0


def test_noise_is_averaged_over_the_times_at_which_an_agent_was_seen() -> None:
    data = world()
    network = make(data)
    with torch.no_grad():
        network.aleatoric.out.normal_(generator=torch.Generator().manual_seed(3))
        network.freshness.fill_(-1.0)
    present = data.present.clone()
    present[0, 4] = present[2, 5] = False
    x = network.encoder.standardise(data.x, data.x_mask)
    got, raw = network.noise(x, present), network.aleatoric(x)
    fresh = torch.sigmoid(torch.tensor(-1.0))
    for agent in (0, 4, 5):
        average = None
        for time in range(data.num_times):
            if present[time, agent]:
                now = raw[time, agent]
                average = now if average is None else average + fresh * (now - average)
            if average is not None:
                torch.testing.assert_close(got[time, agent], average)


def test_concentrations_stay_in_their_range() -> None:
    data = world()
    network = make(data)
    for factor in (0.0, 1.0, 1e3, 1e6):
        run = network(observe(replace(data, x=factor * data.x)), LINKS, GATES)
        for kappa in (run.kappa, run.ahead_strength):
            assert ((kappa >= LOWEST) & (kappa <= HIGHEST)).all()


@pytest.mark.parametrize("factor", [1.0, 30.0])
@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_states_stay_finite_over_many_steps(geometry: str, factor: float) -> None:
    data = world()
    network = make(data, geometry=geometry)
    origin = network.origin(observe(replace(data, x=factor * data.x)), LINKS, GATES, 50)
    run = origin.run
    assert all(part.isfinite().all() for part in (origin.eta, origin.lasting, *outputs(run), run.epistemic))
    assert run.ahead.shape == (50, 30, DIM)


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_one_extreme_agent_does_not_drive_its_groups_to_infinity(geometry: str) -> None:
    data = world()
    x = data.x.clone()
    x[:, 3] *= 10
    origin = make(data, geometry=geometry).origin(observe(replace(data, x=x)), LINKS, GATES, 50)
    assert all(part.isfinite().all() for part in (origin.eta, *outputs(origin.run)))


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_beliefs_stay_finite_over_many_times(geometry: str) -> None:
    data = simulate("snare", seed=0, agents=20, times=50, groups=20).data
    origin = make(data, geometry=geometry).origin(observe(data), LINKS, GATES, 1)
    lengths = origin.eta.norm(dim=-1)
    assert lengths.isfinite().all()
    # Evidence of bounded weight comes in at every time: late beliefs are no firmer than some early ones were.
    assert lengths[25:].max() < 3 * lengths[:25].max()


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_forecasts_and_learns(name: str) -> None:
    data = world()
    network = make(data, **ABLATIONS[name]).train()
    run = network(observe(data), LINKS, GATES, generator=torch.Generator().manual_seed(0))
    assert run.log_probabilities is not None
    torch.testing.assert_close(run.log_probabilities.exp().sum(-1), torch.ones(5, 30))
    run.log_probabilities[..., 0].sum().backward()
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    assert all(g.isfinite().all() for g in gradients)
    assert len(gradients) > 10


def test_contaminated_outcomes_are_never_certain() -> None:
    data = world()
    run = make(data, noise="contamination")(observe(data), LINKS, GATES)
    assert run.log_probabilities is not None
    share = run.variance / (1 + run.variance)
    assert (run.log_probabilities.exp() >= share.unsqueeze(-1) / 3 - 1e-6).all()


def test_blocks_hold_every_trained_parameter_once() -> None:
    network = make(world())
    blocks = network.blocks()
    assert set(blocks) == {"encoder", "kappa", "structure", "fusion"}
    flat = [id(p) for block in blocks.values() for p in block]
    assert sorted(flat) == sorted(id(p) for p in network.parameters() if p.requires_grad)


def test_links_move_their_targets_only() -> None:
    data = world()
    network = make(data)
    none = torch.zeros(2, 0, dtype=torch.long)
    one = network(observe(data, upto=1), torch.tensor([[0], [2]]), torch.tensor([1.0])).log_probabilities
    zero = network(observe(data, upto=1), none, torch.zeros(0)).log_probabilities
    moved = (one - zero).abs().amax((0, 2)) > 1e-6
    assert moved.nonzero().flatten().tolist() == [2]


def test_longer_horizon_takes_more_steps() -> None:
    data = world()
    near, far = make(data), make(data, horizon=3)
    far.load_state_dict(near.state_dict())
    assert not torch.allclose(near(observe(data), LINKS, GATES).kappa, far(observe(data), LINKS, GATES).kappa)


def test_numbers_are_forecast_in_their_own_units() -> None:
    data = world()
    y = 100.0 + 5.0 * torch.randn(5, 30, 1, generator=torch.Generator().manual_seed(0))
    numeric = replace(data, y=y, class_names=())
    run = make(numeric)(observe(numeric), LINKS, GATES)
    assert run.log_probabilities is None
    assert run.mean is not None
    assert run.mean.shape == (5, 30, 1)
    assert 50 < run.mean.mean().item() < 150


def test_agent_never_seen_is_least_certain() -> None:
    data = world()
    alone = data.hyperedge_index[:, data.hyperedge_index[0] != 7]
    hidden = replace(unseen(data, slice(None), 7), hyperedge_index=alone)
    run = make(hidden)(observe(hidden), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0))
    assert run.kappa[:, 7].max() <= 1.0 + 1e-4
    assert torch.equal(run.epistemic_scaled[:, 7].argmax(), torch.tensor(0))


def test_support_lowers_the_concentration_far_from_training() -> None:
    data = world()
    network = make(data)
    network.store_support(observe(data))
    near = network(observe(data), LINKS, GATES).kappa
    network.support.latents = -network.support.latents
    assert (network(observe(data), LINKS, GATES).kappa < near).float().mean() > 0.9


def test_same_generator_same_run() -> None:
    data = world()
    network = make(data).train()
    runs = [network(observe(data), LINKS, GATES, generator=torch.Generator().manual_seed(4)) for _ in range(2)]
    assert torch.equal(runs[0].total, runs[1].total)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_origin_rolls_the_forecast_of_the_last_time_step_by_step(horizon: int, geometry: str) -> None:
    data = world()
    network = make(data, horizon=horizon, geometry=geometry)
    seen = observe(data)
    origin = network.origin(seen, LINKS, GATES, horizon + 1)
    wanted, rolled = network(seen, LINKS, GATES), origin.run
    assert wanted.log_probabilities is not None
    assert rolled.log_probabilities is not None
    assert torch.allclose(rolled.log_probabilities[horizon - 1], wanted.log_probabilities[-1], atol=1e-6)
    assert torch.allclose(rolled.total[horizon - 1], wanted.total[-1], atol=1e-6)
    stepped = network.step.strength * network.step(origin.eta[-1], origin.lasting, seen.pull[-1], LINKS, GATES)
    assert torch.allclose(stepped / stepped.norm(dim=-1, keepdim=True), rolled.ahead[0], atol=1e-5)


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_a_forecast_is_the_same_to_the_bit_however_many_steps_are_asked_for(geometry: str) -> None:
    data = world()
    network = make(data, geometry=geometry)
    few, many = (network.origin(observe(data), LINKS, GATES, horizon).run for horizon in (2, 7))
    assert few.log_probabilities is not None
    assert many.log_probabilities is not None
    assert torch.equal(few.log_probabilities, many.log_probabilities[:2])
    assert torch.equal(few.total, many.total[:2])


@pytest.mark.parametrize("value", [0.0, 100.1, -3e-20])
def test_a_number_that_never_changes_is_its_own_mean_and_has_a_spread_of_rounding(value: float) -> None:
    data = world()
    seen = observe(replace(data, y=torch.full((*data.y_mask.shape, 1), value), class_names=()))
    network = Network(
        SphUncConfig(dim=DIM), data.num_features, 1, numeric=True, generator=torch.Generator().manual_seed(0)
    )
    network.eval().learn_scale(seen)
    assert network.centre == torch.tensor(value)
    assert float(network.scale) == pytest.approx(torch.finfo(torch.float32).eps * (abs(value) or 1.0))
    run = network(seen, LINKS, GATES)
    assert run.mean.isfinite().all()
    assert run.variance.isfinite().all()


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**-27, 2.0**90])
def test_what_is_learned_from_numbers_does_not_hang_on_their_unit(unit: float) -> None:
    data = world()
    y = torch.randn(*data.y_mask.shape, 1, generator=torch.Generator().manual_seed(1)).cumsum(0) + 7.0
    runs = []
    for factor in (1.0, unit):
        network = Network(
            SphUncConfig(dim=DIM), data.num_features, 1, numeric=True, generator=torch.Generator().manual_seed(0)
        )
        seen = observe(replace(data, y=factor * y, class_names=()))
        network.eval().learn_scale(seen)
        runs.append(network(seen, LINKS, GATES))
    assert torch.equal(unit * runs[0].mean, runs[1].mean)
    assert torch.equal(runs[0].variance, runs[1].variance)
    assert torch.equal(unit * runs[0].unit, runs[1].unit)


def test_the_epistemic_part_is_told_also_where_it_does_not_count() -> None:
    data = world()
    run = make(data)(observe(data), LINKS, GATES)
    alone = make(data, uncertainty="aleatoric")(observe(data), LINKS, GATES)
    assert bool((alone.epistemic_scaled > 0).any())
    assert torch.equal(alone.epistemic_scaled, run.epistemic_scaled)
    assert not torch.equal(alone.total, run.total)
    network = make(data, uncertainty="aleatoric")
    wanted = network.fusion(torch.zeros_like(alone.total), squashed_variance(alone.variance))
    assert torch.equal(alone.total, wanted)


@pytest.mark.parametrize("numeric", [False, True])
def test_origins_of_one_pass_see_nothing_later(numeric: bool) -> None:
    data = world()
    if numeric:
        assert data.y is not None
        data = replace(data, y=data.y.unsqueeze(-1).float(), class_names=())
    network, steps = make(data), {1: 2, data.num_times - 1: 1, 3: 3}
    for (time, horizon), found in zip(steps.items(), network.origins(observe(data), LINKS, GATES, steps), strict=True):
        alone = network.origin(observe(data.until_index(time)), LINKS, GATES, horizon)
        for one, other in zip(outputs(found.run), outputs(alone.run), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
        for name in ("evidence", "eta", "lasting"):
            torch.testing.assert_close(getattr(found, name), getattr(alone, name), rtol=1e-5, atol=1e-5)
