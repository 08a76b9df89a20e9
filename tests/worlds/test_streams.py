"""Random streams: independent, reproducible, recorded."""

from sphunc.worlds.streams import INGREDIENTS, stream


def test_streams_differ_by_seed_ingredient_and_part() -> None:
    draws = {stream(seed, name, part).random() for seed in (0, 1) for name in INGREDIENTS for part in (0, 1)}
    assert len(draws) == 2 * len(INGREDIENTS) * 2


def test_stream_is_the_recorded_one() -> None:
    assert stream(0, "path").integers(10**6, size=4).tolist() == RECORDED


RECORDED = [410924, 941133, 101438, 993910]
