"""Settings of the literal model: the paper's tables of hyperparameters and of ablations.

Ablations are the rows of tab. (ablation) of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from sphunc.errors import ArgumentError

Setting = object
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class PaperConfig(BaseModel):
    """Settings of the paper's model; the defaults are the values of its Table "Training hyperparameters".

    The paper gives no value for ``lambda_entropy``, ``lambda_causal``, ``epochs`` and ``patience``.

    Example:
        >>> config = PaperConfig(dim=16)
        >>> PaperConfig.model_validate_json(config.model_dump_json()) == config
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)

    dim: Annotated[int, Field(ge=2)] = 128
    """D, spherical embedding dimension."""
    horizon: Count = 1
    """Delta, time steps from the origin of a forecast to its target."""
    layers: Annotated[int, Field(ge=0)] = 3
    """Message passing layers."""
    dropout: Share = 0.3
    """Probability of dropping an entry of a message while training."""
    aleatoric_width: Count = 64
    """Hidden units of the aleatoric head."""
    samples: Count = 100
    """S, Monte Carlo samples of an intervention."""
    max_lag: Count = 2
    """Lags of the vector autoregression that the structure starts from, and of the links."""

    geometry: Literal["sphere", "euclidean"] = "sphere"
    """Where latent states live; "euclidean" leaves out every normalisation."""
    attention: Literal["angular", "dot_product"] = "angular"
    """Learned temperature kappa_a, or the fixed 1 / sqrt(D) of dot-product attention."""
    grouping: Literal["hyperedges", "pairs"] = "hyperedges"
    """Groups as they are, or every pair of their members as a group of two."""
    uncertainty: Literal["both", "aleatoric", "epistemic"] = "both"
    """Parts that enter the total uncertainty and the predictive distribution."""
    fusion: Literal["monotone", "ad_hoc"] = "monotone"
    """Fusion of the parts: non-decreasing in both, or unconstrained."""
    scm: bool = True
    """Whether there is a structural causal model: links, persistent bias, causal loss."""

    lambda_entropy: Weight = 0.1
    """lambda_1, weight of the entropy calibration loss."""
    lambda_causal: Weight = 0.1
    """lambda_2, weight of the causal loss."""
    learning_rate: Rate = 5e-4
    """Step size of AdamW."""
    batch_size: Count = 256
    """Agents in a minibatch."""
    epochs: Count = 200
    """Most epochs."""
    patience: Count = 20
    """Epochs without improvement on held-out outcomes before training ends."""
    structure_epochs: Annotated[int, Field(ge=0)] = 20
    """Causal structure learning epochs: the posterior of links is refined after each of them."""

    if not TYPE_CHECKING:  # type checkers read the arguments from the fields above

        def __init__(self, **settings: Setting) -> None:
            for name in settings:
                check_setting(name)
            try:
                super().__init__(**python_numbers(settings))
            except ValidationError as error:
                raise ArgumentError("; ".join(map(_fault, error.errors()))) from None

    @classmethod
    def ablation(cls, name: str, **settings: Setting) -> PaperConfig:
        """Return one row of the paper's Table "Ablation study results".

        Args:
            name: a key of :data:`ABLATIONS`.
            settings: other settings that differ from the defaults, the same in every row.
        """
        if name not in ABLATIONS:
            hint = _did_you_mean(name, list(ABLATIONS))
            raise ArgumentError(
                f"ablation is {name!r}, which the paper does not have{hint}; allowed: {', '.join(ABLATIONS)}"
            )
        return make_config({**settings, **ABLATIONS[name]})


ABLATIONS: Mapping[str, Mapping[str, Setting]] = MappingProxyType(
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
"""What each row of the paper's Table "Ablation study results" changes."""


def make_config(settings: Mapping[str, Setting]) -> PaperConfig:
    """Return the configuration with these settings, checked."""
    return PaperConfig(**settings)  # pyright: ignore[reportArgumentType]


def check_setting(name: str) -> None:
    """Refuse a name that is no setting, with the one that was probably meant."""
    allowed = list(PaperConfig.model_fields)
    if name not in allowed:
        hint = _did_you_mean(name, allowed)
        raise ArgumentError(f"{name!r} is not a setting of the paper's model{hint}; allowed: {', '.join(allowed)}")


def python_numbers(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return settings with numpy's numbers as Python's, which JSON can hold."""
    converted: dict[str, Setting] = {}
    for name, value in settings.items():
        converted[name] = value.item() if isinstance(value, np.generic) else value
    return converted


def _fault(fault: ErrorDetails) -> str:
    name = str(fault["loc"][0])
    message = fault["msg"]
    value = fault["input"]
    hint = ""
    if isinstance(value, str):
        choices = [choice for choice in get_args(PaperConfig.model_fields[name].annotation) if isinstance(choice, str)]
        hint = _did_you_mean(value, choices)
    return f"{name} is {value!r}: {message[:1].lower()}{message[1:]}{hint}"


def _did_you_mean(name: str, allowed: list[str]) -> str:
    close = get_close_matches(name, allowed, n=1)
    if not close:
        return ""
    return f" (did you mean {close[0]}?)"
