"""The demonstration runs and shows what it says."""

from pathlib import Path

import pytest
import torch
from rich.console import Console

from sphunc.cli import demo
from sphunc.estimator import SphUnc
from sphunc.worlds import World, simulate


def recorded() -> Console:
    return Console(record=True, width=120)


@pytest.fixture(scope="module")
def world() -> World:
    return simulate("snare", seed=0, agents=60, times=6)


@pytest.fixture(scope="module")
def model(world: World) -> SphUnc:
    past = world.data.until_index(world.data.num_times - 2)
    return SphUnc(seed=0).fit(past, verbose=False)


def test_sphere_shows_exact_entropies_beside_samples() -> None:
    console = recorded()
    demo.show_sphere(console, seed=0)
    text = console.export_text()
    assert "-175.837" in text  # H at kappa = 200, D = 128
    assert text.count("0.") >= 2 * len(demo.DEMO_KAPPAS)


def test_same_seed_same_demonstration() -> None:
    texts = []
    for _ in range(2):
        console = recorded()
        demo.show_sphere(console, seed=3)
        texts.append(console.export_text())
    assert texts[0] == texts[1]


def test_data_are_written_checked_and_read_back(tmp_path: Path) -> None:
    console = recorded()
    data = demo.show_data(console, simulate("snare", seed=0), tmp_path / "tables")
    text = console.export_text()
    assert "the same, value for value" in text
    assert "540" in text
    assert data.num_hyperedges == 1120
    assert {"features.csv", "groups.csv", "outcomes.csv"} <= {path.name for path in (tmp_path / "tables").iterdir()}


def test_fit_says_what_is_held_back_and_what_it_is_worth(world: World) -> None:
    console = recorded()
    fitted = demo.show_fit(console, world.data.until_index(4), SphUnc(seed=0, quick=True))
    text = console.export_text()
    assert "Times 0 to 4 are the past" in text
    assert fitted.verdict_ in text.replace("\n", " ")
    for model, nll in fitted.comparison_.select("model", "nll").iter_rows():
        assert model in text
        assert f"{nll:.3f}" in text


def test_forecasts_stand_beside_what_happened_and_never_saw_it(world: World, model: SphUnc) -> None:
    console = recorded()
    forecast = demo.show_forecast(console, model, world.data)
    assert forecast.target == world.data.times[-1]
    assert model.schema_.last == world.data.times[-2]
    text = console.export_text()
    for heading in ("epistemic", "scaled", "aleatoric", "total", "set", "happened"):
        assert heading in text
    surest = forecast.agents[int(forecast.total.argmin())]
    assert str(surest) in text


def test_quality_has_baselines_oracle_floor_and_band(world: World, model: SphUnc) -> None:
    console = recorded()
    demo.show_quality(console, model, world)
    text = console.export_text()
    for part in ("SphUnc", *demo.BASELINES, "oracle", "floor", "band of perfect calibration", "ECE"):
        assert part in text


def test_influence_stands_beside_the_truth(world: World, model: SphUnc) -> None:
    console = recorded()
    demo.show_influence(console, model.influence(), world)
    text = console.export_text()
    assert "true link" in text
    shown = len(model.influence().top(10))
    assert text.count("yes") + text.count(" no ") >= shown
    assert "Granger" in text


def test_what_if_shows_both_parts_of_the_entropy(world: World, model: SphUnc) -> None:
    console = recorded()
    effect = demo.show_what_if(console, model, world.data.until_index(4), world)
    text = console.export_text()
    # One part is the difference of the other two: adding it again rounds.
    torch.testing.assert_close(effect.within + effect.identification, effect.entropy)
    assert f"{float(effect.entropy.mean()):.3f}" in text
    assert f"{float(effect.identification.mean()):.3f}" in text
    assert str(effect.top_affected(1)["agent"][0]) in text


def test_truth_moves_nobody_when_nothing_is_done(world: World) -> None:
    assert float(demo.true_effect(world, {}, 4).abs().max()) == 0.0
    agent = str(world.data.node_ids[0])
    assert float(demo.true_effect(world, {agent: world.data.class_names[0]}, 4).max()) > 0.0


@pytest.mark.slow
def test_whole_demonstration_leaves_tables_and_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.run(tmp_path / "out")
    text = capsys.readouterr().out
    for part in ("Fitted in", "ECE", "Verdict", "The most probable", "H_causal", "Now yours"):
        assert part in text
    assert SphUnc.load(tmp_path / "out" / "model").verdict_
