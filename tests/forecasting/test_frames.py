"""Columns keep ids apart and are called after the outcomes, however many there are."""

from datetime import date

from sphunc.forecasting.frames import column_ends, id_column, probability_columns, time_column


def test_names_come_first_and_a_single_number_needs_none() -> None:
    assert column_ends(("valence",), 1) == ("_valence",)
    assert column_ends(("valence", "arousal"), 2) == ("_valence", "_arousal")
    assert column_ends((), 1) == ("",)
    assert column_ends((), 2) == ("_0", "_1")
    assert probability_columns(("calm", "upset")) == ("p(calm)", "p(upset)")


def test_ids_of_mixed_types_stay_apart() -> None:
    mixed = (1, "1", 2.5, ("x", 1))
    assert id_column(mixed) == ["1", "'1'", "2.5", "('x', 1)"]
    assert len(set(id_column((("x", 1), ("x", "1"))))) == 2
    assert id_column(("ann", 7)) == ["ann", "7"]


def test_ids_of_one_type_stay_as_they_are() -> None:
    days = (date(2020, 1, 1), date(2020, 1, 2))
    assert id_column(("a", "b")) == ["a", "b"]
    assert id_column((1, 2)) == [1, 2]
    assert id_column(days) == list(days)
    assert id_column(()) == []


def test_times_repeat_in_a_row_and_mixtures_are_texts() -> None:
    assert time_column((4, 5), 2).to_list() == [4, 4, 5, 5]
    assert time_column((date(2020, 1, 1),), 1).to_list() == [date(2020, 1, 1)]
    assert time_column((4, "4 + 1"), 1).to_list() == ["4", "4 + 1"]
