"""Long-form columns become the object, whatever the order of their rows."""

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import assemble


def small(**changes):
    columns = {
        "times": [0, 1],
        "node_ids": ["a", "b", "c"],
        "features": ([0, 0, 1], [0, 1, 0], [[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]]),
        "feature_names": ["mood", "age"],
        "hyperedge_ids": ["late", "early", "empty"],
        "hyperedge_time": [1, 0, 0],
        "memberships": ([0, 1, 0], [2, 1, 0], [0.5, 1.0, 2.0]),
        "outcomes": ([1, 0], [0, 1], [1, 0]),
        "class_names": ["calm", "upset"],
        "influence": [[0], [1]],
        "influence_kind": "nomination",
    }
    return assemble(**{**columns, **changes})


def test_scatters_every_column_to_its_place():
    data = small()
    assert data.x.tolist() == [[[1, 0], [2, 3], [0, 0]], [[4, 5], [0, 0], [0, 0]]]
    assert data.x_mask[0].tolist() == [[True, False], [True, True], [False, False]]
    assert data.hyperedge_ids == ("early", "empty", "late")
    assert data.hyperedge_time.tolist() == [0, 0, 1]
    assert data.hyperedge_index.tolist() == [[1, 0, 2], [0, 2, 2]]
    assert data.incidence_weight is not None
    assert data.incidence_weight.tolist() == [1.0, 2.0, 0.5]
    assert data.y is not None
    assert data.y[1, 0] == 1
    assert data.y_mask.tolist() == [[False, True, False], [True, False, False]]
    assert data.hyperedge_size.tolist() == [1, 0, 2]


def test_order_of_rows_does_not_matter():
    shuffled = small(
        features=([1, 0, 0], [0, 1, 0], [[4.0, 5.0], [2.0, 3.0], [1.0, np.nan]]),
        memberships=([0, 0, 1], [0, 2, 1], [2.0, 0.5, 1.0]),
    )
    assert small().same_as(shuffled)


def test_numbers_as_outcomes_keep_their_columns():
    data = small(outcomes=([0, 1], [0, 1], [[0.5, 1.5], [2.5, 3.5]]), class_names=())
    assert data.y is not None
    assert data.y.shape == (2, 3, 2)
    assert data.y[1, 1].tolist() == [2.5, 3.5]


def test_all_but_times_and_agents_may_be_left_out():
    data = assemble(times=[3], node_ids=[7])
    assert (data.x.shape, data.y, data.num_memberships) == ((1, 1, 0), None, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": ([0, 0], [0, 0], [[1.0, 2.0]] * 2)}, "features has two rows for the same time and agent"),
        ({"features": ([0, 2], [0, 0], [[1.0, 2.0]] * 2)}, r"features time\[1\] is 2, but there are 2 \(0 ... 1\)"),
        ({"features": ([0], [0], [[1.0]])}, r"features has values of shape \(1, 1\), but 1 rows and 2 feature_names"),
        ({"features": ([0], [0, 1], [[1.0, 1.0]])}, "features has 1 times, but 2 agents"),
        ({"outcomes": ([0], [0], [0, 1])}, "outcomes has 2 values, but 1 rows"),
        ({"outcomes": ([0], [0], [2])}, "y.* is 2, but there are 2 classes"),
        ({"memberships": ([0, 0], [1, 1])}, "without an agent twice in a group"),
        ({"memberships": ([0.5], [1])}, "memberships group has dtype float64; give integer indices"),
        ({"memberships": ([0], [1, 2])}, "memberships has 1 groups, but 2 agents"),
        ({"hyperedge_ids": ["one"]}, "hyperedge_ids has 1 entries, but hyperedge_time has 3"),
        ({"features": ([0], [0], [[np.inf, 1.0]])}, r"x\[0\] has a value that is not finite"),
    ],
)
def test_faulty_columns_are_named(changes, message):
    with pytest.raises(ArgumentError, match=message):
        small(**changes)


def test_a_panel_larger_than_the_machine_is_refused_before_it_is_made():
    with pytest.raises(ArgumentError, match="put the times into coarser bins"):
        assemble(times=range(10**6), node_ids=range(10**6), feature_names=[f"f{i}" for i in range(100)])


def test_result_is_contiguous_and_on_the_cpu():
    assert small().hyperedge_index.is_contiguous()
    assert small().device == torch.device("cpu")
