"""The gradient loop: blocks in turn, early stopping, best weights, divergence."""

import math

import pytest
import torch
from torch import nn

from sphunc.errors import ArgumentError
from sphunc.forecasting.training import train, update_block


class Plane(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.tensor(4.0))
        self.b = nn.Parameter(torch.tensor(-3.0))


def squares(module: Plane):
    def losses(batch: float) -> dict[str, torch.Tensor]:
        a = (module.a - batch).square()
        b = module.b.square()
        return {"loss": a + b, "a": a, "b": b}

    return losses


def test_the_objective_is_minimised_and_its_parts_are_averaged_over_minibatches() -> None:
    module = Plane()
    history = train(
        module,
        [list(module.parameters())],
        lambda: [1.0, 3.0],
        squares(module),
        lambda: None,
        epochs=1,
        patience=1,
        learning_rate=1e-3,
        weight_decay=0.0,
    )
    # (4 - 1)^2 and about (4 - 3)^2: AdamW moved each parameter by the learning rate in between.
    assert history[0].parts["a"] == pytest.approx((9.0 + (0.999**2)) / 2, rel=1e-3)
    assert history[0].parts["loss"] == pytest.approx(history[0].parts["a"] + history[0].parts["b"])
    train(
        module,
        [list(module.parameters())],
        lambda: [2.0],
        squares(module),
        lambda: None,
        epochs=150,
        patience=1,
        learning_rate=0.1,
        weight_decay=0.0,
    )
    assert float(module.a.detach()) == pytest.approx(2.0, abs=1e-2)
    assert float(module.b.detach()) == pytest.approx(0.0, abs=1e-2)


def test_an_update_moves_its_block_only() -> None:
    module = Plane()
    optimizer = torch.optim.AdamW([module.a], lr=0.1)
    update_block(squares(module)(0.0)["loss"], [module.a], optimizer)
    assert float(module.a.detach()) != 4.0
    assert float(module.b.detach()) == -3.0
    assert module.b.grad is None


def test_each_block_is_updated_on_what_the_blocks_before_it_left() -> None:
    module = Plane()
    values = []

    def losses(_: int) -> dict[str, torch.Tensor]:
        values.append((float(module.a.detach()), float(module.b.detach())))
        return {"loss": module.a.square() + module.b.square()}

    train(
        module,
        [[module.a], [], [module.b]],
        lambda: [0],
        losses,
        lambda: None,
        epochs=1,
        patience=1,
        learning_rate=0.1,
        weight_decay=0.0,
    )
    assert values[0] == (4.0, -3.0)
    assert values[1][0] == pytest.approx(3.9)
    assert values[1][1] == -3.0
    assert float(module.b.detach()) == pytest.approx(-2.9)


def test_training_stops_without_improvement_and_restores_the_best_weights() -> None:
    module = Plane()
    scores = iter([3.0, 1.0, 2.0, 2.0, 2.0, 0.0])
    states = []
    history = train(
        module,
        [list(module.parameters())],
        lambda: [0.0],
        squares(module),
        lambda: next(scores),
        epochs=50,
        patience=3,
        learning_rate=0.1,
        after_epoch=lambda record: states.append((record.epoch, float(module.a.detach()))),
    )
    assert [record.validation for record in history] == [3.0, 1.0, 2.0, 2.0, 2.0]
    assert [record.is_best for record in history] == [True, True, False, False, False]
    assert float(module.a.detach()) == states[1][1]
    assert not module.training


def test_divergence_names_the_learning_rate() -> None:
    module = Plane()
    with pytest.raises(ArgumentError, match=r"learning_rate is 0\.1, and training diverged in epoch 0"):
        train(
            module,
            [list(module.parameters())],
            lambda: [0.0],
            lambda _: {"loss": module.a * math.nan},
            lambda: None,
            epochs=2,
            patience=1,
            learning_rate=0.1,
        )
