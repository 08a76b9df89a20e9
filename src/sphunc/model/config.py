"""Settings of the default model; `SphUncConfig.paper()` gives those of the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sphunc._checks import did_you_mean
from sphunc.errors import ArgumentError
from sphunc.model.paper.config import PaperConfig

Setting = int | float | str | bool | np.generic | None
REMOVED = {
    "layers": "a setting of the paper's model: SphUncConfig.paper(layers=...)",
    "epochs": "a setting of the paper's model: SphUncConfig.paper(epochs=...); the default needs no epochs",
    "patience": "a setting of the paper's model: SphUncConfig.paper(patience=...)",
    "dropout": "a setting of the paper's model: SphUncConfig.paper(dropout=...)",
    "folds": "gone: the fit chooses what it holds out",
    "holdout": "gone: the fit chooses what it holds out",
    "direct": "gone: covariates are always used; quick=True uses them alone",
    "scm": "a setting of the paper's model: SphUncConfig.paper(scm=...)",
    "refit": "gone: the fit always ends with all data",
    "learning_rate": "a setting of the paper's model: SphUncConfig.paper(learning_rate=...)",
    "batch_size": "a setting of the paper's model: SphUncConfig.paper(batch_size=...)",
    "lambda_entropy": "a setting of the paper's model: SphUncConfig.paper(lambda_entropy=...)",
    "lambda_causal": "a setting of the paper's model: SphUncConfig.paper(lambda_causal=...)",
    "geometry": "a setting of the paper's model: SphUncConfig.paper(geometry=...)",
    "attention": "a setting of the paper's model: SphUncConfig.paper(attention=...)",
    "grouping": "a setting of the paper's model: SphUncConfig.paper(grouping=...)",
    "uncertainty": "a setting of the paper's model: SphUncConfig.paper(uncertainty=...)",
    "fusion": "a setting of the paper's model: SphUncConfig.paper(fusion=...)",
    "max_lag": "a setting of the paper's model: SphUncConfig.paper(max_lag=...); sphunc.discover has max_lag=",
    "calibrate_links": "gone: link probabilities are always calibrated",
}
"""Settings of earlier versions, and what stands in their place."""


class SphUncConfig(BaseModel):
    """Settings of :class:`sphunc.SphUnc`; frozen, printable, and the same after a round trip
    through JSON.

    Example:
        >>> config = SphUncConfig(horizon=2)
        >>> SphUncConfig.model_validate_json(config.model_dump_json()) == config
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)

    dim: Annotated[int, Field(ge=1)] = 128
    """Most state axes; the data choose how many of them are used."""
    horizon: Annotated[int, Field(ge=1)] = 1
    """Steps from the origin of a forecast to its target."""
    quick: bool = False
    """The regression on covariates alone: no states, no links."""
    samples: Annotated[int, Field(ge=1)] = 100
    """Monte Carlo samples of simulated interventions."""

    if not TYPE_CHECKING:  # type checkers read the arguments from the fields above

        def __init__(self, **settings: Setting) -> None:
            for name in settings:
                check_setting(name)
            try:
                super().__init__(**_python_numbers(settings))
            except ValidationError as error:
                raise ArgumentError("; ".join(_describe(fault) for fault in error.errors())) from None

    @classmethod
    def paper(cls, **settings: int | float | str | bool) -> PaperConfig:
        """Return the settings of the paper's model, by its table of hyperparameters.

        Args:
            **settings: that differ from it.
        """
        return PaperConfig(**settings)  # pyright: ignore[reportArgumentType]

    @classmethod
    def ablation(cls, name: str, **settings: int | float | str | bool) -> PaperConfig:
        """Return one row of the paper's table of ablations.

        Args:
            name: of the row, such as "no_scm".
            **settings: that differ from the table of hyperparameters in every row.
        """
        return PaperConfig.ablation(name, **settings)


def check_setting(name: str) -> None:
    """Refuse a name that is no setting, with the one that was probably meant, or what stands in its
    place.

    Args:
        name: of a setting.
    """
    allowed = list(SphUncConfig.model_fields)
    if name in allowed:
        return
    if name in REMOVED:
        raise ArgumentError(f"{name!r} is {REMOVED[name]}")
    hint = did_you_mean(name, allowed)
    raise ArgumentError(f"{name!r} is not a setting of SphUnc{hint}; allowed: {', '.join(allowed)}")


def _python_numbers(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    converted: dict[str, Setting] = {}
    for name, value in settings.items():
        converted[name] = value.item() if isinstance(value, np.generic) else value
    return converted


def _describe(fault: Mapping[str, object]) -> str:
    message = str(fault["msg"])
    location = fault["loc"]
    name = location[0] if isinstance(location, tuple) else location
    return f"{name} is {fault['input']!r}: {message[:1].lower()}{message[1:]}"
