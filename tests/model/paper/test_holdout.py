"""Which outcomes train, calibrate and validate."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper.holdout import hold_out


@pytest.fixture(scope="module")
def long() -> TemporalHypergraph:
    return sphunc.simulate("snare", agents=20, times=10, seed=1).data


@pytest.mark.parametrize("horizon", [1, 2])
def test_later_origins_are_held_out_where_times_are_many(
    long: TemporalHypergraph, horizon: int, generator: torch.Generator
) -> None:
    targets, stop = hold_out(long, horizon, generator)
    held = targets.calibration | targets.validation
    last_trained = int(targets.train.any(1).nonzero().max())
    first_held = int(held.any(1).nonzero().min())
    # Whatever training reads is known at the first held-out origin.
    assert stop == last_trained + horizon + 1
    assert stop <= first_held + 1
    assert not bool((targets.calibration & targets.validation).any())
    rows = long.num_times - horizon
    assert torch.equal(targets.outcome[:rows], long.y[horizon:])
    assert not (targets.train | held)[rows:].any()
    assert bool(((targets.train | held)[:rows] <= long.y_mask[horizon:]).all())


def test_agents_are_held_out_where_times_are_few(data: TemporalHypergraph, generator: torch.Generator) -> None:
    targets, stop = hold_out(data, 1, generator)
    held = targets.calibration | targets.validation
    assert stop == data.num_times
    assert not bool((held.any(0) & targets.train.any(0)).any())
    assert int(held.any(0).sum()) == 8  # a fifth of 40
    assert not bool((targets.calibration & targets.validation).any())


def test_a_single_agent_trains_and_nothing_is_held_out(data: TemporalHypergraph, generator: torch.Generator) -> None:
    mask = torch.zeros_like(data.y_mask)
    mask[:, 0] = True
    mask &= data.y_mask
    alone = replace(data, y_mask=mask, y=data.y * mask)
    for seed in range(5):
        targets, _ = hold_out(alone, 1, generator.manual_seed(seed))
        assert bool(targets.train.any())
