"""Classes and numbers are told apart, and the user may decide."""

import polars as pl
import pytest

from sphunc import DataError, from_frames


def read(values, **options):
    values = list(values) if not isinstance(values, pl.Series) else values
    agents = list(range(len(values)))
    frame = pl.DataFrame({"time": [1] * len(agents), "agent": agents})
    outcomes = frame.with_columns(pl.Series("outcome", values))
    return from_frames(features=frame, outcomes=outcomes, **options)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["b", "a", "b", "a"], ("a", "b")),
        ([10, 9, 10, 9], ("9", "10")),
        ([1.0, 2.0, None, 2.0, 1.0], ("1", "2")),
        ([True, False, True, False], ("false", "true")),
        (["10", "9", "9", "10"], ("9", "10")),
        (["1.5", "calm", "calm", "1.5", "x", "x"], ("1.5", "calm", "x")),
    ],
)
def test_classes(values, classes):
    assert read(values).class_names == classes


@pytest.mark.parametrize("values", [[0.5, 1.0], ["0.5", "1.5"], list(range(30)), [1e10, 0.1]])
def test_numbers(values):
    data = read(values)
    assert data.class_names == ()
    assert data.y is not None
    assert data.y[0, :, 0].tolist() == pytest.approx([float(value) for value in values])


def test_the_user_decides():
    assert read([1, 2, 1, 2], outcome="number").class_names == ()
    assert read([0.5, 0.5], outcome="class").class_names == ("0.5",)


def test_missing_outcomes_are_masked():
    data = read(["a", None, "NA", "", "a"])
    assert data.y_mask.tolist() == [[True, False, False, False, True]]


def test_several_columns_of_numbers():
    frame = {"time": [1, 1], "agent": ["a", "b"], "u": [0.5, 1.0], "v": [2, 3]}
    data = from_frames(features={"time": [1, 1], "agent": ["a", "b"]}, outcomes=frame)
    assert data.y is not None
    assert data.y.tolist() == [[[0.5, 2.0], [1.0, 3.0]]]
    assert data.outcome_names == ("u", "v")
    with pytest.raises(DataError, match=r"there are 2 outcome columns \(u, v\). Keep one column of classes"):
        from_frames(features={"time": [1, 1], "agent": ["a", "b"]}, outcomes=frame, outcome="class")


def test_a_word_among_numbers_is_a_fault():
    with pytest.raises(DataError, match="outcomes row 2, column outcome: 'high' is not a number"):
        read(["0.5", "1.5", "high", "2.5"])


def test_outcomes_of_a_strange_type():
    with pytest.raises(DataError, match="outcomes have type List"):
        read(pl.Series([[1], [1]]), outcome="class")


def test_classes_beside_another_column_are_one_clear_fault():
    frame = {"time": [1, 1], "agent": ["a", "b"], "teacher": [7, 8], "outcome": ["calm", "calm"]}
    with pytest.raises(DataError) as caught:
        from_frames(features={"time": [1, 1], "agent": ["a", "b"]}, outcomes=frame)
    assert str(caught.value) == (
        "outcomes column outcome: there are 2 outcome columns (teacher, outcome), but this holds text. "
        "Keep one column of classes, or several columns of numbers only."
    )


def test_outcomes_that_are_all_missing_are_no_outcome():
    data = read([None, "NA", ""])
    assert data.y is None
    assert data.class_names == ()
