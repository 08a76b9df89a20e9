"""A table from class to class is found where it holds, counts nowhere else, and acts at its horizon."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

import sphunc
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.following import PRIOR_DEVIATION, Following, find_table
from sphunc.model.observed import observe
from sphunc.model.run import Run

AGENTS, CLASSES = 60, 3


def law(logits):
    return torch.log_softmax(logits, -1)


def rows(rule, seed=0, times=8):
    generator = torch.Generator().manual_seed(seed)
    last = torch.randint(CLASSES, (times, AGENTS), generator=generator)
    truth = rule(last, generator)
    told = torch.nn.functional.one_hot(last.flatten(), CLASSES).float()
    agent = torch.arange(AGENTS).expand(times, -1).flatten()
    return told, truth.flatten(), agent


def turn(last, generator):
    return (last + 1) % CLASSES


def toss(last, generator):
    return torch.randint(CLASSES, last.shape, generator=generator)


def test_turns_are_found_whatever_states_say():
    told, truth, agent = rows(turn)
    wrong = 2.0 * told  # states expect everybody to stay
    table = find_table(wrong, told, truth, agent, law)
    assert table is not None
    assert law(wrong + told @ table.float()).argmax(1).equal(truth)


def test_the_table_is_the_likeliest_under_its_prior():
    told, truth, agent = rows(turn, times=3)
    table = find_table(torch.zeros(len(truth), CLASSES), told, truth, agent, law)
    assert table is not None
    free = table.clone().requires_grad_()
    score = law(told.double() @ free).gather(1, truth[:, None]).sum() - (free / PRIOR_DEVIATION).square().sum() / 2
    score.backward()
    assert free.grad.abs().max() < 1e-3 * len(truth)


@pytest.mark.parametrize("seed", range(5))
def test_no_table_where_outcomes_do_not_follow_each_other(seed):
    told, truth, agent = rows(toss, seed)
    assert find_table(torch.zeros(len(truth), CLASSES), told, truth, agent, law) is None


def test_no_table_where_states_say_it_already():
    told, truth, agent = rows(turn)
    known = 6.0 * torch.nn.functional.one_hot(truth, CLASSES).float()
    assert find_table(known, told, truth, agent, law) is None


def test_no_table_where_everybody_stays_since_states_come_to_say_so():
    told, truth, agent = rows(lambda last, generator: last)
    assert find_table(torch.zeros(len(truth), CLASSES), told, truth, agent, law) is None


def test_no_table_from_nothing_or_from_one_agent():
    told, truth, agent = rows(turn)
    none = torch.zeros(0, CLASSES)
    assert find_table(none, none, truth[:0], agent[:0], law) is None
    one = agent == 0
    assert find_table(torch.zeros(int(one.sum()), CLASSES), told[one], truth[one], agent[one], law) is None


def test_it_acts_at_its_horizon_and_then_by_what_is_probable():
    following = Following(CLASSES, horizon=2)
    following.take(torch.arange(9.0).view(3, 3))
    now = torch.ones(1, 4, CLASSES)
    probable = torch.softmax(torch.randn(1, 4, CLASSES, generator=torch.Generator().manual_seed(0)), -1)
    before = [Run(probable.log(), None, *[torch.zeros(1, 4)] * 8)]
    assert following.at(1, now, []) is None
    assert following.at(2, now, before) is now
    torch.testing.assert_close(following.at(3, now, before), probable @ following.table)
    assert following.at(2, None, before) is None


def panel(agents: int = 60, times: int = 7) -> TemporalHypergraph:
    """Everybody takes the next of three classes."""
    rng = np.random.default_rng(0)
    y = (rng.integers(0, 3, agents) + np.arange(times)[:, None]) % 3
    who = [f"a{i:02d}" for i in range(agents)]
    seen = [(t, who[i]) for t in range(times) for i in range(agents)]
    features = pl.DataFrame(seen, schema=["time", "agent"], orient="row")
    features = features.with_columns(f=pl.Series(rng.normal(size=len(seen))), g=pl.Series(rng.normal(size=len(seen))))
    outcomes = pl.DataFrame(seen, schema=["time", "agent"], orient="row")
    outcomes = outcomes.with_columns(outcome=pl.Series(["abc"[c] for c in y.flatten()]))
    met = [(t, f"g{i % 15}", who[i]) for t in range(times) for i in range(agents)]
    return sphunc.from_frames(
        features=features, groups=pl.DataFrame(met, schema=["time", "group", "agent"], orient="row"), outcomes=outcomes
    )


@pytest.fixture(scope="module")
def turning():
    data = panel()
    return data, sphunc.SphUnc(dim=8, epochs=20, seed=0).fit(data.until(5), verbose=False)


def nll(model, data, origin):
    p = model.predict_proba(data, origin=origin)
    return float(-p.gather(1, data.y[origin + model.horizon][:, None]).log().mean())


def test_turns_are_forecast(turning):
    data, model = turning
    assert bool(model.network_.following.counts)
    assert nll(model, data, 5) < 0.3


def test_an_unknown_outcome_adds_nothing(turning):
    data, model = turning
    network = model.network_
    hidden = replace(data, y=torch.zeros_like(data.y), y_mask=torch.zeros_like(data.y_mask))
    assert not network.following(observe(hidden)).any()


def test_without_intervention_the_answer_is_the_forecast_and_turns_go_on(turning):
    data, model = turning
    past = data.until(5)
    effect = model.intervene(data=past, horizon=1, samples=20, seed=0)
    torch.testing.assert_close(effect.probabilities, model.predict(past).probabilities)
    later = model.intervene(data=past, horizon=2, samples=20, seed=0).probabilities
    known = data.y[5]
    assert (later.argmax(1) == (known + 2) % 3).float().mean() > 0.9


def test_a_saved_model_keeps_its_table(turning, tmp_path):
    data, model = turning
    model.save(tmp_path)
    again = sphunc.SphUnc.load(tmp_path)
    assert torch.equal(again.predict_proba(data), model.predict_proba(data))
