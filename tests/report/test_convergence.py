import copy
from dataclasses import replace

import torch

import sphunc
from sphunc.report import convergence


def found(model: sphunc.SphUnc) -> dict[str, dict]:
    return {row["what"]: row for row in convergence(model).frame.rows(named=True)}


def test_a_finished_fit_asks_for_nothing(fitted: sphunc.SphUnc) -> None:
    rows = found(fitted)
    assert rows["the fit"]["ended_by_itself"]
    assert rows["the fit"]["what_to_do"] == "nothing"
    assert rows["base regression"]["ended_by_itself"]
    assert "split R-hat" in rows["sampler of the links"]["found"]


def test_chains_that_differ_are_named(fitted: sphunc.SphUnc) -> None:
    model = copy.copy(fitted)
    predictor = fitted.model_.predictor
    draws = torch.zeros_like(predictor.states.structure.draws)
    draws[1::2, :, 0] = 1.0
    structure = replace(predictor.states.structure, draws=draws)
    states = replace(predictor.states, structure=structure)
    model.model_ = replace(fitted.model_, predictor=replace(predictor, states=states))
    row = found(model)["sampler of the links"]
    assert row["ended_by_itself"] is False
    assert "other seeds" in row["what_to_do"]


def test_a_fit_that_stopped_and_one_without_calibration_say_what_to_do(fitted: sphunc.SphUnc) -> None:
    model = copy.copy(fitted)
    model.history_ = fitted.history_[:-1]
    model.model_ = replace(fitted.model_, held_out="nothing")
    rows = found(model)
    assert rows["the fit"]["found"] == f"stopped at: {fitted.history_[-2].stage}"
    assert "resume" in rows["the fit"]["what_to_do"]
    assert rows["calibration"]["what_to_do"] == "observe more agents or more times"


def test_a_changed_process_is_named(quick: sphunc.SphUnc) -> None:
    model = copy.copy(quick)
    predictor = quick.model_.predictor
    base = replace(predictor.base, half_life=2.0)
    model.model_ = replace(quick.model_, predictor=replace(predictor, base=base))
    assert "count half after 2 times" in found(model)["stationarity"]["found"]


def test_the_paper_model_counts_its_epochs(world_data: sphunc.TemporalHypergraph) -> None:
    config = sphunc.SphUncConfig.paper(dim=4, epochs=1, structure_epochs=1)
    model = sphunc.SphUnc(config, seed=0).fit(world_data.until_index(2), verbose=False)
    row = found(model)["training"]
    assert row["found"] == "1 of 1 epochs"
    assert row["ended_by_itself"] is False
