"""Settings of a baseline: names and ranges are checked when the baseline is made, before any work.

A field of a settings class carries its range in its type, ``width: Count = 64``, and the words that
an error uses for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from sphunc._checks import plain_scalar
from sphunc.errors import ArgumentError, ArgumentTypeError

Setting = int | float | str | bool
SearchSpace = Mapping[str, Sequence[Setting]]

Count = Annotated[int, Field(ge=1, description="a whole number, 1 or more")]
Several = Annotated[int, Field(ge=2, description="a whole number, 2 or more")]
Share = Annotated[float, Field(ge=0, lt=1, description="a number from 0 up to, but not, 1")]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, description="a finite number, 0 or more")]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False, description="a finite number above 0")]


class Settings(BaseModel):
    """Settings of a baseline; this one has none."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


AnySettings = TypeVar("AnySettings", bound=Settings)


class NetworkSettings(Settings):
    """Settings of the optimisation and of the network around a spatial encoder.

    Attributes:
        learning_rate: step size of AdamW.
        weight_decay: weight decay of AdamW.
        epochs: most epochs.
        patience: epochs without a lower held-out NLL before training ends.
        folds: parts of the agents where agents are held out.
        refit: whether the trained network goes on with validation and calibration outcomes too,
            once these have chosen the number of epochs and the temperature.
        width: units of the spatial encoder.
        hidden: units of the memory.
        dropout: share of units dropped while training.
        scaling: temperature that rises with predictive entropy, one for all forecasts, or none.
    """

    learning_rate: Rate = 1e-3
    weight_decay: Weight = 1e-3
    epochs: Count = 200
    patience: Count = 30
    folds: Several = 3
    refit: bool = True
    width: Count = 64
    hidden: Count = 64
    dropout: Share = 0.3
    scaling: Literal["entropy", "scalar", "none"] = "entropy"


def make_settings(kind: type[AnySettings], given: Mapping[str, object]) -> AnySettings:
    """Return checked settings; all values that are not allowed are named at once.

    Args:
        kind: the settings class.
        given: values of some of its fields; numbers may be numpy's.
    """
    try:
        return kind.model_validate({name: plain_scalar(value) for name, value in given.items()})
    except ValidationError as error:
        faults = error.errors()
    raised = ArgumentError
    if faults[0]["type"].endswith("_type"):
        raised = ArgumentTypeError
    raise raised(". ".join(_describe(kind, fault) for fault in faults)) from None


def _describe(kind: type[Settings], fault: ErrorDetails) -> str:
    if not fault["loc"]:  # a check of several fields together has said it all
        return str(fault.get("ctx", {}).get("error"))
    name = str(fault["loc"][0])
    value = fault["input"]
    field = kind.model_fields[name]
    if fault["type"] == "literal_error":
        choices = " or ".join(repr(choice) for choice in get_args(field.annotation))
        return f"{name} is {value!r}; choose {choices}"
    allowed = field.description or "True or False"
    if fault["type"].endswith("_type"):
        return f"{name} is {value!r}, of type {type(value).__name__}; give {allowed}"
    return f"{name} is {value!r}; give {allowed}"
