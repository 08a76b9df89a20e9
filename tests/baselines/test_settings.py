"""A setting that is misspelt or out of its range is refused when the baseline is made, in words."""

import json

import numpy as np
import pytest

from sphunc.baselines import FORECASTERS, forecaster
from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.registry import forecaster_class
from sphunc.baselines.settings import make_settings
from sphunc.errors import ArgumentError, ArgumentTypeError


def is_network(name: str) -> bool:
    made = forecaster_class(name)  # the paper's model is made by a function
    return isinstance(made, type) and issubclass(made, NetworkBaseline)


NETWORKS = [name for name in FORECASTERS if is_network(name)]
REFUSED = [
    ("hypergcn", "width", -3, ArgumentError, "width is -3; give a whole number, 1 or more"),
    ("hypergcn", "pairs", "bogus", ArgumentError, "pairs is 'bogus'; choose 'exact' or 'random'"),
    ("hypergcn", "mediators", 1, ArgumentTypeError, "mediators is 1, of type int; give True or False"),
    ("cignn", "width", "a", ArgumentTypeError, "width is 'a', of type str; give a whole number, 1 or more"),
    ("cignn", "width", 2.5, ArgumentTypeError, "width is 2.5, of type float; give a whole number"),
    ("cignn", "width", True, ArgumentTypeError, "width is True, of type bool; give a whole number"),
    ("cignn", "relevance", -0.1, ArgumentError, "relevance is -0.1; give a finite number, 0 or more"),
    ("spherenet", "epochs", 0, ArgumentError, "epochs is 0; give a whole number, 1 or more"),
    ("spherenet", "folds", 1, ArgumentError, "folds is 1; give a whole number, 2 or more"),
    ("causal_sphhn", "learning_rate", -1, ArgumentError, "learning_rate is -1; give a finite number above 0"),
    ("causal_sphhn", "learning_rate", float("nan"), ArgumentError, "learning_rate is nan; give a finite number"),
    ("causal_sphhn", "width", 1, ArgumentError, "width is 1; give a whole number, 2 or more"),
    ("sshgnn", "dropout", 2.0, ArgumentError, "dropout is 2.0; give a number from 0 up to, but not, 1"),
    ("sshgnn", "dropout", None, ArgumentTypeError, "dropout is None, of type NoneType; give a number from 0"),
    ("sshgnn", "heads", 3, ArgumentError, "heads is 3, which does not divide width 64; choose a divisor"),
    ("recurrent", "weight_decay", float("inf"), ArgumentError, "weight_decay is inf; give a finite number, 0 or more"),
]


def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ArgumentError, match=r"'widht' is not a setting of HyperGCN; did you mean 'width'\?"):
        forecaster("hypergcn", widht=3)


@pytest.mark.parametrize(("name", "setting", "value", "kind", "message"), REFUSED)
def test_a_value_out_of_range_is_refused_before_any_work(name, setting, value, kind, message) -> None:
    with pytest.raises(kind, match=message):
        forecaster(name, **{setting: value})


def test_all_faulty_settings_are_named_at_once() -> None:
    with pytest.raises(ArgumentError) as refused:
        forecaster("hypergcn", width=-3, epochs=2, dropout=1.5)
    assert str(refused.value) == (
        "width is -3; give a whole number, 1 or more. dropout is 1.5; give a number from 0 up to, but not, 1"
    )
    with pytest.raises(ArgumentError, match=r"^'widht' .*; did you mean 'width'\?; 'zzz' is not a .*; allowed: "):
        forecaster("hypergcn", widht=3, zzz=1)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_default_lies_in_its_own_range(name) -> None:
    kind = forecaster_class(name).Settings
    defaults = {name: field.default for name, field in kind.model_fields.items()}
    assert make_settings(kind, defaults) == kind()


@pytest.mark.parametrize("name", NETWORKS)
def test_the_least_that_is_allowed_can_be_fitted(name, data, split) -> None:
    kind = forecaster_class(name).Settings
    least = {"epochs": 1, "patience": 1, "folds": 2, "dropout": 0, "weight_decay": 0}
    for setting, field in kind.model_fields.items():
        if isinstance(field.default, bool | str):
            continue
        if isinstance(field.default, int):
            least.setdefault(setting, 2 if (name, setting) == ("causal_sphhn", "width") else 1)
        elif setting not in ("learning_rate", "damping"):  # 0 is not allowed
            least.setdefault(setting, 0)
    forecast = forecaster(name, **least).fit(data, split).predict(data)
    assert forecast.probabilities.isfinite().all()


def test_numbers_of_numpy_are_numbers() -> None:
    model = forecaster("hypergcn", width=np.int64(8), dropout=np.float64(0.1), mediators=np.bool_(False))
    given = {name: model.get_params()[name] for name in ("width", "dropout", "mediators")}
    assert json.loads(json.dumps(given)) == {"width": 8, "dropout": 0.1, "mediators": False}
