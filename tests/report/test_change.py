import math

import numpy as np
import pytest
import torch

import sphunc
from sphunc.report import change_over_time
from sphunc.report.change import Steps, linear_by_halves, logit_by_halves, successive_outcomes


def panel(first: float, second: float, agents: int = 400, classes: int = 3, seed: int = 0) -> Steps:
    """Outcomes that persist with a stated log odds in each half, and follow co-members with log odds 1."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    last = torch.randint(classes, (agents,), generator=generator)
    for time in range(8):
        indicator = torch.nn.functional.one_hot(last, classes).double()
        others = indicator[torch.randperm(agents, generator=generator)]
        strength = first if time < 4 else second
        p = torch.softmax(strength * indicator + others, -1)
        following = torch.multinomial(p, 1, generator=generator).squeeze(1)
        late = torch.full((agents,), float(time >= 4), dtype=torch.float64)
        parts.append([torch.arange(agents), late, indicator, others, torch.nn.functional.one_hot(following, classes)])
        last = following
    return Steps(
        *(torch.cat([part[k] for part in parts]).to(torch.int64 if k == 0 else torch.float64) for k in range(5))
    )


def test_logit_finds_persistence_and_influence_of_each_half() -> None:
    estimate, covariance = logit_by_halves(panel(0.5, 1.5))
    errors = covariance.diagonal().sqrt()
    gap = (estimate - torch.tensor([0.5, 1.0, 1.5, 1.0], dtype=torch.float64)) / errors
    assert float(gap.abs().max()) < 3
    assert float(errors.max()) < 0.15


def test_test_of_a_constant_process_holds_its_level() -> None:
    p_values = []
    for seed in range(40):
        estimate, covariance = logit_by_halves(panel(1.0, 1.0, agents=60, seed=seed))
        variance = covariance[0, 0] + covariance[2, 2] - 2 * covariance[0, 2]
        p_values.append(math.erfc(abs(float(estimate[2] - estimate[0])) / math.sqrt(2 * float(variance))))
    assert np.mean(np.array(p_values) < 0.05) <= 0.15
    assert 0.3 < np.mean(p_values) < 0.7


def test_numbers_agree_with_least_squares_on_each_half() -> None:
    generator = torch.Generator().manual_seed(0)
    agent = torch.arange(100).repeat(4)
    late = torch.arange(4).repeat_interleave(100).ge(2).double()
    last = torch.randn(400, 1, generator=generator, dtype=torch.float64)
    others = torch.randn(400, 1, generator=generator, dtype=torch.float64)
    noise = torch.randn(400, 1, generator=generator, dtype=torch.float64)
    following = (0.2 + 0.6 * late).unsqueeze(1) * last + 0.5 * others + 0.1 * noise
    estimate, covariance = linear_by_halves(Steps(agent, late, last, others, following))
    scale = (others.std() / last.std()).item()
    assert estimate.tolist() == pytest.approx([0.2, 0.5 * 1, 0.8, 0.5], abs=0.03 * max(1, scale))
    for half in (0.0, 1.0):
        rows = late == half
        design = torch.cat([torch.ones(200, 1).double(), last[rows], others[rows]], 1)
        direct = torch.linalg.lstsq(design, following[rows]).solution.flatten()
        assert estimate[int(2 * half) : int(2 * half) + 2].tolist() == pytest.approx(direct[1:].tolist(), abs=1e-3)
    assert (covariance.diagonal() > 0).all()


def test_outcomes_that_never_change_give_finite_estimates() -> None:
    steps = panel(50.0, 50.0, agents=20)
    estimate, covariance = logit_by_halves(steps)
    assert estimate.isfinite().all()
    assert covariance.isfinite().all()


def test_halves_share_the_steps_evenly(world_data: sphunc.TemporalHypergraph) -> None:
    steps = successive_outcomes(world_data)
    assert steps is not None
    observed = int((world_data.y_mask[:-1] & world_data.y_mask[1:]).sum())
    assert len(steps.agent) == observed
    assert 0.4 < float(steps.late.mean()) < 0.6
    assert successive_outcomes(world_data.until_index(1)) is None


def test_table_compares_persistence_influence_and_links(
    fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    frame = change_over_time(fitted, world_data).frame
    assert frame["quantity"].to_list() == [
        "persistence (log odds)",
        "co-members' influence (log odds)",
        "influence over links",
    ]
    for row in frame.rows(named=True):
        assert row["difference"] == pytest.approx(row["second_half"] - row["first_half"])
        assert (row["reading"] == "no sign of a change") == (row["p_value"] >= 0.05)


def test_numbers_are_compared_too(number_model: sphunc.SphUnc, number_data: sphunc.TemporalHypergraph) -> None:
    frame = change_over_time(number_model, number_data).frame
    assert frame["quantity"][0] == "persistence"
    assert 0.5 < frame["first_half"][0] < 1.1


def test_two_times_are_too_few(fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    import copy
    from dataclasses import replace

    bare = copy.copy(fitted)
    predictor = replace(fitted.model_.predictor, states=None)
    bare.model_ = replace(fitted.model_, predictor=predictor)
    table = change_over_time(bare, world_data.until_index(1))
    assert len(table) == 0
    assert table.note == "Too few times with outcomes to compare two halves."
