"""Whole numbers come from Python or numpy; what is none of them is refused by name."""

import numpy as np
import pytest

from sphunc.causal.counts import LARGEST_SEED, is_whole, seed_number, whole_number
from sphunc.errors import ArgumentError, ArgumentTypeError


@pytest.mark.parametrize("value", [3, np.int64(3), np.int8(3), np.uint32(3)])
def test_whole_numbers_become_those_of_python(value) -> None:
    taken = whole_number("samples", value, least=3)
    assert taken == 3
    assert type(taken) is int
    assert is_whole(value)


@pytest.mark.parametrize("value", [True, np.bool_(True), 3.0, np.float64(3.0), "3", None, [3]])
def test_anything_else_is_refused(value) -> None:
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
