"""Counterfactual paths: refused where there is no noise to abduct; later times say which noise there was."""

import math
from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.causal.abducted import compare_abducted
from sphunc.causal.counterfactual import abduct, carry, force, replay
from sphunc.causal.interventions import Plan, Policy, Stochastic
from sphunc.causal.mechanism import company
from sphunc.causal.noise import draw_noise, perturb
from sphunc.errors import ArgumentError
from sphunc.legacy import retrospect as module
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.hindsight import look_back
from sphunc.legacy.query import Amounts
from sphunc.legacy.retrospect import check_retrospect
from sphunc.legacy.scenario import known_links, no_links
from sphunc.legacy.situation import groups_at

SMALL = {"dim": 10, "layers": 1, "epochs": 2, "patience": 2, "folds": 2, "aleatoric_width": 4, "structure_epochs": 0}


@pytest.mark.parametrize("one", [Stochastic("a", "b", 3.0), Policy(lambda step, states: {})])
def test_what_draws_anew_has_no_counterfactual(one) -> None:
    with pytest.raises(ArgumentError, match=f"a counterfactual under {type(one).__name__} is not defined"):
        check_retrospect(Plan((one,)), SphUncConfig())


def test_the_plane_has_none_either() -> None:
    with pytest.raises(ArgumentError, match="geometry='euclidean'"):
        check_retrospect(Plan(), SphUncConfig(geometry="euclidean"))


def test_seen_outcomes_anchor_the_counterfactual_and_unseen_ones_do_not(short_data) -> None:
    model = SphUnc(**SMALL).fit(short_data, verbose=False)
    do = sphunc.Do(short_data.node_ids[0], toward=short_data.class_names[0])
    cut = sphunc.CutGroup(short_data.hyperedge_ids[int((short_data.hyperedge_time == 1).nonzero()[0])])
    told = model.counterfactual(do, cut, data=short_data, origin=1, horizon=3, samples=16, structures=4)
    assert told.outcomes.shape == (3, short_data.num_nodes, short_data.num_classes)
    seen = told.observed[0]
    assert (told.factual_outcomes[0][seen].max(-1).values == 1).all()
    assert (told.factual_outcomes[2].max(-1).values < 1).all()
    assert told.latent_bounds.isfinite().all()
    again = model.counterfactual(do, cut, data=short_data, origin=1, horizon=3, samples=16, structures=4)
    assert torch.equal(told.outcomes, again.outcomes)


def test_counterfactual_numbers_do_not_hang_on_their_unit(short_data) -> None:
    y = torch.where(short_data.y_mask.unsqueeze(-1), short_data.y.unsqueeze(-1) + short_data.x[..., :1], 0.0)
    plain = replace(short_data, y=y, class_names=())
    told, unit = [], 2.0**-90
    for data in (plain, replace(plain, y=unit * y)):
        model = SphUnc(**SMALL).fit(data, verbose=False)
        do = sphunc.Do(data.node_ids[0], observed=data.node_ids[1])
        told.append(model.counterfactual(do, data=data, origin=1, horizon=2, samples=16, structures=4))
    one, other = told
    # To the bit, as the unit is a power of 2; only its logarithm is rounded.
    torch.testing.assert_close(unit * one.outcomes, other.outcomes, rtol=0.0, atol=0.0)
    torch.testing.assert_close(unit * one.effect_errors, other.effect_errors, rtol=0.0, atol=0.0, equal_nan=True)
    torch.testing.assert_close(unit**2 * one.variances, other.variances, rtol=0.0, atol=0.0)
    torch.testing.assert_close(one.entropies + math.log(unit), other.entropies, rtol=0.0, atol=1e-5)
    assert torch.equal(other.withins + other.identifications, other.entropies)


@pytest.fixture(scope="module")
def model(long_data):
    """A model in which outcomes, links and groups say much."""
    model = SphUnc(**SMALL).fit(long_data, verbose=False)
    with torch.no_grad():
        for part in (model.network_.readout.weight, model.network_.readout.lean):
            part.normal_(generator=torch.Generator().manual_seed(0))
        model.network_.step.gains["pull"].fill_(1.0)
    return model


def chain(strength=2.0):
    """Agent 0 acts on 1, 1 on 2."""
    return known_links(torch.tensor([[0, 1], [1, 2]]), torch.tensor([strength, strength]))


def noisy_features(data, time):
    x = data.x.clone()
    drawn = torch.randn(x[time].shape, generator=torch.Generator().manual_seed(0))
    x[time] = torch.where(data.x_mask[time], drawn, 0.0)
    return replace(data, x=x)


