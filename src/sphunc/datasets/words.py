"""Words as numbers without a vocabulary: signed feature hashing that gives the same vector on every machine."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
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
    """Return the column and the sign (+1 or -1) of a word; Python's own ``hash`` changes from run to run.

    Args:
        word: the word.
        buckets: number of columns.
    """
    number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
    sign = 2 * (number & 1) - 1
    return (number >> 1) % buckets, sign


def hashed_words(texts: Sequence[str], buckets: int) -> np.ndarray:
    r"""Signed word counts of each text, divided by the root of its number of words.

    .. math:: v_b = n^{-1/2} \sum_{w : h(w) = b} s(w)

    The random signs make inner products between texts unbiased by collisions (Weinberger et al. 2009).

    Args:
        texts: one per row of the result.
        buckets: number of columns of the result.
    """
    counts = np.zeros((len(texts), buckets))
    for row, text in zip(counts, texts, strict=True):
        found = words(text)
        for word in found:
            column, sign = bucket(word, buckets)
            row[column] += sign
        row /= np.sqrt(max(len(found), 1))
    return counts


def word_columns(buckets: int) -> list[str]:
    """Return the names of the hashed columns."""
    return [f"word_{column:03d}" for column in range(buckets)]
