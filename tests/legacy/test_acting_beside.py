"""Interventions through what is plainly seen, end to end: closed forms where states say nothing, a panel of company."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

import sphunc
from sphunc.causal.counterfactual import coupled_law
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.direct_choice import Choice
from sphunc.legacy.observed import observe
from sphunc.legacy.scenario import known_links, no_links
from sphunc.legacy.situation import groups_at, memberships

SMALL = {"dim": 10, "layers": 1, "epochs": 1, "patience": 1, "folds": 2, "aleatoric_width": 4, "scm": False}
ASKED = {"samples": 8, "scenario": no_links()}


def by_hand(data, *parts, **settings):
    """A model of states that nobody acts on and nothing is left of, with what counts beside them drawn at random."""
    model = sphunc.SphUnc(**{**SMALL, "direct": False, **settings}).fit(data, verbose=False)
    model.temperature_ = TemperatureLaw()
    network, g = model.network_, torch.Generator().manual_seed(0)
    direct = network.direct
    with torch.no_grad():
        network.readout.weight.normal_(generator=g)
        for gain in network.step.gains.values():
            gain.zero_()
        direct.keeps.fill_(0.5)
    chosen = tuple(block for block in direct.blocks() if block.name in parts)
    direct.take(Choice(chosen), torch.randn(direct.weight.shape, generator=g))
    return model


def numbers_of(data):
    y = torch.where(data.y_mask.unsqueeze(-1), data.y.unsqueeze(-1) + data.x[..., :1], 0.0)
    return replace(data, y=y, class_names=())


def added(model, data, told, fading=0, cut=(), time=-1):
    """What is read beside the state, agent by agent, with groups at places ``cut`` gone."""
    direct, plain = model.network_.direct, model.network_.plain(observe(data))
    time = range(data.num_times)[time]
    own, rows = torch.cat([told, 0.5**fading * plain.x[time]], -1), []
    pairs = [
        pair for pair in zip(*(one.tolist() for one in memberships(data, time)), strict=True) if pair[1] not in cut
    ]
    for i in range(data.num_nodes):
        means = [own[[n for n, g in pairs if g == group]].mean(0) for agent, group in pairs if agent == i]
        around = torch.stack(means).mean(0) if means else torch.zeros(own.shape[1])
        rows.append(torch.cat([own[i], around, plain.level[time], plain.change[time], torch.ones(1)]))
    return (torch.stack(rows) @ (direct.weight * direct.counts.unsqueeze(1))).detach()


def told_at(model, data, time=-1):
    return model.network_.plain(observe(data)).told[time]


def laws(model, data, steps):
    """Law of every step from logits, as the network has it at the uncertainty of its forecast."""
    network, none = model.network_, no_links()
    run = network.origin(observe(data), none.links, none.gates, steps).run
    return [
        lambda out, v=v, u=u: network.class_law(out, v, u).exp().detach()
        for v, u in zip(run.variance, run.total, strict=True)
    ]


def state_of(model, toward):
    """What is read off a state that is set to a class, and off one of which nothing is known."""
    readout = model.network_.readout
    centred = readout.weight - readout.weight.mean(0)
    known = readout.scale * (readout.weight @ torch.nn.functional.normalize(centred[toward], dim=0)) + readout.bias
    return (known + readout.lean if readout.leans else known).detach(), readout.bias.detach()


@pytest.fixture(scope="module")
def model(short_data):
    return by_hand(short_data, "now", "company")


def test_cutting_a_group_takes_its_company_away_in_closed_form(model, short_data) -> None:
    group, (agent, place) = groups_at(short_data)[2], memberships(short_data)
    effect = model.intervene(sphunc.CutGroup(group), data=short_data, horizon=2, **ASKED)
    (_, bias), (first, second), told = state_of(model, 0), laws(model, short_data, 2), told_at(model, short_data)
    was, now = (first(bias + added(model, short_data, told, cut=cut)) for cut in ((), (2,)))
    torch.testing.assert_close(effect.factual_outcomes[0], was, atol=1e-5, rtol=0.0)
    torch.testing.assert_close(effect.outcomes[0], now, atol=1e-5, rtol=0.0)
    others = ~torch.isin(torch.arange(short_data.num_nodes), agent[place == 2])
    assert torch.equal(effect.outcomes[0][others], effect.factual_outcomes[0][others])
    assert (was - now).abs().max() > 0.1
    then = second(bias + added(model, short_data, now, 1, (2,)))
    torch.testing.assert_close(effect.outcomes[1], then, atol=1e-5, rtol=0.0)
    later = model.intervene(sphunc.CutGroup(group, times=1), data=short_data, horizon=2, **ASKED)
    assert torch.equal(later.outcomes[0], later.factual_outcomes[0])
    then = second(bias + added(model, short_data, was, 1, (2,)))
    torch.testing.assert_close(later.outcomes[1], then, atol=1e-5, rtol=0.0)


def test_a_state_that_is_set_tells_others_after_its_outcome_is_there(model, short_data) -> None:
    do = sphunc.Do(short_data.node_ids[4], toward=short_data.class_names[1])
    effect = model.intervene(do, data=short_data, horizon=2, **ASKED)
    (known, bias), (first, second), told = state_of(model, 1), laws(model, short_data, 2), told_at(model, short_data)
    read = bias.repeat(short_data.num_nodes, 1)
    was = first(read + added(model, short_data, told))
    read[4] = known
    now = first(read + added(model, short_data, told))
    torch.testing.assert_close(effect.outcomes[0], now, atol=1e-5, rtol=0.0)
    moved = (effect.outcomes != effect.factual_outcomes).any(-1)
    assert moved[0].nonzero().flatten().tolist() == [4]
    torch.testing.assert_close(effect.outcomes[1], second(read + added(model, short_data, now, 1)), atol=1e-5, rtol=0.0)
    agent, place = memberships(short_data)
    together = agent[torch.isin(place, place[agent == 4])]
    assert set(moved[1].nonzero().flatten().tolist()) == {4, *together.tolist()}
    assert (was - now)[4].abs().max() > 0.01


def test_numbers_move_by_what_is_told_of_them(short_data) -> None:
    data = numbers_of(short_data)
    model = by_hand(data, "now", "company")
    do = sphunc.Do(data.node_ids[4], observed=data.node_ids[5])
    effect = model.intervene(do, sphunc.CutGroup(groups_at(data)[2]), data=data, horizon=2, **ASKED)
    told, scale, centre = told_at(model, data), model.network_.scale, model.network_.centre
    wanted = added(model, data, told, cut=(2,)) - added(model, data, told)
    gap = (effect.outcomes - effect.factual_outcomes) / scale
    others = torch.arange(data.num_nodes) != 4
    torch.testing.assert_close(gap[0][others], wanted[others], atol=1e-4, rtol=0.0)
    was, now = ((law[0] - centre) / scale for law in (effect.factual_outcomes, effect.outcomes))
    wanted = added(model, data, now, 1, (2,)) - added(model, data, was, 1)
    torch.testing.assert_close(gap[1][others], wanted[others], atol=1e-4, rtol=0.0)
    assert gap[1][others].abs().max() > 0.1


def test_nothing_changed_is_the_forecast_to_the_bit(model, short_data) -> None:
    effect = model.intervene(data=short_data, horizon=3, **ASKED)
    assert torch.equal(effect.outcomes[0], model.predict(short_data).probabilities)
    assert torch.equal(effect.outcomes, effect.factual_outcomes)


def test_cutting_a_link_leaves_company_as_it_is(model, short_data) -> None:
    a, b = short_data.node_ids[:2]
    given = known_links(torch.tensor([[0], [1]]), torch.tensor([2.0]))
    cut = model.intervene(sphunc.CutLink(a, b), data=short_data, horizon=3, samples=8, scenario=given)
    torch.testing.assert_close(cut.outcomes, cut.factual_outcomes, atol=1e-6, rtol=0.0)


def test_what_does_not_count_does_not_act(short_data) -> None:
    model, cut = by_hand(short_data), sphunc.CutGroup(groups_at(short_data)[2])
    with torch.no_grad():
        model.network_.step.gains["pull"].fill_(1.0)
    effect = model.intervene(cut, data=short_data, horizon=2, **ASKED)
    with torch.no_grad():
        model.network_.direct.weight.zero_()
    again = model.intervene(cut, data=short_data, horizon=2, **ASKED)
    assert effect.size.max() > 0
    for name in ("outcomes", "entropies", "effect_errors"):
        torch.testing.assert_close(getattr(effect, name), getattr(again, name), rtol=0.0, atol=0.0, equal_nan=True)


def test_a_counterfactual_knows_which_company_there_was(short_data) -> None:
    model = by_hand(short_data, "now", "company")
    network, place = model.network_, 5
    with torch.no_grad():
        for part in (network.readout.weight, network.readout.lean):
            part.zero_()
    cut = sphunc.CutGroup(groups_at(short_data, 1)[place], times=0)
    found = model.counterfactual(cut, data=short_data, origin=1, horizon=2, **ASKED)
    same = model.counterfactual(data=short_data, origin=1, horizon=2, **ASKED)
    past, bias = short_data.until_index(1), network.readout.bias.detach()
    first, seen = laws(model, past, 1)[0], found.observed
    told = told_at(model, past)
    was, now = (first(bias + added(model, past, told, cut=places)) for places in ((), (place,)))
    wanted = coupled_law(was, now, short_data.y[2])[seen[0]]
    torch.testing.assert_close(found.outcomes[0][seen[0]], wanted, atol=1e-5, rtol=0.0)
    torch.testing.assert_close(found.outcomes[0][~seen[0]], now[~seen[0]], atol=1e-5, rtol=0.0)
    assert (wanted.amax(1) < 0.9).any()
    past, told = short_data.until_index(2), told_at(model, short_data, 2)
    moved = told + found.outcomes[0] - found.factual_outcomes[0]
    second = laws(model, past, 1)[0]
    was, now = (second(bias + added(model, past, one)) for one in (told, moved))
    wanted = coupled_law(was, now, short_data.y[3])[seen[1]]
    torch.testing.assert_close(found.outcomes[1][seen[1]], wanted, atol=1e-5, rtol=0.0)
    assert torch.equal(same.outcomes, same.factual_outcomes)


def test_a_longer_horizon_of_the_model_is_told_by_what_lies_that_far_back(short_data) -> None:
    model = by_hand(short_data, "now", "company", horizon=2)
    effect = model.intervene(sphunc.CutGroup(groups_at(short_data)[2]), data=short_data, horizon=2, **ASKED)
    (_, bias), (_, second), told = state_of(model, 0), laws(model, short_data, 2), told_at(model, short_data)
    # The arms run over different numbers of rows, whose sums a processor may order differently: float32 rounding.
    torch.testing.assert_close(effect.outcomes[0], effect.factual_outcomes[0], atol=1e-6, rtol=0.0)
    wanted = second(bias + added(model, short_data, told, cut=(2,)))
    torch.testing.assert_close(effect.outcomes[1], wanted, atol=1e-5, rtol=0.0)
    asked = {"data": short_data, "origin": 1, "horizon": 2, **ASKED}
    found = model.counterfactual(sphunc.CutGroup(groups_at(short_data, 1)[5], times=0), **asked)
    agent, place = memberships(short_data, 1)
    moved = (found.outcomes - found.factual_outcomes).abs().amax(-1) > 1e-3
    assert not moved[0].any()
    assert moved[1].any()
    assert set(moved[1].nonzero().flatten().tolist()) <= set(agent[place == 5].tolist())


def test_a_saved_model_answers_the_same(model, short_data, tmp_path) -> None:
    model.save(tmp_path)
    again, cut = sphunc.SphUnc.load(tmp_path), sphunc.CutGroup(groups_at(short_data)[2])
    one, other = (each.intervene(cut, data=short_data, horizon=2, **ASKED) for each in (model, again))
    assert torch.equal(one.outcomes, other.outcomes)
    assert sphunc.causal.from_json(one.plan.to_json()) == other.plan


AGENTS, TIMES, MET = 150, 8, 120


def company(seed=0):
    """Whoever meets takes the class that most of the four have now; whoever is alone tosses a coin."""
    rng = np.random.default_rng(seed)
    y, groups = np.zeros((TIMES, AGENTS), dtype=int), np.full((TIMES, AGENTS), -1)
    y[0] = rng.integers(0, 2, AGENTS)
    for t in range(TIMES):
        groups[t, rng.permutation(AGENTS)[:MET]] = np.arange(MET) // 4
        if t + 1 < TIMES:
            y[t + 1] = rng.random(AGENTS) < chance(y[t], groups[t])
    keys = pl.DataFrame(
        {"time": np.repeat(np.arange(TIMES), AGENTS), "agent": [f"a{i:03d}" for i in range(AGENTS)] * TIMES}
    )
    data = sphunc.from_frames(
        features=keys.with_columns(f=pl.Series(rng.normal(size=TIMES * AGENTS))),
        groups=keys.with_columns(group=pl.Series([f"g{g}" for g in groups.flatten()])).filter(pl.col("group") != "g-1"),
        outcomes=keys.with_columns(outcome=pl.Series([f"c{c}" for c in y.flatten()])),
    )
    return data, y[-1], groups[-1]


def chance(y, groups):
    share = np.array([y[groups == g].mean() for g in range(MET // 4)])
    return 1.0 / (1.0 + np.exp(-6.0 * (np.where(groups < 0, 0.5, share[groups]) - 0.5)))


def test_where_company_decides_cutting_it_does_what_the_process_does() -> None:
    data, y, groups = company()
    model = sphunc.SphUnc(dim=8, epochs=15, scm=False, lambda_entropy=0.0, seed=0).fit(data, verbose=False)
    assert "company" in model.network_.direct.parts
    truth, found = [], []
    for g in range(0, MET // 4, 3):
        effect = model.intervene(sphunc.CutGroup(f"g{g}"), data=data, horizon=1, samples=20, scenario=no_links())
        members = np.flatnonzero(groups == g)
        assert not effect.size[torch.from_numpy(groups != g)].any()
        truth += (0.5 - chance(y, groups)[members]).tolist()
        found += effect.difference[members, 1].tolist()
    truth, found = np.array(truth), np.array(found)
    clear = np.abs(truth) > 0.1
    assert clear.sum() >= 16
    assert (np.sign(found) == np.sign(truth))[clear].all()
    assert 0.7 < (found @ truth) / (truth @ truth) < 1.3
