"""The fit on every kind of small panel: a finite result and a sentence, never an exception of torch or scipy."""

import math
from dataclasses import replace

import pytest
import torch

from sphunc.forecasting.distribution import Categorical, Gaussian, pool
from sphunc.hypergraph.incidence import Incidence
from sphunc.model.fitting import choose_weight, fit_model, known_agents, simple_forecasts
from sphunc.model.inputs import ModelInputs
from sphunc.model.uncertainty import HeldOut
from sphunc.model.verdict import describe_fit

N = 18


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def meetings(times, size, agents=N):
    groups = []
    for t in range(times):
        if size == 0:
            nothing = torch.zeros(0, dtype=torch.long)
            groups.append(Incidence(nothing, nothing, torch.zeros(0).double(), agents, 0))
            continue
        agent = torch.randperm(agents, generator=torch.Generator().manual_seed(t))
        group = torch.arange(agents) // size
        groups.append(Incidence(agent, group, torch.ones(agents).double(), agents, int(group[-1]) + 1))
    return tuple(groups)


def world(times=5, features=3, classes=3, numbers=0, size=3, agents=N, seed=0):
    """Persistent features; classes are thirds of the first one, numbers follow it."""
    state = draw(agents, max(1, features), seed=seed)
    path = []
    for t in range(times):
        state = 0.9 * state + 0.4 * draw(*state.shape, seed=seed + 1 + t)
        path.append(state)
    states = torch.stack(path)
    x = (states + 0.4 * draw(*states.shape, seed=seed + 60))[..., :features]
    if numbers:
        y = states[..., :1] + 0.5 * draw(times, agents, numbers, seed=seed + 70)
        classes = 0
    else:
        level = (states[..., 0] + 0.5 * draw(times, agents, seed=seed + 71)).contiguous()
        cuts = torch.quantile(level, torch.linspace(0, 1, classes + 1).double()[1:-1])
        y = torch.nn.functional.one_hot(torch.bucketize(level, cuts), classes).double()
    x_mask = torch.ones_like(x, dtype=torch.bool)
    y_mask = torch.ones(times, agents, dtype=torch.bool)
    return ModelInputs(x, x_mask, y, y_mask, meetings(times, size, agents), classes)


def with_masks(inputs, x_mask=None, y_mask=None):
    if x_mask is not None:
        inputs = replace(inputs, x=inputs.x * x_mask, x_mask=x_mask)
    if y_mask is not None:
        inputs = replace(inputs, y=inputs.y * y_mask.unsqueeze(-1), y_mask=y_mask)
    return inputs


def constant_agents():
    inputs = world()
    return replace(inputs, x=inputs.x[:1].expand_as(inputs.x).clone(), y=inputs.y[:1].expand_as(inputs.y).clone())


def duplicated_agents():
    inputs = world()
    half = N // 2
    x = torch.cat([inputs.x[:, :half], inputs.x[:, :half]], 1)
    y = torch.cat([inputs.y[:, :half], inputs.y[:, :half]], 1)
    return replace(inputs, x=x, y=y)


def without_outcomes_at(*times):
    inputs = world(times=6)
    mask = inputs.y_mask.clone()
    mask[list(times)] = False
    return with_masks(inputs, y_mask=mask)


def joining_late():
    inputs = world()
    x_mask = inputs.x_mask.clone()
    y_mask = inputs.y_mask.clone()
    x_mask[:3, 12:] = False
    y_mask[:3, 12:] = False
    return with_masks(inputs, x_mask, y_mask)


def few_values():
    inputs = world()
    keep = torch.rand(inputs.x.shape, generator=torch.Generator().manual_seed(1)) < 0.3
    keep_y = torch.rand(inputs.y_mask.shape, generator=torch.Generator().manual_seed(2)) < 0.3
    return with_masks(inputs, keep, keep_y)


