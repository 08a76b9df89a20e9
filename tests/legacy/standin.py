"""A small network and objective that keep the contract of the real ones: quick enough to train in every test."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch
from torch import nn

from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.fitting import Session
from sphunc.legacy.plan import make_plan


@dataclass(frozen=True, eq=False)
class Run:
    log_probabilities: torch.Tensor | None
    mean: torch.Tensor | None
    variance: torch.Tensor
    total: torch.Tensor
    unit: torch.Tensor | None = None
    left_open: torch.Tensor | None = None


class StandIn(nn.Module):
    """Logistic regression on features, the last outcome, and what comes along the links."""

    def __init__(self, num_features, num_outputs, *, numeric, generator, dropout=0.1):
        super().__init__()
        self.numeric, self.dropout, self.outputs = numeric, dropout, num_outputs
        self.encoder = nn.Parameter(torch.randn(6, num_features, generator=generator) / 3)
        self.readout = nn.Parameter(torch.randn(num_outputs, 6, generator=generator) / 3)
        self.noise = nn.Parameter(torch.zeros(()))
        self.doubt = nn.Parameter(torch.zeros(2))
        self.gain = nn.Parameter(torch.ones(()))
        self.register_buffer("scale", torch.ones(num_features))
        self.register_buffer("support", torch.zeros(0, 6))

    def learn_scale(self, observed):
        self.scale.copy_(observed.x.flatten(0, 1).std(0).clamp(min=1e-3))

    def open_reading(self, observed, links, gates, targets):
        pass  # a logistic regression has no scale of its own

    def prepare(self, observed):
        return replace(observed, standard=observed.x / self.scale)

    def standard(self, observed):
        return observed.x / self.scale if observed.standard is None else observed.standard

    def latents(self, observed):
        return nn.functional.normalize(self.standard(observed) @ self.encoder.mT + 1e-6, dim=-1)

    def projected(self, observed):
        return self.standard(observed) @ self.encoder.mT

    def store_support(self, observed):
        self.support = self.latents(observed)[-1].clone()

    def forward(self, observed, links, gates, *, generator=None):
        h = self.latents(observed)
        sent = torch.zeros_like(h).index_add(1, links[1], h[:, links[0]] * gates[:, None])
        h = h + self.gain * sent
        if self.training:
            h = h * torch.empty_like(h).bernoulli_(1 - self.dropout, generator=generator)
        out = h @ self.readout.mT
        spread = h.norm(dim=-1)
        total = torch.sigmoid(self.doubt[0] + self.doubt[1] * spread)
        variance = (self.noise + 0 * spread).exp()
        if self.numeric:
            return Run(None, out, variance.unsqueeze(-1).expand_as(out), total)
        return Run(out.log_softmax(-1), None, variance, total)

    def blocks(self):
        return {
            "encoder": [self.encoder],
            "kappa": [self.doubt],
            "structure": [self.gain],
            "fusion": [self.readout, self.noise],
        }

    def matrices(self):
        return dict.fromkeys([self.encoder, self.readout], 1.0)


def losses(network, run, observed, targets, config, empirical):
    if run.mean is None:
        nll = -run.log_probabilities.gather(-1, targets.outcome[..., None])[..., 0]
    else:
        nll = ((targets.outcome - run.mean).square() / run.variance + run.variance.log()).sum(-1) / 2
    prediction = nll[targets.mask].mean()
    entropy = prediction.new_zeros(())
    if empirical is not None:
        entropy = (run.total - empirical)[targets.mask].square().mean()
    causal = network.gain.square()
    total = prediction + config.lambda_entropy * entropy + config.lambda_causal * causal
    return SimpleNamespace(prediction=prediction, entropy=entropy, causal=causal, total=total)


def session(data, seed=0, split=None, **settings):
    """A session of the stand-in on ``data``."""
    config = SphUncConfig(**{"epochs": 12, "patience": 5, "folds": 2, "structure_epochs": 0, **settings})
    plan = make_plan(data, config.horizon, split, config.holdout)
    outputs = data.num_classes or data.y.shape[-1]

    def make(generator):
        return StandIn(data.num_features, outputs, numeric=not data.class_names, generator=generator)

    return Session(config, data.until_index(plan.stop - 1), plan, seed, make, losses)
