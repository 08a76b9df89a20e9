"""Ids survive JSON, and the order of agents depends on the ids alone."""

import json
from datetime import date, datetime

import numpy as np
import pytest

from sphunc.errors import CheckpointError
from sphunc.forecasting.identifiers import canonical_order, decode_id, encode_id


@pytest.mark.parametrize("one", ["a", 3, 2.5, None, date(2026, 1, 2), datetime(2026, 1, 2, 3), ("x", 1, ("y",))])
def test_id_survives_json(one):
    assert decode_id(json.loads(json.dumps(encode_id(one)))) == one


def test_numbers_of_numpy_are_those_of_python():
    assert encode_id(np.int64(3)) == 3


def test_other_ids_are_refused():
    with pytest.raises(CheckpointError, match="use texts, numbers, dates"):
        encode_id(frozenset({1}))
    with pytest.raises(CheckpointError, match="damaged"):
        decode_id({"date": "no date"})
    with pytest.raises(CheckpointError, match="damaged"):
        decode_id({"pickle": "x"})


def test_order_is_that_of_the_ids():
    ids = ["b", "c", "a"]
    assert [ids[k] for k in canonical_order(ids)] == ["a", "b", "c"]
    mixed = [2, "2", 1]
    shuffled = ["2", 1, 2]
    assert [mixed[k] for k in canonical_order(mixed)] == [shuffled[k] for k in canonical_order(shuffled)]