def with_outcome(data, time, agent, value=None):
    """The data with another outcome of one agent, or without it."""
    y, mask = data.y.clone(), data.y_mask.clone()
    y[time, agent], mask[time, agent] = value or 0, value is not None
    return replace(data, y=y, y_mask=mask)


@pytest.mark.parametrize("horizon", [1, 2])
def test_features_after_the_origin_count(model, long_data, horizon) -> None:
    do = sphunc.Do(long_data.node_ids[0], toward=long_data.class_names[0])
    for time in range(5, 5 + horizon):
        told = [
            model.counterfactual(do, data=data, origin=4, horizon=horizon, samples=20, scenario=chain())
            for data in (long_data, noisy_features(long_data, time))
        ]
        assert float((told[0].outcomes[-1] - told[1].outcomes[-1]).abs().max()) > 0.02
    later = noisy_features(long_data, 5 + horizon)
    same = model.counterfactual(do, data=later, origin=4, horizon=horizon, samples=20, scenario=chain())
    first = model.counterfactual(do, data=long_data, origin=4, horizon=horizon, samples=20, scenario=chain())
    assert torch.equal(same.outcomes, first.outcomes)


def test_an_outcome_averages_to_the_answer_without_it(model, long_data) -> None:
    do, agent = sphunc.Do(long_data.node_ids[0], toward=long_data.class_names[0]), 1
    asked = {"origin": 4, "horizon": 1, "samples": 40, "scenario": chain()}
    masked = model.counterfactual(do, data=with_outcome(long_data, 5, agent), **asked)
    total = torch.zeros(long_data.num_classes)
    for y in range(long_data.num_classes):
        told = model.counterfactual(do, data=with_outcome(long_data, 5, agent, y), **asked)
        total += masked.factual[agent, y] * told.probabilities[agent]
    assert masked.size[agent] > 0.01
    assert torch.allclose(total, masked.probabilities[agent], atol=1e-5)


def test_what_changes_nothing_returns_the_factual(model, long_data) -> None:
    a, b, c = long_data.node_ids[:3]
    for one in (sphunc.ScaleLink(a, b, 1.0), sphunc.Shift(a, c, 0.0), sphunc.Shift(b, long_data.class_names[0], 0.0)):
        told = model.counterfactual(one, data=long_data, origin=4, horizon=3, samples=20, scenario=chain())
        assert torch.equal(told.outcomes, told.factual_outcomes)
        assert not torch.equal(told.factual_outcomes[:, 0], told.factual_outcomes[:, 1])


def test_without_anything_to_abduct_it_is_the_intervention(model, long_data) -> None:
    do = sphunc.Do(long_data.node_ids[0], toward=long_data.class_names[0])
    asked = {"data": long_data, "origin": 8, "horizon": 2, "samples": 20}
    told, effect = model.counterfactual(do, **asked), model.intervene(do, **asked)
    for name in ("outcomes", "factual_outcomes", "entropies", "samples"):
        assert torch.equal(getattr(told, name), getattr(effect, name))
    assert told.coupling
    assert not told.observed.any()
    assert torch.equal(
        model.counterfactual(data=long_data, origin=8, samples=8).factual, model.predict(long_data).probabilities
    )


def test_the_origin_has_the_horizon_after_it(model, long_data) -> None:
    assert model.counterfactual(data=long_data, horizon=3, samples=4).times[-1] == long_data.times[-1]
    assert model.counterfactual(data=long_data, samples=4).origin == long_data.times[-2]
    assert model.counterfactual(data=long_data, horizon=20, samples=4).origin == long_data.times[0]
    assert model.intervene(data=long_data, samples=4).origin == long_data.times[-1]


def silenced(data, time, keep):
    """The data without anything of a time, but features of one agent."""
    x, seen, y, told = data.x.clone(), data.x_mask.clone(), data.y.clone(), data.y_mask.clone()
    others = torch.arange(data.num_nodes) != keep
    x[time, others], seen[time, others], y[time], told[time] = 0.0, False, 0, False
    return replace(data, x=x, x_mask=seen, y=y, y_mask=told)


def test_who_shows_nothing_has_the_forecast_and_nearly_the_effect_of_an_intervention(model, long_data) -> None:
    data, a = silenced(long_data, 5, keep=7), long_data.node_ids[0]
    asked = {"data": data, "origin": 4, "horizon": 1, "samples": 400, "structures": 1, "scenario": chain()}
    do = sphunc.Do(a, toward=long_data.class_names[0])
    told, effect = model.counterfactual(do, **asked), model.intervene(do, **asked)
    others = torch.arange(data.num_nodes) != 7
    assert torch.equal(told.factual[others], effect.factual[others])
    assert float((told.factual[7] - effect.factual[7]).abs().max()) > 1e-3
    assert effect.size[1] > 0.02
    assert torch.allclose(told.outcomes[0][others], effect.outcomes[0][others], atol=0.02)


