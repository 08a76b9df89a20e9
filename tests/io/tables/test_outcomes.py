"""Classes and numbers are told apart, and the user may decide."""

import warnings

import polars as pl
import pytest

from sphunc import DataError, from_frames, read_tables, write_tables


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
        ([1e19, 7.0, None, 7.0, 1e19], ("7", "10000000000000000000")),
        ([-1e19, -1e19], ("-10000000000000000000",)),
        ([2.0**63, -(2.0**63)] * 2, ("-9223372036854775808", "9223372036854775808")),
        (pl.Series([1e20, 1e20], dtype=pl.Float32), ("100000002004087734272",)),
        ([10**18, 9, 10**18, 9], ("9", "1000000000000000000")),
        (["10000000000000000000", "7", "7", "10000000000000000000"], ("7", "10000000000000000000")),
        ([True, False, True, False], ("false", "true")),
        (["True", "False", "True", "False"], ("False", "True")),
        (["10", "9", "9", "10"], ("9", "10")),
        (["1.5", "calm", "calm", "1.5", "x", "x"], ("1.5", "calm", "x")),
    ],
)
def test_classes(values, classes):
    assert read(values).class_names == classes


@pytest.mark.parametrize(
    "values", [[0.5, 1.0], ["0.5", "1.5"], list(range(30)), [1e10, 0.1], [k * 1e19 for k in range(30)]]
)
def test_numbers(values):
    data = read(values)
    assert data.class_names == ()
    assert data.y is not None
    assert data.y[0, :, 0].tolist() == pytest.approx([float(value) for value in values])


def test_the_user_decides():
    assert read([1, 2, 1, 2], outcome_kind="number").class_names == ()
    assert read([0.5, 0.5], outcome_kind="class").class_names == ("0.5",)


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
        from_frames(features={"time": [1, 1], "agent": ["a", "b"]}, outcomes=frame, outcome_kind="class")


def test_a_word_among_numbers_is_a_fault():
    with pytest.raises(DataError, match="outcomes row 2, column outcome: 'high' is not a number"):
        read(["0.5", "1.5", "high", "2.5"])


def test_outcomes_of_a_strange_type():
    with pytest.raises(DataError, match="outcomes have type List"):
        read(pl.Series([[1], [1]]), outcome_kind="class")


def test_classes_beside_another_column_are_one_clear_fault():
    frame = {"time": [1, 1], "agent": ["a", "b"], "teacher": [7, 8], "outcome": ["calm", "calm"]}
    with pytest.raises(DataError) as caught:
        from_frames(features={"time": [1, 1], "agent": ["a", "b"]}, outcomes=frame)
    assert str(caught.value) == (
        "outcomes column outcome: there are 2 outcome columns (teacher, outcome), but this holds text. "
        "Keep one column of classes, or several columns of numbers only; or choose one: outcome='outcome' "
        "(--outcome outcome)."
    )


def test_outcomes_that_are_all_missing_are_no_outcome():
    data = read([None, "NA", ""])
    assert data.y is None
    assert data.class_names == ()


def test_whole_floats_beyond_integers_are_observed():
    assert read([1e19, 7.0, None, 7.0, 1e19]).y_mask.tolist() == [[True, True, False, True, True]]
    assert read([k * 1e19 for k in range(30)]).y_mask.all()


def read_csv(folder, values):
    rows = range(len(values))
    (folder / "features.csv").write_text("time,agent\n" + "".join(f"1,{row}\n" for row in rows))
    (folder / "groups.csv").write_text("time,group,agent\n1,g,0\n")
    cells = zip(rows, values, strict=True)
    (folder / "outcomes.csv").write_text("time,agent,outcome\n" + "".join(f"1,{row},{cell}\n" for row, cell in cells))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*counts as a missing outcome")
        return read_tables(folder, nan_is_missing=True)


@pytest.mark.parametrize("words", [("False", "True"), ("FALSE", "TRUE"), ("false", "true")])
def test_booleans_of_csv_are_those_of_a_frame(tmp_path, words):
    no, yes = words
    data, same = read_csv(tmp_path, [yes, no, "", "NaN", yes, no]), read([True, False, None, None, True, False])
    assert data.class_names == same.class_names == ("false", "true")
    assert data.y is not None
    assert same.y is not None
    assert data.y.equal(same.y)
    assert data.y_mask.equal(same.y_mask)


@pytest.mark.parametrize(
    "words", [("False", "true"), ("FALSE", "True"), ("True", "unsure"), ("T", "F"), (" True", "x")]
)
def test_other_words_of_csv_keep_their_spelling(tmp_path, words):
    assert read_csv(tmp_path, words * 2).class_names == tuple(sorted(words))


def test_words_that_were_written_come_back_as_they_were(tmp_path):
    data = read(["True", "False", "True", "False"])
    write_tables(data, tmp_path)
    assert read_tables(tmp_path).same_as(data)
