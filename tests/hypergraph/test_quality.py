"""Mistakes made on purpose are named; ordinary data, however skewed, is left alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from sphunc.hypergraph import assemble, robust_limits, suspicions, winsorise

TIMES = 6
AGENTS = 120
CELLS = TIMES * AGENTS


def panel(columns, *, outcomes=None, class_names=(), times: Sequence[int] = range(TIMES)):
    values = np.stack(list(columns.values()), axis=1).astype(np.float32)
    count = len(values) // len(times)
    time = np.repeat(np.arange(len(times)), count)
    agent = np.tile(np.arange(count), len(times))
    return assemble(
        times=times,
        node_ids=[f"agent-{i}" for i in range(count)],
        features=(time, agent, values),
        feature_names=list(columns),
        outcomes=None if outcomes is None else (time, agent, outcomes),
        class_names=class_names,
    )


def ordinary(seed, cells=CELLS):
    draw = np.random.default_rng(seed)
    positive = draw.random(cells) < 0.1
    return {
        "normal": draw.normal(size=cells),
        "income": draw.lognormal(9, 1, cells),
        "wealth": draw.lognormal(0, 2, cells),
        "followers": draw.pareto(2, cells),
        "returns": draw.standard_t(3, cells),
        "counts": draw.poisson(0.05, cells),
        "posts": draw.negative_binomial(0.2, 0.02, cells),
        "spending": np.where(positive, draw.lognormal(2, 1, cells), 0),
        "binary": draw.random(cells) < 0.5,
        "rare": np.arange(cells) < 2,
        "single": np.arange(cells) == cells // 2,
        "age": draw.integers(0, 100, cells),
        "year": draw.integers(1950, 2024, cells),
        "likert": draw.integers(1, 6, cells),
        "change": draw.integers(-1, 2, cells),
        "effect": draw.choice([-1, 1], cells),
        "temperature": draw.normal(5, 6, cells).round(),
        "size": np.tile(draw.lognormal(0, 2, cells // TIMES), TIMES),
    }


def spoilt(name, value, places, seed=0):
    columns = ordinary(seed)
    columns[name] = columns[name].astype(float)
    columns[name][places] = value
    return panel(columns)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cells", [60, CELLS, 6000])
def test_ordinary_data_is_above_suspicion_and_left_as_it_is(seed, cells):
    data = panel(ordinary(seed, cells))
    assert suspicions(data) == ()
    kept, sentences = winsorise(data)
    assert kept is data
    assert sentences == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("normal", 1e6),
        ("normal", -40.0),
        ("income", 5e9),
        ("wealth", 1e12),
        ("age", 4200.0),
        ("likert", 444.0),
        ("binary", 31.0),
        ("posts", 1e9),
    ],
)
def test_one_wild_value_is_named_and_pulled_to_the_limit(name, value):
    data = spoilt(name, value, AGENTS * 2 + 7)
    (sentence,) = suspicions(data)
    assert sentence.startswith(f"feature '{name}' of agent 'agent-7' at time 2 is ")
    assert "far from all others" in sentence
    pulled, (warning,) = winsorise(data)
    low, high = robust_limits(data)
    feature = data.feature_names.index(name)
    limit = float(pulled.x[2, 7, feature])
    assert limit == pytest.approx(float(high[feature] if value > 0 else low[feature]), rel=1e-6)
    assert abs(limit) < abs(value)
    assert warning == (
        f"feature '{name}' of agent 'agent-7' at time 2 is {value:g}; it was pulled to the limit {limit:g}"
    )
    rest = torch.ones_like(data.x_mask)
    rest[2, 7, feature] = False
    assert torch.equal(pulled.x[rest], data.x[rest])


def test_the_limit_of_a_normal_feature_is_about_twenty_deviations():
    values = np.random.default_rng(0).normal(3.0, 2.0, 6000)
    low, high = robust_limits(panel({"f": values}))[:, 0].tolist()
    assert 20 * 2 <= high - 3 <= 26 * 2
    assert low + high == pytest.approx(2 * np.median(values.astype(np.float32)), abs=1e-6)


def test_limits_move_with_the_unit_and_the_origin_of_a_feature():
    values = np.random.default_rng(1).normal(size=CELLS)
    limits = robust_limits(panel({"f": values, "g": 1000 * values + 5e4}))
    # The second column rounds to float32 at 5e4, about 0.004 of 1000 units.
    torch.testing.assert_close(limits[:, 1], 1000 * limits[:, 0] + 5e4, rtol=1e-4, atol=0.0)


def test_limits_of_training_data_apply_to_other_data():
    data = panel(ordinary(0))
    wild = spoilt("normal", 500.0, 3)
    pulled, sentences = winsorise(wild, robust_limits(data))
    assert len(sentences) == 1
    assert float(pulled.x[0, 3, 0]) == pytest.approx(float(robust_limits(data)[1, 0]), rel=1e-6)


def test_a_few_wild_values_of_one_agent_are_one_sentence():
    data = spoilt("normal", [1e5, 1.1e5, 0.9e5], [4, AGENTS + 4, 2 * AGENTS + 4])
    (sentence,) = suspicions(data)
    assert "of agent 'agent-4' at time 0 is 100000 (and 2 more values), far from all others" in sentence
    assert winsorise(data)[1][0].endswith("(and 2 more values)")


def test_values_that_are_frequent_are_not_wild():
    data = spoilt("normal", np.random.default_rng(0).normal(1e4, 1, 40), range(40))
    assert winsorise(data)[1] == ()


@pytest.mark.parametrize(
    ("name", "code", "count"),
    [
        ("likert", -9, 30),
        ("likert", 99, 30),
        ("likert", -1, 30),
        ("age", -99, 1),
        ("age", 999, 5),
        ("year", 9999, 3),
        ("normal", -999, 1),
        ("normal", -9, 8),
        ("normal", 99.9, 2),
        ("income", -99, 4),
        ("posts", -9, 2),
        ("binary", 99, 60),
    ],
)
def test_codes_for_missing_values_are_named(name, code, count):
    data = spoilt(name, code, range(count))
    (sentence,) = suspicions(data)
    cells = "1 cell" if count == 1 else f"{count} cells"
    assert sentence.startswith(f"feature '{name}' is {code:g} in {cells} while all others lie between ")
    assert sentence.endswith(f"if {code:g} stands for a missing value, leave these cells empty")


def test_numeric_outcomes_are_looked_at_too():
    scores = np.random.default_rng(0).normal(50, 10, (CELLS, 1))
    columns = {"normal": ordinary(0)["normal"]}
    assert suspicions(panel(columns, outcomes=scores)) == ()
    scores[:4] = -99
    scores[9] = 1e7
    code, wild = suspicions(panel(columns, outcomes=scores))
    assert code.startswith("outcome 'outcome' is -99 in 4 cells")
    assert wild.startswith("outcome 'outcome' of agent 'agent-9' at time 0 is 1e+07")


@pytest.mark.parametrize(
    ("names", "code"),
    [(("1", "2", "3", "99"), "99"), (("-9", "0", "1"), "-9"), (("-1", "0", "1"), ""), (("calm", "upset", "99"), "")],
)
def test_a_class_that_is_a_code_is_named(names, code):
    classes = np.random.default_rng(0).integers(0, len(names), CELLS)
    found = suspicions(panel({"f": ordinary(0)["normal"]}, outcomes=classes, class_names=names))
    if not code:
        assert found == ()
        return
    (sentence,) = found
    count = int((classes == names.index(code)).sum())
    assert sentence.startswith(f"the outcome is class '{code}' in {count} cells while the other classes are ")


def test_gaps_in_time_are_named():
    data = panel({"f": np.random.default_rng(0).normal(size=60)}, times=(1, 2, 3, 5, 6, 9))
    (sentence,) = suspicions(data)
    assert sentence.startswith("times 4, 7, 8 are missing between 1 and 9, whose other steps are equal: ")


def test_constant_and_unobserved_features_are_named():
    columns = {"f": ordinary(0)["normal"], "same": np.full(CELLS, 3.5), "none": np.full(CELLS, np.nan)}
    constant, unobserved = suspicions(panel(columns))
    assert constant.startswith("feature 'same' is 3.5 in all of its 720 cells: it tells nothing")
    assert unobserved.startswith("feature 'none' was never observed")


def test_many_sentences_of_a_kind_are_cut():
    columns = {"f": ordinary(0)["normal"]} | {f"same {i}": np.ones(CELLS) for i in range(9)}
    found = suspicions(panel(columns))
    assert len(found) == 6
    assert found[-1] == "4 more features are constant or were never observed"


def test_an_agent_that_appears_twice_is_named():
    data = panel({"f": ordinary(0)["normal"], "g": ordinary(0)["binary"]})
    x = data.x.clone()
    x[:, 5] = x[:, 2]
    (sentence,) = suspicions(replace(data, x=x))
    assert sentence.startswith("agent 'agent-5' has the same features and outcomes as agent 'agent-2' at all times")
    x[3, 5, 0] += 1
    assert suspicions(replace(data, x=x)) == ()


def test_equal_agents_are_ordinary_where_features_are_few_categories():
    assert suspicions(panel({"sex": np.tile(ordinary(0)["binary"][:AGENTS], TIMES)})) == ()


def test_unobserved_cells_are_never_looked_at():
    columns = ordinary(0)
    columns["normal"] = columns["normal"].astype(float)
    columns["normal"][10:200] = np.nan
    assert suspicions(panel(columns)) == ()


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_tiny_panels_get_an_answer(agents):
    data = panel({"f": np.arange(2 * agents, dtype=float)}, times=(0, 1))
    assert suspicions(data) == ()
    assert winsorise(data) == (data, ())


def test_data_without_features_gets_an_answer():
    data = assemble(times=[0, 1], node_ids="ab")
    assert suspicions(data) == ()
    assert robust_limits(data).shape == (2, 0)
    assert winsorise(data) == (data, ())