def few_numbers():
    """So few that held-out totals differ by rounding alone."""
    inputs = world(times=7, numbers=2, agents=20, size=4)
    keep = torch.rand(inputs.x.shape, generator=torch.Generator().manual_seed(1)) < 0.2
    keep_y = torch.rand(inputs.y_mask.shape, generator=torch.Generator().manual_seed(2)) < 0.2
    return with_masks(inputs, keep, keep_y)


def observed_once():
    inputs = world(times=6)
    once = torch.arange(6).unsqueeze(1) == torch.arange(N) % 6
    return with_masks(inputs, y_mask=once)


def one_group():
    return replace(world(), groups=meetings(5, N))


def weightless():
    inputs = world()
    groups = tuple(replace(one, weight=torch.zeros_like(one.weight)) for one in inputs.groups)
    return replace(inputs, groups=groups)


def absent_class():
    inputs = world()
    nothing = torch.zeros(*inputs.y.shape[:2], 1).double()
    return replace(inputs, y=torch.cat([inputs.y, nothing], -1), num_classes=4)


PANELS = {
    "two times": lambda: world(times=2),
    "no groups": lambda: world(size=0),
    "no features": lambda: world(features=0),
    "no features, two times": lambda: world(features=0, times=2),
    "one feature": lambda: world(features=1),
    "more features than rows": lambda: world(features=40, times=3),
    "constant agents": constant_agents,
    "constant features": lambda: replace(world(), x=torch.ones(5, N, 3).double()),
    "one class": lambda: replace(world(), y=world().y[:1, :1].expand(5, N, 3).clone()),
    "a class that never comes": absent_class,
    "duplicated agents": duplicated_agents,
    "all agents the same": lambda: replace(world(), x=world().x[:, :1].expand(5, N, 3).clone()),
    "one number": lambda: world(numbers=1),
    "two numbers": lambda: world(numbers=2),
    "two numbers, two times": lambda: world(numbers=2, times=2),
    "one number, no features, no groups": lambda: world(numbers=1, features=0, size=0),
    "a constant number": lambda: replace(world(numbers=1), y=torch.zeros(5, N, 1).double()),
    "no outcome at a time": lambda: without_outcomes_at(2),
    "no outcome at first and last": lambda: without_outcomes_at(0, 5),
    "groups of one": lambda: world(size=1),
    "one group of all": one_group,
    "memberships without weight": weightless,
    "joining late": joining_late,
    "few values": few_values,
    "few numbers": few_numbers,
    "an outcome once per agent": observed_once,
    "eighteen classes": lambda: world(classes=18),
    "features of extreme scales": lambda: replace(world(), x=world().x * torch.tensor([1e30, 1e-30, 1.0]).double()),
    "features that are never observed": lambda: with_masks(world(), torch.zeros(5, N, 3, dtype=torch.bool)),
    "two agents": lambda: world(agents=2, size=2, times=8, classes=2),
    "three agents": lambda: world(agents=3),
    "one agent": lambda: world(agents=1, size=1),
}


def assert_is_finite(model, inputs):
    found = model.forecast(inputs)
    values = [found.epistemic, found.epistemic_scaled, found.aleatoric, found.total, found.kappa, model.scores]
    if isinstance(found.distribution, Categorical):
        values.append(found.distribution.log_probabilities)
        torch.testing.assert_close(found.distribution.probabilities.sum(1), torch.ones(inputs.num_agents).double())
    else:
        values += [found.distribution.mean, found.distribution.variance]
        assert (found.distribution.variance > 0).all()
    assert all(value.isfinite().all() for value in values)
    assert ((found.epistemic_scaled >= -1e-9) & (found.epistemic_scaled <= 1 + 1e-9)).all()
    assert (found.aleatoric >= 0).all()
    assert len(describe_fit(model)) > 20
    for row in model.comparison:
        assert math.isfinite(row.nll)


