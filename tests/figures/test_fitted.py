"""Figures of a fitted model: of classes with later outcomes, of numbers, of the paper's model."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.figures import draw_fitted, effect_rows


@pytest.fixture(scope="module")
def world() -> sphunc.World:
    return sphunc.simulate("snare", agents=60, times=9, seed=2)


@pytest.fixture(scope="module")
def model(world: sphunc.World) -> sphunc.SphUnc:
    return sphunc.SphUnc(seed=0).fit(world.data.until_index(6), verbose=False)


def test_later_outcomes_give_the_figures_of_forecasts(world: sphunc.World, model: sphunc.SphUnc) -> None:
    drawn = {figure.name for figure in draw_fitted(model, world.data)}
    wanted = {"kappa-histogram", "kappa-box", "reliability", "risk-coverage", "uncertainty", "epistemic-error"}
    assert wanted | {"link-calibration"} <= drawn
    # States have no weight in the forecast: setting one has no effect to be drawn.
    assert not {"effects", "intervention-strength"} & drawn


def test_without_later_outcomes_there_is_no_reliability(world: sphunc.World, model: sphunc.SphUnc) -> None:
    drawn = {figure.name for figure in draw_fitted(model, world.data.until_index(6))}
    assert "reliability" not in drawn
    assert "kappa-histogram" in drawn


def test_numbers_have_figures_too(world: sphunc.World) -> None:
    y = world.data.x[..., :1].clone()
    data = replace(world.data, y=y, y_mask=world.data.x_mask[..., 0], class_names=())
    fitted = sphunc.SphUnc(quick=True, seed=0).fit(data, verbose=False)
    assert {"kappa-histogram", "kappa-box"} <= {figure.name for figure in draw_fitted(fitted, data)}


def test_the_paper_has_its_epochs(world: sphunc.World) -> None:
    config = sphunc.SphUncConfig.paper(dim=4, epochs=2)
    fitted = sphunc.SphUnc(config, seed=0).fit(world.data, verbose=False)
    assert {"losses", "ece-p10"} <= {figure.name for figure in draw_fitted(fitted, world.data)}


def test_effects_are_sorted_and_leave_out_the_agent_itself(world: sphunc.World, model: sphunc.SphUnc) -> None:
    agent = world.data.node_ids[0]
    name = world.data.class_names[0]
    plan = sphunc.Do(agent, outcome=name)
    effect = model.intervene(plan, data=world.data, horizon=2, samples=40, seed=0)
    rows = effect_rows(effect, name, 5)
    assert rows.height == 5
    assert agent not in rows["name"].to_list()
    sizes = rows["change"].abs().to_list()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(float(effect.difference[~effect.intervened, 0].abs().max()))
    assert torch.isfinite(torch.tensor(rows["monte_carlo_error"].to_list())).all()
