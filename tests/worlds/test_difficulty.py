"""Difficulty is matched to the paper's tables: means over seeds, as `benchmarks/worlds.py` prints them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sphunc.worlds import simulate

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "worlds.py"
SEEDS = {"snare": 10, "pheme": 10, "amigos": 50}


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("benchmark_worlds", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("preset", SEEDS)
def test_oracle_and_mlp_frame_the_figures_of_the_paper(bench, preset: str) -> None:
    oracle, weakest = [], []
    for seed in range(SEEDS[preset]):
        world = simulate(preset, seed=seed)
        last = world.outcomes[-1].numpy()
        oracle.append(bench.score(preset, last, world.oracle(world.data.num_times - 2).numpy()))
        weakest.append(bench.score(preset, last, bench.mlp_forecast(world)))
    best, worst = bench.PAPER[preset]
    assert best + 3 <= np.mean(oracle) <= best + 8
    assert abs(np.mean(weakest) - worst) <= 3


@pytest.mark.slow
def test_links_and_history_are_worth_having(bench) -> None:
    """What a model can gain: the oracle loses much without the links; past outcomes beat the features at the origin."""
    figures = [bench.measure("snare", seed) for seed in range(5)]
    mean = {name: np.mean([run[name] for run in figures]) for name in figures[0]}
    assert mean["oracle"] > mean["oracle, no links"] + 5
    assert mean["NLL oracle, no group pull"] > mean["NLL oracle"] + 0.01
    assert mean["logistic on history"] > mean["MLP on features"] + 5
    assert mean["oracle"] > mean["logistic on history"] + 4


def test_trivial_forecasts_are_distributions(bench) -> None:
    world = simulate("snare", agents=60)
    for forecast in (bench.mlp_forecast(world), bench.history_forecast(world)):
        np.testing.assert_allclose(forecast.sum(1), 1)
    assert np.abs(bench.without_links(world).law.influence).sum() == 0
