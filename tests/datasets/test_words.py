import numpy as np
import pytest

from sphunc.datasets.words import bucket, hashed_words, word_columns, words


def test_words_are_folded_and_names_vanish() -> None:
    assert words("Straße! ÉTÉ @someone https://t.co/abc") == ["strasse", "été", "__mention__", "__address__"]


@pytest.mark.parametrize(("word", "expected"), [("zebra", (53, -1)), ("été", (30, -1))])
def test_hash_is_the_same_on_every_machine(word: str, expected: tuple[int, int]) -> None:
    assert bucket(word, 64) == expected


def test_row_is_signed_counts_over_root_of_length() -> None:
    (row,) = hashed_words(["zebra zebra zebra été"], 64)
    column, sign = bucket("zebra", 64)
    assert row[column] == pytest.approx(3 * sign / 2)
    assert np.count_nonzero(row) == 2


def test_empty_texts_and_no_texts() -> None:
    assert not hashed_words([""], 4).any()
    assert hashed_words([], 4).shape == (0, 4)
    assert word_columns(2) == ["word_000", "word_001"]


def test_inner_products_are_unbiased_by_collisions() -> None:
    texts = [" ".join(f"w{i}x{j}" for j in range(20)) for i in range(200)]
    table = hashed_words(texts, 16)
    products = table @ table.T
    off = products[~np.eye(200, dtype=bool)]
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(200)
