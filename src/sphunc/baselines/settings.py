"""Settings of a peer by name: a word that is no setting is refused with the one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from sphunc.errors import ArgumentError


def check_params(owner: str, given: Iterable[str], allowed: Sequence[str]) -> None:
    """Raise for the first name in ``given`` that is not ``allowed``."""
    for name in given:
        if name not in allowed:
            close = get_close_matches(name, allowed, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise ArgumentError(f"{name!r} is not a setting of {owner}{hint}; allowed: {', '.join(allowed)}")
