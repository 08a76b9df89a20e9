"""What every forecaster must do: a new row of the registry inherits these tests."""

from dataclasses import replace
from functools import partial
from inspect import unwrap

import pytest
import torch

import sphunc
from sphunc.baselines import FORECASTERS, Forecaster, InfluenceForecaster, forecaster, influence_scores, load_forecaster
from sphunc.baselines.networks.hypergcn import HyperGCNEncoder
from sphunc.baselines.registry import forecaster_class
from sphunc.baselines.temporal import Encoding
from sphunc.errors import ArgumentError, ArgumentTypeError, DataError
from sphunc.hypergraph import assemble, comembers, scramble_future, time_split

QUICK: dict[str, dict] = {
    "sphunc": {"dim": 8},
    "sphunc_paper": {"dim": 8, "layers": 1, "epochs": 30, "structure_epochs": 1, "learning_rate": 5e-3},
    "majority": {},
    "persistence": {},
    "boosting": {"rounds": 20, "learning_rate": 0.2},
}
GROUP_WORLD = {"epochs": 60}  # all else as it comes: the defaults must do
SMALL = {"epochs": 15, "width": 16, "hidden": 16, "learning_rate": 5e-3}
OTHER: dict[str, dict] = {
    "gpn": {"learning_rate": 2e-2, "epochs": 30},
    "ensemble": {"of": "hgnn", "members": 2},
    "mc_dropout": {"of": "hgnn", "samples": 30},
}
OURS = ("sphunc", "sphunc_paper")
MONTE_CARLO = {"mc_dropout": 0.15}
"""How far noise that is dealt by position may move a probability."""
NAMES = list(FORECASTERS)
LEARNERS = [name for name in NAMES if name != "majority"]
NETWORKS = ["hypergcn", "sshgnn", "spherenet", "cignn", "causal_sphhn", "hgnn", "unigcnii", "allset", "edhnn"]
GROUP_GAIN = 0.1
"""Nats by which messages must help where groups alone decide; of ln 2 in all."""


def make(name: str, **settings) -> Forecaster:
    return forecaster(name, seed=0, **{**QUICK.get(name, SMALL), **OTHER.get(name, {}), **settings})


def few_epochs(name: str) -> dict:
    """Where what is learned does not matter."""
    return {} if name in QUICK else {"epochs": 2}


@pytest.fixture(scope="module")
def easy():
    """A world without label noise, and few features: the past says much about what comes."""
    world = sphunc.simulate("snare", agents=40, times=9, seed=3, features=6, label_noise=0.0, outcome_blur=0.2)
    return world.data


@pytest.fixture(scope="module")
def easy_split(easy):
    return time_split(easy)


@pytest.fixture(scope="module")
def fitted(easy, easy_split):
    """Fit each forecaster once, when it is first asked for."""
    models: dict[str, Forecaster] = {}

    def get(name: str) -> Forecaster:
        if name not in models:
            models[name] = make(name).fit(easy, easy_split, verbose=False)
        return models[name]

    return get


def nll(model, data, origins) -> float:
    rows = []
    for origin in origins:
        observed = data.y_mask[origin + 1]
        p = model.predict(data, origin_index=origin).probabilities[observed]
        rows.append(-p.gather(1, data.y[origin + 1][observed].unsqueeze(1)).log())
    return float(torch.cat(rows).mean())


@pytest.mark.parametrize("name", NAMES)
def test_is_a_forecaster_and_gives_probabilities(name, fitted, easy) -> None:
    model = fitted(name)
    assert isinstance(model, Forecaster)
    forecast = model.predict(easy)
    assert forecast.probabilities.shape == (easy.num_nodes, easy.num_classes)
    assert forecast.probabilities.sum(-1).tolist() == pytest.approx([1.0] * easy.num_nodes, abs=1e-5)
    assert bool((forecast.probabilities > 0).all())
    assert forecast.total.shape == (easy.num_nodes,)
    assert forecast.to_frame()["agent"].to_list() == list(easy.node_ids)


@pytest.mark.parametrize("name", LEARNERS)
def test_learns_an_easy_world_better_than_majority(name, fitted, easy, easy_split) -> None:
    gain = nll(fitted("majority"), easy, easy_split.test) - nll(fitted(name), easy, easy_split.test)
    assert gain > 0.15, f"{name} is {gain:.3f} nats better than the shares of the classes"


@pytest.fixture(scope="module")
def group_world():
    return decided_by_groups(agents=60, times=12, size=4)


@pytest.fixture(scope="module")
def alone(group_world):
    """Lowest NLL without groups: class frequencies, last outcomes, a recurrent network."""
    split = time_split(group_world)
    models = [make(name).fit(group_world, split, verbose=False) for name in ("majority", "persistence", "recurrent")]
    return min(nll(model, group_world, split.test) for model in models)


