"""Columns of numbers are called after them, however many there are."""

from sphunc.causal.columns import column_ends


def test_names_come_first_and_a_single_number_needs_none() -> None:
    assert column_ends(("valence",), 1) == ("_valence",)
    assert column_ends(("valence", "arousal"), 2) == ("_valence", "_arousal")
    assert column_ends((), 1) == ("",)
    assert column_ends((), 2) == ("_0", "_1")
