"""Shared checks take values of Python, numpy and torch alike, and name what they refuse."""

import numpy as np
import pytest
import torch

from sphunc._checks import (
    LARGEST_SEED,
    did_you_mean,
    is_name,
    is_whole,
    number_between,
    plain_list,
    plain_scalar,
    seed_number,
    some_names,
    whole_number,
)
from sphunc.errors import ArgumentError, ArgumentTypeError


@pytest.mark.parametrize("value", [3, np.int64(3), np.int8(3), np.uint32(3)])
def test_whole_numbers_become_those_of_python(value) -> None:
    taken = whole_number("samples", value, least=3)
    assert taken == 3
    assert type(taken) is int
    assert is_whole(value)


@pytest.mark.parametrize("value", [True, np.bool_(True), 3.0, np.float64(3.0), "3", None, [3]])
def test_anything_else_is_no_whole_number(value) -> None:
    assert not is_whole(value)
    with pytest.raises(ArgumentTypeError, match=r"^samples=.* must be a whole number, got \w+$"):
        whole_number("samples", value)


def test_too_small_is_refused() -> None:
    with pytest.raises(ArgumentError, match="count=0 must be at least 1"):
        whole_number("count", np.int64(0), least=1)


def test_seeds_are_what_every_generator_takes() -> None:
    assert seed_number(np.int64(7)) == 7
    assert seed_number(LARGEST_SEED) == LARGEST_SEED
    with pytest.raises(ArgumentError, match="seed=-1 must be at least 0"):
        seed_number(-1)
    with pytest.raises(ArgumentError, match="seed=9223372036854775808 must be at most 9223372036854775807"):
        seed_number(2**63)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), torch.tensor(0.5), np.array(0.5)])
def test_numbers_of_any_kind(value) -> None:
    taken = number_between("angle", value, 0.0, 1.0)
    assert taken == 0.5
    assert type(taken) is float


def test_numbers_outside_and_other_values_are_refused() -> None:
    for wrong in (2.0, -1, float("nan"), 10**400):
        with pytest.raises(ArgumentError, match=r"^angle=.* is outside 0 \.\.\. 1$"):
            number_between("angle", wrong, 0.0, 1.0)
    for wrong in (True, "0.5", None, [1.0, 2.0]):
        with pytest.raises(ArgumentTypeError, match=r"^angle=.* must be a number, got \w+$"):
            number_between("angle", wrong, 0.0, 1.0)


def test_scalars_become_those_of_python_and_fine_dates_stay() -> None:
    for value in (np.int64(3), np.array(3), torch.tensor(3)):
        assert type(plain_scalar(value)) is int
    assert type(plain_scalar(np.str_("a"))) is str
    day = np.datetime64("2024-01-01T00:00:00.000000001")
    assert plain_scalar(day) is day
    assert plain_scalar([3]) == [3]


def test_names_are_hashable_and_neither_truth_values_nor_arrays() -> None:
    for value in ("a", 3, 2.5, ("a", 1), np.int64(3), None):
        assert is_name(value)
    for value in (True, [1], {}, np.array([1]), torch.ones(2)):
        assert not is_name(value)


def test_a_few_names_stand_for_many() -> None:
    assert some_names(()) == ""
    assert some_names("abcdef") == "a, b, c, d, e, f"
    assert some_names(range(7)) == "0, 1, ... 6"


def test_the_nearest_name_is_offered() -> None:
    assert did_you_mean("smokr", ("smoker", "none")) == "; did you mean 'smoker'?"
    assert did_you_mean("2021", (2020, 2021)) == "; did you mean 2021?"
    assert did_you_mean("xyz", ("smoker", "none")) == ""


def test_arrays_become_lists() -> None:
    assert plain_list(np.array([1, 2])) == plain_list(torch.tensor([1, 2])) == [1, 2]
    assert plain_list((1, 2)) == (1, 2)