@pytest.mark.parametrize("name", NETWORKS)
def test_messages_of_the_groups_of_now_help_where_these_alone_decide(name, group_world, alone) -> None:
    gain = alone - nll_where_groups_decide(name, group_world)
    assert gain > GROUP_GAIN, f"{name} is {gain:.3f} nats better than the best without groups"


def test_an_encoder_without_messages_is_found_out_where_groups_alone_decide(group_world, alone, monkeypatch) -> None:
    encode = HyperGCNEncoder.forward
    monkeypatch.setattr(HyperGCNEncoder, "forward", lambda *given: Encoding(0.0 * encode(*given).state))
    assert alone - nll_where_groups_decide("hypergcn", group_world) < GROUP_GAIN / 2


def nll_where_groups_decide(name, group_world) -> float:
    split = time_split(group_world)
    return nll(forecaster(name, seed=0, **GROUP_WORLD).fit(group_world, split), group_world, split.test)


def decided_by_groups(agents, times, size):
    """Groups and moods are drawn anew at every time; the next outcome is the mood of most of the others in the group.

    An agent's own past and present say nothing of it.
    """
    generator = torch.Generator().manual_seed(0)
    mood = torch.randint(0, 2, (times, agents), generator=generator) * 2.0 - 1.0
    noise = torch.randn(times, agents, 1, generator=generator)  # moods alone would put all agents at two places
    order = torch.stack([torch.randperm(agents, generator=generator) for _ in range(times)])
    together = order.view(times, -1, size)  # [T, groups, size]
    moods = mood.gather(1, order).view_as(together)
    others = (moods.sum(-1, keepdim=True) - moods).flatten(1)
    outcome = torch.zeros(times, agents, dtype=torch.long).scatter(1, order, (others > 0).long())
    time, agent = (
        index.flatten().tolist() for index in torch.meshgrid(*map(torch.arange, (times, agents)), indexing="ij")
    )
    groups = together.flatten(0, 1)
    return assemble(
        times=range(times),
        node_ids=[f"agent-{i}" for i in range(agents)],
        features=(time, agent, torch.cat([mood.unsqueeze(-1), noise], -1).flatten(0, 1).tolist()),
        feature_names=["mood", "noise"],
        hyperedge_ids=[f"group-{e}" for e in range(len(groups))],
        hyperedge_time=[e // together.shape[1] for e in range(len(groups))],
        memberships=([e for e in range(len(groups)) for _ in range(size)], groups.flatten().tolist()),
        outcomes=([t + 1 for t in time[:-agents]], agent[:-agents], outcome[:-1].flatten().tolist()),
        class_names=["low", "high"],
    )


@pytest.mark.parametrize("name", [n for n in NAMES if n not in OURS])  # SphUnc has this in its own tests
def test_the_same_seed_gives_the_same_numbers(name, easy, easy_split) -> None:
    first, second = (
        make(name, **few_epochs(name)).fit(easy, easy_split, verbose=False).predict(easy) for _ in range(2)
    )
    assert torch.equal(first.probabilities, second.probabilities)


@pytest.mark.parametrize("name", NAMES)
def test_a_permutation_of_the_agents_permutes_the_forecast(name, fitted, easy) -> None:
    order = torch.randperm(easy.num_nodes, generator=torch.Generator().manual_seed(0))
    expected = fitted(name).predict(easy).probabilities[order]
    tolerance = MONTE_CARLO.get(name, 2e-5)
    assert torch.allclose(fitted(name).predict(permuted(easy, order)).probabilities, expected, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_saves_and_loads(name, fitted, easy, tmp_path) -> None:
    model = fitted(name)
    model.save(tmp_path)
    loaded = load_forecaster(tmp_path)
    assert type(loaded) is type(model)
    assert {**loaded.get_params(), "device": "cpu"} == {**model.get_params(), "device": "cpu"}
    assert torch.equal(loaded.predict(easy).probabilities, model.predict(easy).probabilities)
    if isinstance(model, InfluenceForecaster):
        assert torch.equal(influence_scores(loaded).score, influence_scores(model).score)


@pytest.mark.parametrize("name", NAMES)
def test_takes_an_agent_that_meets_nobody_and_a_time_when_nobody_meets(name, fitted, easy) -> None:
    alone = without(easy, easy.hyperedge_index[0] == 0)
    empty = without(easy, easy.hyperedge_time[easy.hyperedge_index[1]] == easy.num_times - 1)
    for changed in (alone, empty):
        assert bool(fitted(name).predict(changed).probabilities.isfinite().all())


@pytest.mark.parametrize("name", NAMES)
def test_without_features_goes_by_groups_and_outcomes_or_says_what_is_missing(name, easy, easy_split) -> None:
    bare = replace(easy, x=easy.x[..., :0], x_mask=easy.x_mask[..., :0], feature_names=())
    if name in ("spherenet", "causal_sphhn"):
        with pytest.raises(DataError, match="data has no features"):
            make(name).fit(bare, easy_split, verbose=False)
    else:
        forecast = make(name, **few_epochs(name)).fit(bare, easy_split, verbose=False).predict(bare)
        assert bool(forecast.probabilities.isfinite().all())


@pytest.mark.parametrize("name", NAMES)
def test_takes_agents_that_training_never_saw(name, fitted, easy) -> None:
    unseen = replace(easy, node_ids=tuple(f"new-{i}" for i in range(easy.num_nodes)))
    expected = fitted(name).predict(unseen)
    assert expected.agents[0] == "new-0"
    assert bool(expected.probabilities.isfinite().all())
    # Observed once only: no past, so that all there is to go by is the last time.
    is_new = torch.zeros(easy.num_nodes, dtype=torch.bool)
    is_new[:5] = True
    fresh = absent_before(easy, is_new, easy.num_times - 1)
    forecast = fitted(name).predict(fresh).probabilities
    assert forecast[:5].sum(-1).tolist() == pytest.approx([1.0] * 5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_reads_nothing_after_the_origin(name, fitted, easy) -> None:
    origin = 4
    expected = fitted(name).predict(easy, origin_index=origin).probabilities
    scrambled = scramble_future(easy, origin)
    assert torch.equal(expected, fitted(name).predict(scrambled, origin_index=origin).probabilities)


@pytest.mark.parametrize("name", NAMES)
def test_an_origin_is_given_by_its_label_or_by_its_position(name, fitted, easy) -> None:
    waves = replace(easy, times=tuple(range(1, easy.num_times + 1)))
    by_label = fitted(name).predict(waves, 5)
    by_position = fitted(name).predict(waves, origin_index=4)
    assert (by_label.origin, by_label.target) == (by_position.origin, by_position.target) == (5, 6)
    assert torch.equal(by_label.probabilities, by_position.probabilities)
    with pytest.raises(ArgumentError, match="origin is 5 and origin_index 4; give one of them"):
        fitted(name).predict(waves, 5, origin_index=4)


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(forecaster(name), InfluenceForecaster)])
def test_scores_the_shared_candidates(name, fitted, easy, easy_split) -> None:
    candidates = comembers(easy, easy_split.targets("calibration")[-1] + 1)
    found = influence_scores(fitted(name), candidates)
    assert found.score.shape == (candidates.shape[1],)
    assert bool(found.score.isfinite().all())
    assert len(found.score.unique()) > 10


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OURS])  # SphUnc has this in its own tests
def test_arguments_are_checked(name, fitted, easy) -> None:
    # unwrapped, as users call it: pytest checks annotations, and would refuse it before our own words
    kind = forecaster_class(name)
    made = partial(unwrap(kind.__init__), kind.__new__(kind))
    for horizon in (0, -1):  # 0 would forecast the present
        with pytest.raises(ArgumentError, match=f"horizon={horizon} must be at least 1"):
            forecaster(name, horizon=horizon)
    for horizon in (1.5, "2", True, None):
        with pytest.raises(ArgumentTypeError, match=r"horizon=.* must be a whole number"):
            made(horizon=horizon)
    for seed in (1.5, "a", None):
        with pytest.raises(ArgumentTypeError, match=r"seed=.* must be a whole number"):
            made(seed=seed)
    for position in ("x", 1.0, True):
        with pytest.raises(ArgumentTypeError, match=r"origin_index=.* must be a whole number"):
            unwrap(kind.predict)(fitted(name), easy, origin_index=position)
    for position in (-1, 99):
        with pytest.raises(ArgumentError, match=f"origin_index={position}"):
            fitted(name).predict(easy, origin_index=position)
    with pytest.raises(ArgumentError, match="99"):
        fitted(name).predict(easy, 99)
    with pytest.raises(ArgumentTypeError, match="fit needs data=, a TemporalHypergraph"):
        unwrap(kind.fit)(forecaster(name), "folder")


def permuted(data, order):
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    node, edge = place[data.hyperedge_index[0]], data.hyperedge_index[1]
    sort = (edge * data.num_nodes + node).argsort()
    panel = {name: getattr(data, name)[:, order] for name in ("x", "x_mask", "y", "y_mask")}
    ids = tuple(data.node_ids[i] for i in order.tolist())
    index = torch.stack([node, edge])[:, sort]
    return replace(data, **panel, hyperedge_index=index, node_ids=ids, influence=None, influence_kind="")


def without(data, memberships):
    return replace(data, hyperedge_index=data.hyperedge_index[:, ~memberships], incidence_weight=None)


def absent_before(data, agents, time):
    early = (torch.arange(data.num_times) < time)[:, None] & agents
    x_mask, y_mask = data.x_mask & ~early[..., None], data.y_mask & ~early
    node, edge = data.hyperedge_index
    gone = early[data.hyperedge_time[edge], node]
    return replace(
        without(data, gone),
        x=torch.where(x_mask, data.x, 0.0),
        x_mask=x_mask,
        y=torch.where(y_mask, data.y, 0),
        y_mask=y_mask,
    )
