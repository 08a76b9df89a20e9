"""Data is matched by name to what was learned; what does not fit is refused with the names of both sides."""

from dataclasses import replace

import pytest
import torch

from sphunc.errors import DataError
from sphunc.forecasting.schema import TrainingSchema, align, schema_of
from sphunc.hypergraph import assemble


def panel(features=("mood", "age"), classes=("no", "yes"), outcomes=(0, 1)):
    return assemble(
        times=[0, 1],
        node_ids="ab",
        features=([0, 0], [0, 1], [[1.0, 2.0][: len(features)] for _ in "ab"]),
        feature_names=features,
        outcomes=([0, 1], [0, 1], outcomes),
        class_names=classes,
    )


SCHEMA = schema_of(panel())


def test_schema_of_data():
    assert TrainingSchema(("a", "b"), ("mood", "age"), ("no", "yes"), 2, 1) == SCHEMA
    assert not SCHEMA.numeric


def test_the_same_data_stays_the_same():
    data = panel()
    assert align(data, SCHEMA) is data


def test_features_are_matched_by_name():
    aligned = align(panel(features=("age", "mood")), SCHEMA)
    assert aligned.feature_names == ("mood", "age")
    assert aligned.x[0, 0].tolist() == [2.0, 1.0]


def test_classes_are_matched_by_name():
    aligned = align(panel(classes=("yes", "no")), SCHEMA)
    assert aligned.class_names == ("no", "yes")
    assert aligned.y.tolist() == [[1, 0], [0, 0]]
    assert torch.equal(aligned.y_mask, panel().y_mask)


def test_fewer_classes_are_fine_and_so_are_none():
    assert align(panel(classes=("yes",), outcomes=(0, 0)), SCHEMA).y[0, 0] == 1
    blind = replace(panel(), y=None, y_mask=torch.zeros(2, 2, dtype=torch.bool), class_names=())
    assert align(blind, SCHEMA) is blind


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (panel(features=("mood",)), r"data misses 'age': the model learned from 2 features \('mood', 'age'\); give"),
        (panel(features=("mood", "height")), "data misses 'age' and has 'height' besides"),
        (panel(classes=("no", "maybe")), "data has the class 'maybe', which training never saw; the model knows 'no'"),
        (panel(classes=(), outcomes=(0.5, 1.5)), r"the model forecasts classes \('no', 'yes'\), but data has numbers"),
    ],
)
def test_what_does_not_fit_is_named(data, message):
    with pytest.raises(DataError, match=message):
        align(data, SCHEMA)


def test_numbers_and_classes_do_not_mix():
    numbers = schema_of(panel(classes=(), outcomes=(0.5, 1.5)))
    assert numbers.numeric
    with pytest.raises(DataError, match=r"the model forecasts numbers, but data has classes \('no', 'yes'\)"):
        align(panel(), numbers)
    two = panel(classes=(), outcomes=((0.5, 1.0), (1.5, 2.0)))
    with pytest.raises(DataError, match=r"data has 2 outcomes per agent \('outcome_1', 'outcome_2'\), but the model f"):
        align(two, numbers)
    with pytest.raises(DataError, match=r"data has 1 outcome per agent \('outcome'\), but the model forecasts 2"):
        align(panel(classes=(), outcomes=(0.5, 1.5)), schema_of(two))


def two_numbers(*names):
    data = panel(classes=(), outcomes=((0.5, 1.0), (1.5, 2.0)))
    return replace(data, outcome_names=names)


def test_numbers_are_matched_by_name():
    schema = schema_of(two_numbers("valence", "arousal"))
    assert schema.outcomes == ("valence", "arousal")
    aligned = align(two_numbers("arousal", "valence"), schema)
    assert aligned.outcome_names == ("valence", "arousal")
    assert aligned.y[0, 0].tolist() == [1.0, 0.5]
    blind = replace(two_numbers("a", "b"), y=None, y_mask=torch.zeros(2, 2, dtype=torch.bool))
    filled = align(blind, schema)
    assert (filled.y.shape, filled.outcome_names) == ((2, 2, 2), schema.outcomes)
    assert not filled.y_mask.any()


def test_a_renamed_number_is_refused():
    expected = (
        r"data has 2 outcomes per agent \('valence', 'joy'\), but the model forecasts 2 \('valence', 'arousal'\); "
        "give outcomes of the same names, or none, or fit again"
    )
    with pytest.raises(DataError, match=expected):
        align(two_numbers("valence", "joy"), schema_of(two_numbers("valence", "arousal")))


def test_a_class_that_does_not_occur_is_no_matter():
    data = panel(classes=("maybe", "yes"), outcomes=(1, 0))
    with pytest.raises(DataError, match="data has the class 'maybe', which training never saw"):
        align(data, SCHEMA)
    aligned = align(data.until_index(0), SCHEMA)
    assert aligned.class_names == ("no", "yes")
    assert aligned.y.tolist() == [[1, 0]]


def test_nothing_to_learn_is_refused():
    with pytest.raises(DataError, match="data has no outcomes, so there is nothing to learn"):
        schema_of(assemble(times=[0], node_ids="a"))
    with pytest.raises(DataError, match="data has one class only, 'no'"):
        schema_of(panel(classes=("no",), outcomes=(0, 0)))