@pytest.fixture
def short(monkeypatch):
    """Fits with few sweeps and rounds: the same code in a fraction of the time."""
    from sphunc.model import base, fitting, link_calibration, states

    monkeypatch.setattr(base, "SCALES", (0.3, 3.0, 30.0))
    monkeypatch.setattr(base, "EVIDENCE_ROUNDS", 2)
    monkeypatch.setattr(fitting, "FOLDS", 2)
    monkeypatch.setattr(states, "SWEEPS", 6)
    monkeypatch.setattr(states, "OUTCOME_ROUNDS", 1)
    monkeypatch.setattr(link_calibration, "SWEEPS", 6)
    monkeypatch.setattr(states, "VARIANCE_SCALES", (1.0, 0.5))


QUICK_LOOK = {
    "two times",
    "no groups",
    "no features, two times",
    "one feature",
    "constant agents",
    "duplicated agents",
    "one number",
    "two numbers, two times",
    "no outcome at a time",
    "groups of one",
    "few numbers",
}
"""The panels of every run; all of them run in CI."""


def marked(name):
    marks = () if name in QUICK_LOOK else pytest.mark.slow
    return pytest.param(name, marks=marks)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", [marked(name) for name in PANELS])
def test_every_panel_has_a_finite_forecast(name):
    inputs = PANELS[name]()
    model = fit_model(inputs, horizon=1, most_axes=4, quick=False, seed=0)
    assert_is_finite(model, inputs)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("times", "numbers"), [(3, 0), (7, 1)])
def test_two_steps_ahead(times, numbers):
    inputs = world(times=times, numbers=numbers)
    model = fit_model(inputs, horizon=2, most_axes=4, quick=False, seed=0)
    assert_is_finite(model, inputs)
    assert model.predictor.horizon == 2
    assert model.one_step.horizon == 1


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_more_than_sixty_times():
    inputs = world(times=66, features=2, agents=6, size=2)
    model = fit_model(inputs, horizon=1, most_axes=2, quick=False, seed=0)
    assert_is_finite(model, inputs)


def test_quick_is_the_base_alone():
    inputs = world()
    model = fit_model(inputs, horizon=1, most_axes=4, quick=True, seed=0)
    assert model.num_axes == 0
    assert model.weight == 0
    assert model.predictor.states is None
    found = model.forecast(inputs)
    assert found.belief is None
    assert_is_finite(model, inputs)


def test_unseen_agents_have_a_forecast(snare_model, snare_inputs):
    place = torch.arange(40)
    place[5:15] = -1
    found = snare_model.forecast(snare_inputs, place)
    assert found.distribution.log_probabilities.isfinite().all()


def test_forecasts_read_nothing_after_the_origin(snare_model, snare_inputs):
    changed = replace(snare_inputs, x=snare_inputs.x.clone(), y=snare_inputs.y.flip(-1))
    changed.x[4:] += 3.0
    y = torch.where(torch.arange(6).view(-1, 1, 1) > 3, changed.y, snare_inputs.y)
    changed = replace(changed, y=y)
    before = snare_model.forecast(snare_inputs.until(3))
    after = snare_model.forecast(changed.until(3))
    assert torch.equal(before.distribution.log_probabilities, after.distribution.log_probabilities)
    assert torch.equal(before.total, after.total)


def test_the_total_is_non_decreasing_in_both_parts(snare_model):
    fusion = snare_model.fusion
    assert fusion.epistemic > 0
    assert fusion.aleatoric > 0


def test_hiding_the_past_of_agents_raises_epistemic_uncertainty(snare_model, snare_inputs):
    hidden = torch.arange(40) < 10
    keep = torch.ones(6, 40, dtype=torch.bool)
    keep[:5, hidden] = False
    less = with_masks(snare_inputs, snare_inputs.x_mask & keep.unsqueeze(-1), snare_inputs.y_mask & keep)
    full = snare_model.forecast(snare_inputs)
    part = snare_model.forecast(less)
    rises = part.epistemic[hidden] > full.epistemic[hidden]
    assert rises.double().mean() >= 0.9


