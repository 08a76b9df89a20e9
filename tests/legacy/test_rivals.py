"""What is plainly seen is kept only where it still helps once both networks are trained; killed runs go on."""

import numpy as np
import polars as pl
import pytest
import torch

import sphunc
from sphunc.legacy.rivals import WITHOUT, is_likelier

AGENTS, TIMES = 60, 7


def panel(*, company: bool) -> sphunc.TemporalHypergraph:
    """Classes that the company of now decides, or ones that agents keep."""
    rng = np.random.default_rng(1)
    x, own = rng.normal(size=(TIMES, AGENTS)), rng.integers(0, 2, AGENTS)
    groups = np.stack([rng.permutation(AGENTS) // 3 for _ in range(TIMES)])
    y = np.tile(own, (TIMES, 1))
    for t in range(1, TIMES if company else 0):
        total = np.array([x[t - 1, groups[t - 1] == g].sum() for g in range(AGENTS // 3)])
        y[t] = total[groups[t - 1]] > 0
    keys = {"time": np.repeat(np.arange(TIMES), AGENTS), "agent": [f"a{i:02d}" for i in range(AGENTS)] * TIMES}
    return sphunc.from_frames(
        features=pl.DataFrame({**keys, "f": x.flatten()}),
        groups=pl.DataFrame({**keys, "group": [f"g{g}" for g in groups.flatten()]}),
        outcomes=pl.DataFrame({**keys, "outcome": [f"c{c}" for c in y.flatten()]}),
    )


def estimator(**settings) -> sphunc.SphUnc:
    return sphunc.SphUnc(dim=8, epochs=4, folds=2, holdout="agents", scm=False, seed=0, **settings)


@pytest.fixture(scope="module")
def whole():
    data = panel(company=True)
    seen = []
    return data, estimator().fit(data, verbose=False, callbacks=[seen.append]), seen


def test_a_rival_is_fitted_where_something_counts_and_what_helps_is_kept(whole) -> None:
    _, model, seen = whole
    assert "company" in model.network_.direct.parts
    first = [(record.stage, record.rival) for record in seen if record.epoch == 0]
    assert first == [("cross-fit", False), ("train", False), ("cross-fit", True), ("train", True)]
    assert not any(record.rival for record in model.history_)
    assert [record.stage for record in model.history_ if record.epoch == 0] == ["cross-fit", "train"]


def test_what_does_not_help_in_the_end_is_left_out(whole, monkeypatch) -> None:
    data, *_ = whole
    monkeypatch.setattr("sphunc.legacy.rivals.is_likelier", lambda gain, agent: False)
    model = estimator().fit(data, verbose=False)
    assert model.network_.direct.parts == ()
    plain = estimator(direct=False).fit(data, verbose=False)
    assert torch.equal(model.predict_proba(data), plain.predict_proba(data))
    assert model.config_.direct


def test_the_gain_is_that_of_the_outcomes_that_neither_learned_from(whole, monkeypatch) -> None:
    data, model, _ = whole
    gains = []
    monkeypatch.setattr("sphunc.legacy.rivals.is_likelier", lambda gain, agent: gains.append(gain) or True)
    monkeypatch.setattr("sphunc.legacy.rivals.FEWEST_TO_CALIBRATE", AGENTS * TIMES)
    estimator().fit(data, verbose=False)
    plain = estimator(direct=False).fit(data, verbose=False)
    best = [min(r.validation for r in one.history_ if r.is_best and r.stage == "cross-fit") for one in (plain, model)]
    assert float(gains[0].mean()) == pytest.approx(best[0] - best[1], abs=1e-4)


def test_where_agents_are_held_out_the_latest_outcomes_decide(whole, monkeypatch) -> None:
    data, *_ = whole
    judged = []
    monkeypatch.setattr("sphunc.legacy.rivals.is_likelier", lambda gain, agent: judged.append(agent) or True)
    estimator().fit(data, verbose=False)
    assert judged[0].tolist() == list(range(AGENTS)) * 2  # two origins have a hundred outcomes


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("after", [3, 9, 11, 14])
def test_a_killed_run_goes_on_to_the_same_result(whole, tmp_path, after) -> None:
    data, model, seen = whole
    assert len(seen) == 16
    passes = []

    def kill(record) -> None:
        passes.append(record)
        if len(passes) == after:
            raise StoppedError

    with pytest.raises(StoppedError):
        estimator().fit(data, checkpoint=tmp_path, verbose=False, callbacks=[kill])
    again = estimator().fit(data, resume=tmp_path, verbose=False)
    assert torch.equal(again.predict_proba(data), model.predict_proba(data))
    assert not (tmp_path / WITHOUT).exists()


def test_a_rival_left_by_another_run_is_forgotten(whole, tmp_path) -> None:
    data, model, _ = whole
    passes = []

    def kill(record) -> None:
        passes.append(record)
        if len(passes) == 12:
            raise StoppedError

    with pytest.raises(StoppedError):
        estimator(learning_rate=0.02).fit(data, checkpoint=tmp_path, verbose=False, callbacks=[kill])
    assert (tmp_path / WITHOUT).exists()
    fresh = estimator().fit(data, checkpoint=tmp_path, verbose=False)
    assert torch.equal(fresh.predict_proba(data), model.predict_proba(data))


def test_a_gain_has_to_be_larger_than_its_error_over_agents() -> None:
    agent = torch.arange(40) // 10
    assert is_likelier(torch.full((40,), 0.001), agent)
    assert not is_likelier(torch.where(agent == 0, 1.0, -0.2), agent)
    assert not is_likelier(torch.zeros(0), torch.zeros(0, dtype=torch.long))
