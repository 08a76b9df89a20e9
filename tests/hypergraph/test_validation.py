"""Every way to build the object wrongly ends in an error that names the attribute."""

import dataclasses

import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import assemble


@pytest.fixture
def data():
    return assemble(
        times=[0, 1],
        node_ids=["a", "b"],
        features=([0], [0], [[1.0]]),
        feature_names=["mood"],
        hyperedge_ids=["g", "g"],
        hyperedge_time=[0, 1],
        memberships=([0, 0, 1], [0, 1, 1], [1.0, 1.0, 1.0]),
        outcomes=([0], [0], [1]),
        class_names=["calm", "upset"],
        influence=[[0], [1]],
        influence_kind="reply",
    )


WRONG_TYPE = {
    "x has dtype torch.float64; give torch.float32": {"x": torch.zeros(2, 2, 1, dtype=torch.float64)},
    "x_mask has dtype torch.float32; give torch.bool": {"x_mask": torch.zeros(2, 2, 1)},
    "hyperedge_index has dtype torch.int32; give torch.int64": {
        "hyperedge_index": torch.zeros(2, 0, dtype=torch.int32)
    },
    r"y has dtype torch.float32; give torch.int64 \(with class_names\)": {"y": torch.zeros(2, 2)},
    r"y has dtype torch.int64; give torch.float32 \(without class_names\)": {"class_names": ()},
    "x_mask is on meta, but x is on cpu": {"x_mask": torch.zeros(2, 2, 1, dtype=torch.bool, device="meta")},
    "times mixes 0 and 'b'": {"times": (0, "b")},
}
WRONG_VALUE = {
    r"x has shape \(1, 2, 1\)": {"x": torch.zeros(1, 2, 1)},
    r"x has shape \(\)": {"x": torch.zeros(())},
    r"y has shape \(2, 2, 1\)": {"y": torch.zeros(2, 2, 1, dtype=torch.int64)},
    r"influence has shape \(1,\)": {"influence": torch.zeros(1, dtype=torch.int64)},
    r"incidence_weight has shape \(2,\)": {"incidence_weight": torch.ones(2)},
    "node_ids has 1 entries, but there are 2": {"node_ids": ("a",)},
    "node_ids has 'a' twice": {"node_ids": ("a", "a")},
    "class_names has 'calm' twice": {"class_names": ("calm", "calm")},
    r"\(hyperedge_time, hyperedge_ids\) has \(0, 'g'\) twice": {"hyperedge_time": torch.tensor([0, 0])},
    "times has 0 after 1": {"times": (1, 0)},
    "times has 1 after 1": {"times": (1, 1)},
    r"hyperedge_time\[1\] is 2, but there are 2 times": {"hyperedge_time": torch.tensor([0, 2])},
    r"hyperedge_index\[0\]\[2\] is 2, but there are 2 agents": {
        "hyperedge_index": torch.tensor([[0, 1, 2], [0, 0, 1]])
    },
    r"influence\[1\]\[0\] is -1, but there are 2 agents": {"influence": torch.tensor([[0], [-1]])},
    "hyperedge_index must be sorted by group": {"hyperedge_index": torch.tensor([[1, 0, 1], [0, 0, 1]])},
    r"x\[0\] has a value that is not finite": {"x": torch.full((2, 2, 1), torch.nan)},
    r"x\[0\] has a value where x_mask is False": {"x": torch.ones(2, 2, 1)},
    r"y\[0\] has a value where y_mask is False": {"y": torch.ones(2, 2, dtype=torch.int64)},
    r"y\[0\] is 5, but there are 2 classes": {"y": torch.tensor([[5, 0], [0, 0]])},
    "y_mask says that outcomes were observed, but y is None": {"y": None},
    "incidence_weight has a value that is not finite": {"incidence_weight": torch.full((3,), torch.inf)},
    "influence_kind is 'reply', but influence is None": {"influence": None},
}


@pytest.mark.parametrize("message", WRONG_TYPE)
def test_wrong_types_are_named(data, message):
    with pytest.raises(ArgumentTypeError, match=message):
        dataclasses.replace(data, **WRONG_TYPE[message])


@pytest.mark.parametrize("message", WRONG_VALUE)
def test_wrong_values_are_named(data, message):
    with pytest.raises(ArgumentError, match=message):
        dataclasses.replace(data, **WRONG_VALUE[message])


def test_no_times_at_all():
    with pytest.raises(ArgumentError, match="times is empty"):
        assemble(times=[], node_ids=["a"])
