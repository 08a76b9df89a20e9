"""Trivial forecasters on the same evidence as the model: majority, persistence, logistic regression, MLP.

Learned peers see, at an origin, the features (standardised, 0 where unobserved), their running means, the last two
outcomes and the outcome frequencies so far; validation origins choose their settings, among them whether they also see
which features were observed. Each stands in two forms: learned from the training origins with a temperature from the
calibration origins, and learned again, with the settings chosen, from every origin before the test.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

import sphunc
from sphunc.evaluation import nll
from sphunc.hypergraph import Split

LEAST = 1e-12
PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
WIDTHS, DECAYS = (64, 256), (1e-2, 3e-1)
MOST_EPOCHS, PATIENCE, BATCH, DROP = 100, 8, 512, 0.2

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What peers see at each origin: ``inputs [T, N, P]``, ``masks [T, N, F]``; the first ``now`` inputs are now."""

    inputs: np.ndarray
    masks: np.ndarray
    now: int
    y: np.ndarray
    y_mask: np.ndarray
    seen: np.ndarray
    classes: int

    def rows(self, origins: Sequence[int], masked: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of the agents seen by each origin whose next outcome is known."""
        parts = [self.at(o, masked)[self.judged(o)] for o in origins]
        return np.concatenate(parts), np.concatenate([self.y[o + 1][self.judged(o)] for o in origins])

    def agents(self, origins: Sequence[int]) -> np.ndarray:
        """Agent of every row."""
        return np.concatenate([np.flatnonzero(self.judged(o)) for o in origins])

    def at(self, origin: int, masked: bool = False) -> np.ndarray:
        """Inputs of all agents at an origin."""
        return np.concatenate([self.inputs[origin], self.masks[origin]], 1) if masked else self.inputs[origin]

    def judged(self, origin: int) -> np.ndarray:
        """True for the agents of :meth:`rows`."""
        return self.y_mask[origin + 1] & self.seen[origin]


def gather(data: sphunc.TemporalHypergraph, stop: int) -> Evidence:
    """Collect the evidence; features are standardised with the times before ``stop``."""
    assert data.y is not None
    mask, y_mask = data.x_mask.numpy(), data.y_mask.numpy()
    x = np.where(mask, standardised(data.x.double().numpy(), mask, stop), 0.0)
    told = np.eye(data.num_classes)[data.y.numpy()] * y_mask[..., None]
    before = np.concatenate([np.zeros_like(told[:1]), told[:-1]])
    blocks = (x, told, before, _mean_so_far(x, mask), _mean_so_far(told, y_mask[..., None]))
    inputs = np.concatenate(blocks, -1).astype(np.float32)
    seen = np.logical_or.accumulate(data.present.numpy(), 0)
    return Evidence(inputs, mask.astype(np.float32), x.shape[-1], data.y.numpy(), y_mask, seen, data.num_classes)


def standardised(x: np.ndarray, mask: np.ndarray, stop: int) -> np.ndarray:
    """Features less their mean, in units of their spread, over the observed entries before ``stop``."""
    count = np.maximum(mask[:stop].sum((0, 1)), 1)
    mean = (x[:stop] * mask[:stop]).sum((0, 1)) / count
    spread = np.sqrt((np.square(x[:stop] - mean) * mask[:stop]).sum((0, 1)) / count)
    return (x - mean) / np.where(spread > 0, spread, 1.0)


def _mean_so_far(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.cumsum(values * mask, 0) / np.maximum(np.cumsum(mask, 0), 1)


def majority(evidence: Evidence, origins: Sequence[int]) -> Predict:
    """Class frequencies of the training targets."""
    count = np.bincount(evidence.rows(origins)[1], minlength=evidence.classes) + 1.0
    return lambda inputs: np.tile(count / count.sum(), (len(inputs), 1))


def persistence(evidence: Evidence, origins: Sequence[int]) -> Predict:
    """What followed the last outcome in training, one count added to each; frequencies where none is known."""
    inputs, labels = evidence.rows(origins)
    last = slice(evidence.now, evidence.now + evidence.classes)
    follow = inputs[:, last].T @ np.eye(evidence.classes)[labels] + 1.0
    follow = np.concatenate([follow, np.bincount(labels, minlength=evidence.classes)[None] + 1.0])
    law = follow / follow.sum(1, keepdims=True)
    return lambda new: law[np.where(new[:, last].any(1), new[:, last].argmax(1), evidence.classes)]


def learn_logistic(inputs: np.ndarray, labels: np.ndarray, classes: int, penalty: float) -> Predict:
    """Multinomial logistic regression."""
    model = LogisticRegression(C=penalty, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, labels)

    def predict(new: np.ndarray) -> np.ndarray:
        probabilities = np.full((len(new), classes), 1e-6)
        probabilities[:, model.classes_] += model.predict_proba(new)
        return probabilities / probabilities.sum(1, keepdims=True)

    return predict


class Mlp(nn.Module):
    """Two hidden layers with dropout, initial weights and dropout from a generator of their own."""

    def __init__(self, inputs: int, width: int, classes: int, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        sizes = (inputs, width, width, classes)
        layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        for layer in layers:
            nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=self.generator)
            nn.init.zeros_(layer.bias)
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
            if self.training:
                x = x * (torch.rand(x.shape, generator=self.generator) >= DROP) / (1.0 - DROP)
        return self.layers[-1](x)


def learn_mlp(
    rows: tuple[np.ndarray, np.ndarray],
    watched: tuple[np.ndarray, np.ndarray] | None,
    classes: int,
    *,
    width: int,
    decay: float,
    seed: int,
    epochs: int = MOST_EPOCHS,
) -> tuple[Predict, int]:
    """Train with AdamW; with ``watched`` rows stop on their likelihood. Returns the forecaster and its epochs."""
    inputs, labels = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    network = Mlp(inputs.shape[1], width, classes, seed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=decay)
    best, best_epoch, kept = np.inf, -1, network.state_dict()
    for epoch in range(epochs):
        _one_pass(network, optimizer, inputs, labels)
        score = -float(epoch) if watched is None else nll(_softmax(network, watched[0]), watched[1], least=LEAST)
        if score < best:
            best, best_epoch = score, epoch
            kept = {name: value.clone() for name, value in network.state_dict().items()}
        elif epoch - best_epoch >= PATIENCE:
            break
    network.load_state_dict(kept)
    return lambda new: _softmax(network, new), best_epoch + 1


def _one_pass(network: Mlp, optimizer: torch.optim.Optimizer, inputs: Tensor, labels: Tensor) -> None:
    network.train()
    for chosen in torch.randperm(len(inputs), generator=network.generator).split(BATCH):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(inputs[chosen]), labels[chosen]).backward()
        optimizer.step()


@torch.no_grad()
def _softmax(network: Mlp, inputs: np.ndarray) -> np.ndarray:
    network.eval()
    return torch.softmax(network(torch.from_numpy(inputs)).double(), -1).numpy()


@dataclass(frozen=True, eq=False)
class Chosen:
    """A learned peer as validation chose it: its forecaster, how to learn it again, and its inputs."""

    predict: Predict
    again: Callable[[np.ndarray, np.ndarray], Predict]
    masked: bool
    score: float


def choose_logistic(evidence: Evidence, train: Sequence[int], validation: Sequence[int]) -> Chosen:
    """Choose penalty, then whether masks help."""
    options = [_logistic(evidence, train, validation, penalty, False) for penalty in PENALTIES]
    place = int(np.argmin([option.score for option in options]))
    with_masks = _logistic(evidence, train, validation, PENALTIES[place], True)
    return min(options[place], with_masks, key=lambda option: option.score)


def _logistic(
    evidence: Evidence, train: Sequence[int], validation: Sequence[int], penalty: float, masked: bool
) -> Chosen:
    def again(inputs: np.ndarray, labels: np.ndarray) -> Predict:
        return learn_logistic(inputs, labels, evidence.classes, penalty)

    predict, held = again(*evidence.rows(train, masked)), evidence.rows(validation, masked)
    return Chosen(predict, again, masked, nll(predict(held[0]), held[1], least=LEAST))


def choose_mlp(evidence: Evidence, train: Sequence[int], validation: Sequence[int], seed: int) -> Chosen:
    """Choose width, weight decay and epochs, then whether masks help."""
    grid = [(width, decay) for width in WIDTHS for decay in DECAYS]
    options = [_mlp(evidence, train, validation, *cell, False, seed) for cell in grid]
    place = int(np.argmin([option.score for option in options]))
    with_masks = _mlp(evidence, train, validation, *grid[place], True, seed)
    return min(options[place], with_masks, key=lambda option: option.score)


def _mlp(
    evidence: Evidence,
    train: Sequence[int],
    validation: Sequence[int],
    width: int,
    decay: float,
    masked: bool,
    seed: int,
) -> Chosen:
    held = evidence.rows(validation, masked)
    settings = {"width": width, "decay": decay, "seed": seed}
    predict, epochs = learn_mlp(evidence.rows(train, masked), held, evidence.classes, **settings)

    def again(inputs: np.ndarray, labels: np.ndarray) -> Predict:
        return learn_mlp((inputs, labels), None, evidence.classes, epochs=epochs, **settings)[0]

    return Chosen(predict, again, masked, nll(predict(held[0]), held[1], least=LEAST))


def temperature(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Scalar that divides the log probabilities, by likelihood."""

    def loss(log_t: float) -> float:
        return nll(tempered(probabilities, float(np.exp(log_t))), labels, least=LEAST)

    best: Any = minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded")
    return float(np.exp(best.x))


def tempered(probabilities: np.ndarray, value: float) -> np.ndarray:
    """Probabilities at another temperature."""
    logits = np.log(np.maximum(probabilities, LEAST)) / value
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def trivial_forecasts(evidence: Evidence, split: Split, seed: int) -> Iterator[tuple[str, Callable[[int], np.ndarray]]]:
    """Yield name and forecaster (from an origin, for all agents) of every trivial model and form."""
    past = (*split.train, *split.validation, *(() if split.shared else split.calibration))
    for name, plain in (("majority", majority), ("persistence", persistence)):
        predict = plain(evidence, past)
        yield name, lambda origin, predict=predict: predict(evidence.at(origin))
    for name, chosen in (
        ("logistic", choose_logistic(evidence, split.train, split.validation)),
        ("MLP", choose_mlp(evidence, split.train, split.validation, seed)),
    ):
        held = evidence.rows(split.calibration, chosen.masked)
        value = temperature(chosen.predict(held[0]), held[1])
        yield name, lambda o, c=chosen, v=value: tempered(c.predict(evidence.at(o, c.masked)), v)
        again = chosen.again(*evidence.rows(past, chosen.masked))
        yield f"{name}, relearned", lambda o, c=chosen, p=again: p(evidence.at(o, c.masked))
