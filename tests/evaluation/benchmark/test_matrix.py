"""An experiment as a value: short to write, complete when read."""

import numpy as np
import pytest
from pydantic import ValidationError

from sphunc.evaluation.benchmark.matrix import Matrix, OfficialData, TableData, WorldData

SMALL = {"name": "small", "models": ["sphunc"], "data": [{"world": "snare"}], "seeds": [0]}


def test_plain_names_and_defaults_make_a_whole_experiment() -> None:
    matrix = Matrix.model_validate({**SMALL, "models": ["sphunc", {"name": "hypergcn", "label": "wide"}]})
    assert [model.called for model in matrix.models] == ["sphunc", "wide"]
    assert [variant.name for variant in matrix.variants] == ["default"]
    assert (matrix.trials, matrix.horizon, matrix.attribution) == (1, 1, True)


def test_kind_of_data_follows_from_its_field() -> None:
    entries = [{"world": "snare"}, {"tables": "mine"}, {"dataset": "pheme", "root": "there"}]
    matrix = Matrix.model_validate({**SMALL, "data": entries})
    assert [type(data) for data in matrix.data] == [WorldData, TableData, OfficialData]
    assert [data.called for data in matrix.data] == ["snare", "mine", "pheme data"]


def test_experiment_survives_a_round_trip_and_cannot_be_changed() -> None:
    matrix = Matrix.model_validate({**SMALL, "data": [{"world": "snare", "knobs": {"times": 12, "missing": 0.1}}]})
    assert Matrix.model_validate_json(matrix.model_dump_json()) == matrix
    with pytest.raises(ValidationError, match="frozen"):
        matrix.trials = 9


def test_whole_numbers_stay_whole() -> None:
    matrix = Matrix.model_validate({**SMALL, "data": [{"world": "snare", "knobs": {"times": 12}}]})
    assert isinstance(matrix.data[0].knobs["times"], int)


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("field", ["seeds", "horizon", "trials", "data"])
def test_booleans_are_no_numbers(field, value) -> None:
    content = {"seeds": [value], "data": [{"world": "snare", "knobs": {"missing": value}}]}.get(field, value)
    with pytest.raises(ValidationError, match="give a number, such as 1"):
        Matrix.model_validate({**SMALL, field: content})


def test_whole_numbers_of_numpy_are_numbers() -> None:
    assert Matrix.model_validate({**SMALL, "seeds": [np.int64(3)]}).seeds == (3,)