def test_agents_last_seen_earlier_are_less_certain(snare_model, snare_inputs):
    levels = []
    entropies = []
    for age in range(4):
        keep = torch.ones(6, 40, dtype=torch.bool)
        keep[6 - age :, :10] = False
        less = with_masks(snare_inputs, snare_inputs.x_mask & keep.unsqueeze(-1), snare_inputs.y_mask & keep)
        found = snare_model.forecast(less)
        levels.append(float(found.epistemic[:10].mean()))
        entropies.append(float(found.distribution.entropy[:10].mean()))
    assert levels == sorted(levels)
    assert entropies[3] > entropies[0]


@pytest.mark.usefixtures("short")
def test_the_same_seed_gives_the_same_numbers():
    inputs = world(times=4)
    first = fit_model(inputs, horizon=1, most_axes=4, quick=False, seed=3).forecast(inputs)
    second = fit_model(inputs, horizon=1, most_axes=4, quick=False, seed=3).forecast(inputs)
    assert torch.equal(first.distribution.log_probabilities, second.distribution.log_probabilities)
    assert torch.equal(first.total, second.total)


def test_stages_are_reported_in_order():
    inputs = world(times=4)
    seen = []
    fit_model(
        inputs,
        horizon=1,
        most_axes=4,
        quick=True,
        seed=0,
        report=lambda stage, share: seen.append((stage, share)),
    )
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert all(stage for stage, _ in seen)


def held_rows(rows=200):
    labels = torch.arange(rows) % 3
    outcome = torch.nn.functional.one_hot(labels, 3).double()
    return HeldOut(torch.arange(rows) % (rows // 2), torch.arange(rows) * 2 // rows, outcome)


def test_states_get_weight_only_where_they_clearly_help():
    held = held_rows()
    flat = Categorical(torch.full((200, 3), -math.log(3.0)).double())
    told = Categorical(torch.log_softmax(held.outcome + 0.3 * draw(200, 3), 1))
    wrong = Categorical(torch.log_softmax(-held.outcome, 1))
    assert choose_weight(flat, told, held) == 0.75
    assert choose_weight(flat, wrong, held) == 0
    assert choose_weight(flat, flat, held) == 0
    assert choose_weight(told, flat, held) == 0
    found = pool(flat, told, choose_weight(flat, told, held)).nll(held.outcome).mean()
    assert found < flat.nll(held.outcome).mean()


def test_simple_forecasts_are_counted_by_hand():
    inputs = world(times=4, agents=10)
    frequencies, persistence = simple_forecasts(inputs, 2, 1)
    count = inputs.y[:3].sum((0, 1))
    share = (count + 1) / (count.sum() + 3)
    torch.testing.assert_close(frequencies.probabilities[0], share)
    follow = share.expand(3, 3).clone()
    for t in range(2):
        for i in range(10):
            follow[inputs.labels[t, i], inputs.labels[t + 1, i]] += 1
    follow = follow / follow.sum(1, keepdim=True)
    torch.testing.assert_close(persistence.probabilities, follow[inputs.labels[2]])
    numbers = world(times=4, agents=10, numbers=1)
    mean, last = simple_forecasts(numbers, 2, 1)
    assert isinstance(mean, Gaussian)
    torch.testing.assert_close(mean.mean[0], numbers.y[:3].mean((0, 1)))
    torch.testing.assert_close(last.mean, numbers.y[2])
    change = (numbers.y[1:3] - numbers.y[:2]).square().mean((0, 1))
    torch.testing.assert_close(last.variance[0], change)


def test_agents_are_known_from_their_first_observation_on():
    known = known_agents(joining_late())
    assert known[:3, 12:].sum() == 0
    assert known[3:, 12:].all()
    assert known[:, :12].all()