def test_groups_of_later_times_are_those_that_met(model, long_data) -> None:
    data = long_data
    later = next(g for g in groups_at(data, 5) if g not in groups_at(data, 4))
    place = next(i for i, g in enumerate(data.hyperedge_ids) if g == later and data.hyperedge_time[i] == 5)
    members = set(data.hyperedge_index[0, data.hyperedge_index[1] == place].tolist())
    asked = {"data": data, "origin": 4, "horizon": 2, "samples": 20, "scenario": no_links()}
    told = model.counterfactual(sphunc.CutGroup(later, times=1), **asked)
    moved = (told.outcomes != told.factual_outcomes).any(-1)
    assert not moved[0].any()
    assert moved[1].any()
    assert set(moved[1].nonzero().flatten().tolist()) <= members
    with pytest.raises(ArgumentError, match="does not meet at the origin; groups that do"):
        model.intervene(sphunc.CutGroup(later), **asked)
    with pytest.raises(ArgumentError, match="does not meet at the origin or at a later step before the target"):
        model.counterfactual(sphunc.CutGroup("nobody"), **asked)
    with pytest.raises(ArgumentError, match="cuts the group when it does not meet"):
        model.counterfactual(sphunc.CutGroup(later, times=0), **asked)


def traced(model, data, do, monkeypatch, firmness):
    """Samples of two steps, in which the evidence of the first is that of the filter times ``firmness``."""
    amounts = Amounts(origin=4, horizon=2, samples=6, seed=0)
    query = model._query("counterfactual", (do,), data, amounts, chain())
    situation = model._situation(query)
    seen = look_back(model.network_, model.temperature_, query)
    seen = replace(seen, evidence=firmness * seen.evidence)
    traces = []

    def compare(trace, *rest):
        traces.append(trace)
        return compare_abducted(trace, *rest)

    monkeypatch.setattr(module, "compare_abducted", compare)
    module.retrospect(situation, query.action(situation.direct), query, seen)
    return situation, seen, traces


def test_states_that_evidence_leaves_no_doubt_about_are_replayed(model, long_data, monkeypatch) -> None:
    """A dense transcription: states of step 1 are where the evidence points, and keep their noise in the other arm."""
    do = sphunc.Do(long_data.node_ids[0], toward=long_data.class_names[0])
    situation, seen, traces = traced(model, long_data, do, monkeypatch, 1e6)
    mechanism, target, links = situation.mechanism, situation.direct("class", 0, 0), chain()
    sure = torch.nn.functional.normalize(seen.evidence[0], dim=-1)
    whole = [i for i in range(len(sure)) if bool(seen.evidence[0][hears(seen.meetings.members[1], i)].any(-1).all())]
    assert 2 in whole

    def stepped(states, step):
        around = company(links.links, mechanism.link * links.strengths[0], seen.meetings.members[step], len(states))
        return force(mechanism, states, seen.priors[step], around)

    plain = mechanism.read_belief(stepped(sure.unsqueeze(1), 1))
    assert len(whole) > 5
    assert torch.allclose(traces[1].plain[whole], plain[whole].expand(-1, 6, -1), atol=0.05)
    # States of the origin are drawn as in the module; everything after them is determined.
    eta, length = situation.start.eta.unsqueeze(1).expand(-1, 6, -1), situation.start.eta.norm(dim=-1)
    length = length.unsqueeze(1).expand(-1, 6)
    noise = draw_noise(len(sure), range(6), mechanism.dim, mechanism.dim, seed=0, step=0)
    first = perturb(eta, length, None, length, noise, mechanism.dim)
    held = first.clone()
    held[0] = target
    eta, other = stepped(first, 0), stepped(held, 0)
    wide = sure.unsqueeze(1).expand(-1, 6, -1)

    def read(moved):
        states = torch.where((eta == other).all(-1, keepdim=True), wide, moved)
        states[0] = target
        before = stepped(wide, 1)
        look = before + seen.looks[1].unsqueeze(1)
        return mechanism.read_belief(carry(mechanism, before, look, stepped(states, 1)))[2]

    wanted = read(replay(abduct(wide, eta), other))
    assert torch.allclose(traces[1].after[2], wanted, atol=0.05)
    assert float((read(torch.nn.functional.normalize(other, dim=-1)) - wanted).abs().max()) > 0.3
    assert float((traces[1].plain[2] - traces[1].before[2]).abs().max()) > 0.1


def hears(members, agent):
    """Agent, those it meets, and its parents."""
    who, group = members
    met = who[torch.isin(group, group[who == agent])].tolist()
    return sorted({*met, agent, *{2: [1], 1: [0]}.get(agent, [])})
