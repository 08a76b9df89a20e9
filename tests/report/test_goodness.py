import numpy as np
import pytest
import torch

import sphunc
from sphunc.errors import DataError
from sphunc.report import GoodnessOfFit, goodness_of_fit
from sphunc.report.goodness import _Panel, class_statistics, joint_p_value


def test_class_statistics_are_those_counted_by_hand() -> None:
    """Three agents, two times: a and b meet, c is alone; a b c go from 0 0 1 to 0 1 1."""
    import polars as pl

    agents = ["a", "b", "c"]
    outcomes = {0: ["x", "x", "y"], 1: ["x", "y", "y"]}
    rows = [
        {"time": t, "agent": i, "outcome": y} for t, ys in outcomes.items() for i, y in zip(agents, ys, strict=True)
    ]
    features = pl.DataFrame([{"time": t, "agent": i, "f": 1.0 * t} for t in (0, 1) for i in agents])
    groups = pl.DataFrame([{"time": 1, "group": "g", "agent": i} for i in ("a", "b")])
    data = sphunc.from_frames(features=features, groups=groups, outcomes=pl.DataFrame(rows))
    assert data.y is not None
    names, _, found = class_statistics(_Panel(data, [0]), [data.y[1].unsqueeze(0)], data.class_names)
    values = dict(zip(names, found[0].tolist(), strict=True))
    assert values == pytest.approx(
        {
            "share of x": 1 / 3,
            "share of y": 2 / 3,
            "x → y": 1 / 2,
            "y → x": 0.0,
            "same as before": 2 / 3,
            "members who agree": 0.0,
        }
    )


def test_observed_statistics_lie_among_those_of_a_fitted_model(
    fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    found = goodness_of_fit(fitted, world_data, samples=60)
    assert found.is_in_sample
    assert found.periods == 6
    assert min(found.family_p_values.values()) > 0.01
    shares = [k for k, family in enumerate(found.families) if family == "class shares"]
    assert found.simulated[:, shares].sum(1) == pytest.approx(1.0)
    table = found.to_table()
    assert len(table) == len(found.names) + len(found.family_p_values)
    assert "in-sample" not in table.note
    assert "The fit saw these periods" in table.note


def test_the_same_seed_gives_the_same_panels(fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    one, two = (goodness_of_fit(fitted, world_data, samples=10, seed=3).simulated for _ in range(2))
    assert np.array_equal(one, two)


def test_a_statistic_far_out_has_the_smallest_p_value() -> None:
    simulated = np.random.default_rng(0).normal(size=(99, 2))
    found = GoodnessOfFit(("far", "near"), ("a", "b"), np.array([9.0, 0.0]), simulated, 1, False)
    assert found.p_values[0] == pytest.approx(2 / 100)
    assert found.p_values[1] > 0.5
    assert found.family_p_values["a"] == pytest.approx(1 / 100)
    assert "Outside of what is simulated: far." in found.to_figure().description
    assert "The fit saw" not in found.to_table().note


def test_joint_p_values_are_uniform_where_the_model_is_true() -> None:
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(3, 3))
    p = [joint_p_value(one[0], one[1:]) for one in (rng.normal(size=(100, 3)) @ mix for _ in range(200))]
    assert 0.42 < np.mean(p) < 0.58
    assert np.mean(np.array(p) < 0.1) < 0.18


def test_shares_that_add_up_to_one_have_a_joint_p_value() -> None:
    shares = np.random.default_rng(2).dirichlet([5, 5, 5], 80)
    assert 0 < joint_p_value(shares[0], shares[1:]) <= 1


def test_numbers_have_level_spread_persistence_and_homophily(
    number_model: sphunc.SphUnc, number_data: sphunc.TemporalHypergraph
) -> None:
    found = goodness_of_fit(number_model, number_data, samples=40)
    assert found.families == ("level", "spread", "persistence", "homophily")
    assert number_data.y is not None
    later = number_data.y[1:].double()
    assert found.observed[0] == pytest.approx(float(later.mean()), rel=1e-5)
    before = number_data.y[:-1].double().flatten()
    correlation = torch.corrcoef(torch.stack([before, later.flatten()]))[0, 1]
    assert found.observed[2] == pytest.approx(float(correlation), rel=1e-4)


def test_a_panel_of_one_time_is_refused(fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    with pytest.raises(DataError, match="goodness_of_fit needs the default model and an outcome that follows"):
        goodness_of_fit(fitted, world_data.until_index(0))
