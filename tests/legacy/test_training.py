"""The loop learns, judges what it did not learn from, updates block by block when told, and keeps the best pass."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from standin import losses, session

from sphunc.errors import ArgumentError
from sphunc.legacy.fitting import Carry, make_stage
from sphunc.legacy.targets import Targets
from sphunc.legacy.training import _is_better, advance, batches, judge, make_optimizer, restore_best, train_step, turns


def stage_of(data, name="train", carry=None, **settings):
    made = session(data, **{"holdout": "agents" if name == "cross-fit" else "times", **settings})
    return made.config, make_stage(made, name, carry or Carry())


def test_training_lowers_the_loss_and_the_record_tells(long_data):
    config, stage = stage_of(long_data, learning_rate=0.02, scm=False)
    records = [advance(stage, config, losses) for _ in range(12)]
    assert records[-1].prediction < records[0].prediction - 0.05
    assert [record.epoch for record in records] == list(range(12))
    assert all(math.isfinite(record.validation) and 0 <= record.ece <= 1 for record in records)
    assert stage.lowest_score == min(record.validation for record in records[stage.best_epoch :])


def test_the_best_pass_is_restored(long_data):
    config, stage = stage_of(long_data, learning_rate=0.5, matrix_pace=1.0, scm=False)
    records = [advance(stage, config, losses) for _ in range(8)]
    restore_best(stage)
    held = judge(stage).rows(stage.judged.mask)
    again = float(held.surprise(stage.judged.outcome[stage.judged.mask]).mean())
    assert again == pytest.approx(records[stage.best_epoch].validation, abs=1e-6)
    assert not any(record.is_best for record in records[stage.best_epoch + 1 :])
    assert [record.is_best for record in records].count(True) < 8


def test_first_passes_are_never_the_best(long_data):
    config, stage = stage_of(long_data, learning_rate=0.5, scm=False)
    stage.epochs = 60
    records = [advance(stage, config, losses) for _ in range(8)]
    assert all(record.is_best for record in records[:6])
    assert stage.best_epoch >= 5


def test_patience_ends_a_stage(long_data):
    config, stage = stage_of(long_data, learning_rate=1.0, scm=False)
    stage.epochs = 1000
    while not stage.is_over(3):
        advance(stage, config, losses)
    assert stage.epoch - 1 - stage.lowest_epoch == 3


def test_a_later_pass_has_to_be_better_by_a_standard_error(long_data):
    config, stage = stage_of(long_data, scm=False)
    advance(stage, config, losses)
    truth = stage.judged.outcome[stage.judged.mask]
    best = stage.best_outlook
    assert not _is_better(best, stage)
    chance = torch.zeros(stage.judged.mask.shape)
    chance[stage.judged.mask] = torch.randn(len(truth), generator=torch.Generator().manual_seed(0))
    for shift, is_better in ((0.05, False), (0.5, True)):
        log_p = best.log_probabilities.clone()
        there = stage.judged.outcome.unsqueeze(-1)
        gain = shift + chance - chance[stage.judged.mask].mean()
        log_p.scatter_add_(-1, there, gain.unsqueeze(-1) * stage.judged.mask.unsqueeze(-1))
        assert _is_better(replace(best, log_probabilities=log_p), stage) is is_better


def test_alternating_updates_move_one_block_at_a_time(long_data):
    config, stage = stage_of(long_data, updates="alternating", scm=False, weight_decay=0.0)
    member = stage.members[0]
    assert [len(block) for block in turns(member.network, config)] == [1, 1, 1, 2]
    moved = []

    class Watch:
        def zero_grad(self, set_to_none):
            member.network.zero_grad(set_to_none=set_to_none)

        def step(self):
            moved.append([name for name, p in member.network.named_parameters() if p.grad is not None])

    member.optimizer = Watch()
    train_step(member, member.targets, stage, config, losses)
    assert moved == [["encoder"], [], ["gain"], ["readout"]]  # kappa waits for errors to be held to


def test_joint_updates_move_everything_at_once(long_data):
    config, stage = stage_of(long_data, scm=False)
    assert [len(block) for block in turns(stage.members[0].network, config)] == [5]


def test_every_parameter_is_optimised_once(long_data):
    config, stage = stage_of(long_data, scm=False)
    network = stage.members[0].network
    groups = make_optimizer(network, config).param_groups
    assert sorted(id(p) for group in groups for p in group["params"]) == sorted(map(id, network.parameters()))


@pytest.mark.parametrize("settings", [{}, {"matrix_pace": 0.25, "learning_rate": 0.02}, {"matrix_pace": 1.0}])
def test_matrices_learn_at_their_own_pace(long_data, settings):
    config, stage = stage_of(long_data, scm=False, **settings)
    network: Any = stage.members[0].network
    rates = {id(p): group["lr"] for group in make_optimizer(network, config).param_groups for p in group["params"]}
    slow = config.learning_rate * config.matrix_pace
    assert [rates[id(p)] for p in (network.encoder, network.readout)] == pytest.approx([slow] * 2)
    gains = (network.noise, network.doubt, network.gain)
    assert [rates[id(p)] for p in gains] == pytest.approx([config.learning_rate] * 3)


def test_slower_matrices_move_less_and_gains_as_before(long_data):
    moves = []
    for pace in (1.0, 0.1):
        config, stage = stage_of(long_data, scm=False, weight_decay=0.0, matrix_pace=pace)
        member = stage.members[0]
        before = {name: p.detach().clone() for name, p in member.network.named_parameters()}
        train_step(member, member.targets, stage, config, losses)
        moves.append({name: p.detach() - before[name] for name, p in member.network.named_parameters()})
    for matrix in ("encoder", "readout"):
        torch.testing.assert_close(moves[1][matrix], 0.1 * moves[0][matrix], atol=1e-6, rtol=1e-3)
        assert moves[0][matrix].any()
    for gain in ("gain", "noise", "doubt"):
        assert torch.equal(moves[1][gain], moves[0][gain])
    assert moves[0]["gain"].any()


def test_batches_part_the_agents():
    targets = Targets(torch.zeros(2, 7, dtype=torch.long), torch.ones(2, 7, dtype=torch.bool))
    parts = list(batches(targets, 3, torch.Generator().manual_seed(0)))
    assert [part.count for part in parts] == [6, 6, 2]
    assert torch.equal(sum(part.mask.long() for part in parts), torch.ones(2, 7, dtype=torch.long))
    assert list(batches(targets, None, torch.Generator())) == [targets]


def test_folds_judge_only_what_they_did_not_learn(short_data):
    _, stage = stage_of(short_data, "cross-fit", scm=False)
    for k, member in enumerate(stage.members):
        assert not (member.targets.mask & (stage.fold == k)).any()
    total = sum(member.targets.mask.long() for member in stage.members)
    assert torch.equal(total, stage.judged.mask.long() * (len(stage.members) - 1))


def test_cross_fitted_errors_come_from_the_network_that_did_not_learn(short_data):
    config, stage = stage_of(short_data, "cross-fit", scm=False)
    assert stage.empirical is None
    advance(stage, config, losses)
    outlook = judge(stage)
    expected = outlook.squared_error(stage.judged.outcome, stage.judged.mask)
    assert torch.allclose(stage.empirical, expected)
    for k, member in enumerate(stage.members):
        run = member.network(stage.watched, stage.structure.links, stage.structure.gates)
        mine = stage.fold == k
        assert torch.equal(run.log_probabilities[:, mine], outlook.log_probabilities[:, mine])


def test_a_loss_that_explodes_is_reported(long_data):
    config, stage = stage_of(long_data, scm=False, learning_rate=0.004)
    with torch.no_grad():
        stage.members[0].network.readout.fill_(math.nan)
    with pytest.raises(
        ArgumentError, match=r"learning_rate is 0.004, and training diverged in pass 0 \(the loss became nan\); choose"
    ):
        advance(stage, config, losses)
