"""What is plainly seen: its equation, its horizon, and panels that no state could forecast."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

import sphunc
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.direct import EVERYBODY, REACH, Direct, plain_of, told_classes, told_numbers
from sphunc.legacy.direct_choice import Block, Choice
from sphunc.legacy.observed import observe

AGENTS, TIMES, TRAINED = 80, 10, 9


def adopt(rng, x, groups):
    """Taken up with time, and never given up."""
    y = np.zeros(x.shape[:2], dtype=int)
    for t in range(1, TIMES):
        y[t] = y[t - 1] | (rng.random(AGENTS) < 0.1)
    return y


def turn(rng, x, groups):
    return (rng.integers(0, 3, AGENTS) + np.arange(TIMES)[:, None]) % 3


def fresh(rng, x, groups):
    """A feature drawn anew decides what comes next."""
    return np.concatenate([np.zeros((1, AGENTS), dtype=int), (x[:-1, :, 0] > 0).astype(int)])


def company(rng, x, groups):
    """What the others of a group show decides what comes next."""
    y = np.zeros(x.shape[:2], dtype=int)
    for t in range(1, TIMES):
        total = np.array([x[t - 1, groups[t - 1] == g, 0].sum() for g in range(AGENTS // 4)])
        y[t] = total[groups[t - 1]] - x[t - 1, :, 0] > 0
    return y


def drift(rng, x, groups):
    """Everybody is ever more likely to be 1."""
    p = 1.0 / (1.0 + np.exp(-np.linspace(-3.0, 3.0, TIMES)))
    return (rng.random((TIMES, AGENTS)) < p[:, None]).astype(int)


def toss(rng, x, groups):
    return rng.integers(0, 2, x.shape[:2])


def level(rng, x, groups):
    """A number that a feature of now decides."""
    return np.concatenate([np.zeros((1, AGENTS)), 2.0 * x[:-1, :, 0]]) + 0.3 * rng.normal(size=x.shape[:2])


def panel(rule, seed: int = 0) -> TemporalHypergraph:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(TIMES, AGENTS, 3))
    groups = np.stack([rng.permutation(AGENTS) // 4 for _ in range(TIMES)])
    y = rule(rng, x, groups)
    keys = {"time": np.repeat(np.arange(TIMES), AGENTS), "agent": [f"a{i:02d}" for i in range(AGENTS)] * TIMES}
    outcome = [f"c{c}" for c in y.flatten()] if y.dtype == int else y.flatten()
    return sphunc.from_frames(
        features=pl.DataFrame({**keys, **{f"f{k}": x[:, :, k].flatten() for k in range(3)}}),
        groups=pl.DataFrame({**keys, "group": [f"g{g}" for g in groups.flatten()]}),
        outcomes=pl.DataFrame({**keys, "outcome": outcome}),
    )


def of(direct: Direct, *names: str) -> tuple[Block, ...]:
    return tuple(block for block in direct.blocks() if block.name in names)


def fitted(data: TemporalHypergraph, **settings) -> sphunc.SphUnc:
    quick = {"dim": 8, "epochs": 15, "scm": False, "lambda_entropy": 0.0}
    return sphunc.SphUnc(**{**quick, **settings}, seed=0).fit(data.until_index(TRAINED - 1), verbose=False)


def test_it_is_its_equation() -> None:
    data = panel(turn)
    observed, x = observe(data), data.x * 4.0
    frequency = torch.tensor([0.2, 0.3, 0.5])
    plain = plain_of(observed, x, *told_classes(observed.y, observed.y_mask, frequency))
    phi, t, i = plain.inputs(), 3, 5
    told, seen = torch.eye(3)[data.y[t]], x[t].clamp(-REACH, REACH)
    edges = [g for n, g in data.hyperedge_index.T.tolist() if n == i and data.hyperedge_time[g] == t]
    assert len(edges) == 1
    together = [n for n, g in data.hyperedge_index.T.tolist() if g == edges[0]]
    among = [
        ((torch.eye(3)[data.y[s]].sum(0) + EVERYBODY * frequency) / (AGENTS + EVERYBODY) / frequency).log()
        for s in (t - 1, t)
    ]
    own = torch.cat([told, seen], -1)
    wanted = torch.cat([own[i], own[together].mean(0), among[1], among[1] - among[0], torch.ones(1)])
    torch.testing.assert_close(phi[t, i], wanted)
    direct = Direct(3, 3)
    direct.take(Choice(of(direct, "now", "features")), torch.arange(float(len(wanted) * 3)).view(-1, 3))
    assert direct.parts == ("now", "features")
    torch.testing.assert_close(direct(plain)[t, i], wanted[:6] @ torch.arange(18.0).view(6, 3))


def test_what_is_not_known_says_nothing() -> None:
    data = panel(turn)
    hidden = torch.zeros_like(data.y_mask)
    told, among = told_classes(data.y, hidden, torch.full((3,), 1 / 3))
    assert not told.any()
    assert not among.any()
    told, among = told_numbers(torch.ones(TIMES, AGENTS, 1), hidden)
    assert not told.any()
    assert not among.any()


def test_alone_there_is_no_company() -> None:
    data = panel(turn)
    none = replace(data, hyperedge_index=data.hyperedge_index[:, :0])
    observed = observe(none)
    plain = plain_of(observed, data.x, *told_classes(data.y, data.y_mask, torch.full((3,), 1 / 3)))
    assert not plain.inputs()[..., 6:12].any()


def test_features_fade_as_they_did_in_training_and_outcomes_become_probable() -> None:
    data = panel(turn)
    direct = Direct(3, 3)
    x = data.x.clone()
    x[:, :, 1] = x[0, :, 1]  # lasts
    x[:, :, 2] = x[0, :, 2] * (-1.0) ** torch.arange(TIMES).unsqueeze(1)  # turns: no share of it is left
    direct.learn_keeping(x, data.present)
    assert direct.keeps[1] == pytest.approx(1.0)
    assert direct.keeps[2] == 0.0
    direct.take(Choice(of(direct, "now", "features")), torch.eye(19, 3) + torch.eye(19, 3).roll(3, 0))
    plain = plain_of(observe(data), x, *told_classes(data.y, data.y_mask, torch.full((3,), 1 / 3))).at(2)
    probable = torch.full((1, AGENTS, 3), 1 / 3)
    torch.testing.assert_close(direct.later(plain, probable, 2), probable + direct.keeps**2 * plain.x)


def nll(model: sphunc.SphUnc, data: TemporalHypergraph) -> float:
    return -model.score(data, origins=[TRAINED - 1])


@pytest.mark.parametrize(
    ("rule", "parts", "most"),
    [
        (adopt, "now", 0.35),
        (turn, "now", 0.3),
        (fresh, "features", 0.4),
        (company, "company", 0.55),
        (drift, "drift", 0.3),
    ],
)
def test_it_is_found_where_states_cannot_carry_it(rule, parts, most) -> None:
    data = panel(rule)
    model = fitted(data)
    assert parts in model.network_.direct.parts
    assert nll(model, data) < most


def test_numbers_that_a_feature_decides() -> None:
    data = panel(level)
    with_it, without = fitted(data), fitted(data, direct=False)
    assert with_it.network_.direct.parts == ("features",)
    assert nll(with_it, data) < 0.5  # 0.22 for who knows the law
    assert nll(with_it, data) < nll(without, data) - 0.3


def test_nothing_is_found_in_chance() -> None:
    assert fitted(panel(toss)).network_.direct.parts == ()


def test_geometry_alone_differs_in_the_euclidean_ablation() -> None:
    data = panel(turn)
    model = fitted(data, geometry="euclidean")
    assert model.network_.direct.parts == ("now",)
    assert nll(model, data) < 0.3


def test_who_has_outcomes_does_not_decide_what_counts() -> None:
    data = panel(turn)
    even = torch.arange(AGENTS) % 2 == 0
    half = replace(data, y_mask=data.y_mask & even, y=data.y * even)
    assert fitted(half).network_.direct.parts == ("now",)


def test_it_can_be_left_out() -> None:
    assert fitted(panel(turn), direct=False).network_.direct.parts == ()
    assert not sphunc.SphUncConfig.paper().direct


@pytest.fixture(scope="module")
def turning():
    data = panel(turn)
    return data, fitted(data, scm=True)


def test_without_intervention_the_answer_is_the_forecast_and_turns_go_on(turning) -> None:
    data, model = turning
    past = data.until_index(TRAINED - 1)
    effect = model.intervene(data=past, horizon=1, samples=20, seed=0)
    torch.testing.assert_close(effect.probabilities, model.predict(past).probabilities)
    later = model.intervene(data=past, horizon=2, samples=20, seed=0).probabilities
    assert (later.argmax(1) == (data.y[TRAINED - 1] + 2) % 3).float().mean() > 0.9


def test_the_future_says_nothing(turning) -> None:
    data, model = turning
    changed = replace(data, y=(data.y + 1) % 3, x=data.x + 1.0)
    early = TRAINED - 2
    mixed = replace(
        data,
        y=torch.cat([data.y[: early + 1], changed.y[early + 1 :]]),
        x=torch.cat([data.x[: early + 1], changed.x[early + 1 :]]),
    )
    assert torch.equal(model.predict_proba(data, origin=early), model.predict_proba(mixed, origin=early))


def test_a_saved_model_keeps_it(turning, tmp_path) -> None:
    data, model = turning
    model.save(tmp_path)
    again = sphunc.SphUnc.load(tmp_path)
    assert again.network_.direct.parts == ("now",)
    assert torch.equal(again.predict_proba(data), model.predict_proba(data))
