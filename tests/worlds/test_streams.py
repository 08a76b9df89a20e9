"""Random streams: independent, reproducible, recorded."""

import pytest

from sphunc.errors import ArgumentError
from sphunc.worlds.streams import INGREDIENTS, check_seed, stream


def test_streams_differ_by_seed_ingredient_and_part() -> None:
    draws = {stream(seed, name, part).random() for seed in (0, 1) for name in INGREDIENTS for part in (0, 1)}
    assert len(draws) == 2 * len(INGREDIENTS) * 2


def test_stream_is_the_recorded_one() -> None:
    assert stream(0, "path").integers(10**6, size=4).tolist() == RECORDED


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None, True])
def test_faulty_seed_is_refused(seed: object) -> None:
    with pytest.raises(ArgumentError, match=r"seed=.* must be a whole number of at least 0"):
        check_seed(seed)


RECORDED = [410924, 941133, 101438, 993910]
