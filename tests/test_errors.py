"""The error tree: one root, every leaf also the builtin that a caller would catch."""

import inspect

import pytest

from sphunc import errors

LEAVES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind is not errors.SphuncError]


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaf_is_a_sphunc_error_and_a_builtin(leaf: type[Exception]) -> None:
    assert issubclass(leaf, errors.SphuncError)
    assert any(base.__module__ == "builtins" and base is not Exception for base in leaf.__mro__[1:-3])


@pytest.mark.parametrize(
    "leaf, builtin",
    [
        (errors.ArgumentError, ValueError),
        (errors.ArgumentTypeError, TypeError),
        (errors.DataError, ValueError),
        (errors.CheckpointError, ValueError),
        (errors.NotFittedError, AttributeError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_leaf_is_caught_as_its_builtin(leaf: type[Exception], builtin: type[Exception]) -> None:
    with pytest.raises(builtin, match="says what now"):
        raise leaf("says what now")
