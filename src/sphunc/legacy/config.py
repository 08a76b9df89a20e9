"""Every setting of the model as one frozen value, with the paper's literal preset and its ten ablations."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sphunc.errors import ArgumentError

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SphUncConfig(BaseModel):
    """Settings of :class:`sphunc.SphUnc`; frozen, printable, and the same after a round trip through JSON.

    Numbers are numbers, of Python or numpy: text and, for whole ones, 8.0 are refused.

    Example:
        >>> config = SphUncConfig(dim=16)
        >>> SphUncConfig.model_validate_json(config.model_dump_json()) == config
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)

    dim: Annotated[int, Field(ge=2)] = 128
    """D, dimension of the latent sphere."""
    horizon: Count = 1
    """Steps from the origin of a forecast to its target."""
    layers: Annotated[int, Field(ge=0)] = 3
    """Layers of attention inside groups."""
    dropout: Share = 0.2
    """Probability of dropping an entry of a message while training."""
    aleatoric_width: Count = 64
    """Hidden units of the head that learns the noise of outcomes."""
    samples: Count = 100
    """Monte Carlo draws of simulated interventions."""

    geometry: Literal["sphere", "euclidean"] = "sphere"
    """Where latent states live."""
    attention: Literal["others", "with_self", "dot_product"] = "others"
    """Whom an agent listens to, and how it is weighed; "with_self" is the paper's formula."""
    grouping: Literal["hyperedges", "pairs"] = "hyperedges"
    """Groups as they are, or torn into pairs."""
    initial_projection: Literal["signal", "gaussian"] = "signal"
    """Projection before training: along what lasts from one time to the next, or at random."""
    kappa_from: Literal["direction", "evidence"] = "evidence"
    """What the concentration head reads: the direction alone (the paper), or how much evidence there is."""
    outcome_evidence: bool = True
    """Whether outcomes seen up to the origin are evidence too."""
    direct: bool = True
    """Whether what is plainly seen at the origin (class, features, company, drift) may be read beside the state, where
    it tells the outcomes of others better."""
    support: bool = True
    """Whether concentration shrinks far away from all training states."""
    noise: Literal["logit", "contamination"] = "contamination"
    """How the noise of outcomes acts: it blurs the logits, or some outcomes are drawn at random."""
    uncertainty: Literal["both", "aleatoric", "epistemic"] = "both"
    """Parts that the total uncertainty is made of."""
    fusion: Literal["monotone", "ad_hoc"] = "monotone"
    """Fusion of the parts: non-decreasing by construction, or unconstrained."""
    scm: bool = True
    """Whether influence links act in the forecast."""
    max_lag: Count | None = 1
    """Largest lag of influence; None decides by evidence. Links at a lag above 1 are reported, and do not act."""

    lambda_entropy: Weight = 0.1
    """Weight of the entropy calibration loss, the paper's lambda 1."""
    lambda_causal: Weight = 0.1
    """Weight of the causal loss, the paper's lambda 2."""
    learning_rate: Rate = 1e-2
    """Step size of AdamW."""
    matrix_pace: Rate = 0.1
    """Step size of weight matrices relative to that of single gains: they start where the signal is, and at full pace
    learn the training agents by heart."""
    weight_decay: Weight = 1e-4
    """Weight decay of AdamW."""
    gradient_clip: Rate | None = 1.0
    """Largest norm of a gradient; None leaves gradients alone."""
    updates: Literal["joint", "alternating"] = "joint"
    """All parameters at once, or encoder, concentration, structure and fusion in turn."""
    batch_size: Count | None = None
    """Agents whose outcomes make one step; None takes all of them."""
    epochs: Count = 120
    """Most passes over the training origins."""
    patience: Count = 20
    """Passes without improvement on held-out outcomes before training ends."""
    structure_epochs: Annotated[int, Field(ge=0)] = 20
    """First passes, during which the influence structure is learned anew on a schedule."""
    structure_every: Count = 10
    """Passes between two such renewals."""
    calibrate_links: bool = False
    """Whether the final link probabilities are calibrated on replicas of the data, which takes several times longer."""
    folds: Annotated[int, Field(ge=2)] = 3
    """Parts of the agents for cross-fitting empirical errors."""
    holdout: Literal["auto", "times", "agents"] = "auto"
    """What is held out to stop and to calibrate: later times, or agents in turn; "auto" takes times if there are
    enough."""
    refit: bool = True
    """With held-out times: go on training on all times, for a third of the passes that the held-out times chose."""

    if not TYPE_CHECKING:  # type checkers read the arguments from the fields above

        def __init__(self, **settings: Any) -> None:
            for name in settings:
                check_setting(name)
            try:
                super().__init__(**plain_numbers(settings))
            except ValidationError as error:
                raise ArgumentError("; ".join(map(_fault, error.errors()))) from None

    @classmethod
    def paper(cls) -> SphUncConfig:
        """Return the literal preset: the paper's formulas and its table of hyperparameters, where they say enough."""
        return cls(
            dim=128,
            layers=3,
            dropout=0.3,
            aleatoric_width=64,
            samples=100,
            learning_rate=5e-4,
            matrix_pace=1.0,
            batch_size=256,
            structure_epochs=20,
            attention="with_self",
            initial_projection="gaussian",
            kappa_from="direction",
            noise="logit",
            outcome_evidence=False,
            support=False,
            direct=False,
            max_lag=2,
            updates="alternating",
        )

    @classmethod
    def ablation(cls, name: str, **settings: Any) -> SphUncConfig:
        """Return one row of the paper's table of ablations, on top of the default and ``settings``."""
        if name not in ABLATIONS:
            raise ArgumentError(f"ablation {name!r} is not known; choose one of {', '.join(ABLATIONS)}")
        return cls(**{**settings, **ABLATIONS[name]})


ABLATIONS = MappingProxyType(
    {
        "full": {},
        "euclidean": {"geometry": "euclidean"},
        "only_aleatoric": {"uncertainty": "aleatoric"},
        "only_epistemic": {"uncertainty": "epistemic"},
        "ad_hoc_fusion": {"fusion": "ad_hoc"},
        "no_scm": {"scm": False},
        "no_entropy_loss": {"lambda_entropy": 0.0},
        "no_causal_regularisation": {"lambda_causal": 0.0},
        "dot_product_attention": {"attention": "dot_product"},
        "pairwise_only": {"grouping": "pairs"},
    }
)
"""What each row of the paper's table of ablations changes."""


def plain_numbers(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with numpy's numbers as Python's, which JSON keeps."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}


def check_setting(name: str) -> None:
    """Refuse a name that is no setting, with the one that was probably meant."""
    known = list(SphUncConfig.model_fields)
    if name not in known:
        close = get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ArgumentError(f"{name!r} is not a setting of SphUnc{hint}; allowed: {', '.join(known)}")


def _fault(fault: Mapping[str, Any]) -> str:
    message = fault["msg"]
    return f"{fault['loc'][0]} is {fault['input']!r}: {message[:1].lower()}{message[1:]}"
