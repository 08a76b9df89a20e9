"""Words as numbers without a vocabulary: signed feature hashing that gives the same vector on every machine."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_MENTION = re.compile(r"@\w+")
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Split a text into lower-case words; web addresses and @names become one common mark each, so no name survives."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _MENTION.sub(" __mention__ ", _ADDRESS.sub(" __address__ ", text))
    return _WORD.findall(text)


@lru_cache(maxsize=200_000)
def bucket(word: str, buckets: int) -> tuple[int, int]:
    """Return the column and the sign (+1 or -1) of a word; Python's own ``hash`` changes from run to run."""
    number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
    return (number >> 1) % buckets, 1 if number & 1 else -1


def hashed_words(texts: Iterable[str], buckets: int) -> np.ndarray:
    r"""Signed word counts of each text in ``buckets`` columns, divided by the root of its number of words.

    .. math:: v_b = n^{-1/2} \sum_{w : h(w) = b} s(w)

    The random signs make inner products between texts unbiased by collisions (Weinberger et al. 2009).
    """
    rows = []
    for text in texts:
        row = np.zeros(buckets, dtype=np.float32)
        found = words(text)
        for word in found:
            column, sign = bucket(word, buckets)
            row[column] += sign
        rows.append(row / np.sqrt(max(len(found), 1)))
    return np.stack(rows) if rows else np.zeros((0, buckets), dtype=np.float32)


def word_columns(buckets: int) -> list[str]:
    """Return the names of the hashed columns."""
    return [f"word_{column:03d}" for column in range(buckets)]
