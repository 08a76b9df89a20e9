import inspect

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.nn import AngularHypergraphConv
from sphunc.nn import conv_inputs as inputs

X = torch.ones(4, 3)
PROJECTION = torch.ones(5, 3)
INDEX = torch.tensor([[0, 1, 2, 1, 3], [0, 0, 0, 2, 2]])


@pytest.mark.parametrize("good", [1, 7, np.int32(7)])
def test_sizes_are_taken(good):
    taken = AngularHypergraphConv(good, 2).in_dim
    assert taken == good
    assert type(taken) is int


@pytest.mark.parametrize("bad", ["3", 3.0, True, None, torch.tensor(3)])
def test_sizes_are_whole_numbers(bad):
    # Without the checks of annotations that only tests have.
    construct = inspect.unwrap(AngularHypergraphConv.__init__)
    with pytest.raises(ArgumentTypeError, match=r"in_dim=.* must be a whole number, got"):
        construct(AngularHypergraphConv(1, 1), bad, 2)


@pytest.mark.parametrize("bad", [0, -1])
def test_sizes_have_a_least(bad):
    with pytest.raises(ArgumentError, match=f"in_dim={bad} must be at least 1"):
        AngularHypergraphConv(bad, 2)


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        ([[1.0]], ArgumentTypeError, r"x is a list; give a torch tensor, e.g. torch.as_tensor\(x\)"),
        (X.numpy(), ArgumentTypeError, "x is a ndarray; give a torch tensor"),
        (X.to_sparse(), ArgumentTypeError, r"x has layout torch.sparse_coo; .* x.to_dense\(\)"),
        (X.long(), ArgumentTypeError, r"x has dtype torch.int64; give floating-point features, e.g. x.float\(\)"),
        (X.bool(), ArgumentTypeError, "x has dtype torch.bool; give floating-point features"),
        (X.to(torch.complex64), ArgumentTypeError, "x has dtype torch.complex64; give floating-point features"),
        (X[0], ArgumentError, r"x has shape \(3,\); give \[N, 3\], .*; a single node is x.unsqueeze\(0\)"),
        (X[None], ArgumentError, r"x has shape \(1, 4, 3\); give \[N, 3\], one row per node$"),
        (X[:, :2], ArgumentError, "x has 2 features, but the layer was made with in_dim=3; .* with in_dim=2"),
        (X.to("meta"), ArgumentTypeError, "x is on meta, the layer on cpu; move one"),
        (
            X.double(),
            ArgumentTypeError,
            r"torch.float64, but the layer has torch.float32; .* x.float\(\) or .* layer.d",
        ),
        (X.half(), ArgumentTypeError, r"convert x with x.float\(\) or the layer with layer.half\(\)"),
        (X.bfloat16(), ArgumentTypeError, r"convert x with x.float\(\) or the layer with layer.bfloat16\(\)"),
    ],
)
def test_features_of_another_kind(bad, error, says):
    with pytest.raises(error, match=says):
        inputs.check_features(bad, 3, PROJECTION)


def test_autocast_joins_narrow_types_but_not_double():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert inputs.check_features(X.bfloat16(), 3, PROJECTION).dtype == torch.bfloat16
        with pytest.raises(ArgumentTypeError, match=r"x has dtype torch.float64, but the layer has torch.float32"):
            inputs.check_features(X.double(), 3, PROJECTION)


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        (INDEX.tolist(), ArgumentTypeError, "hyperedge_index is a list; give a torch tensor"),
        (INDEX + 0.5, ArgumentTypeError, r"has dtype torch.float32; indices are whole .* hyperedge_index.long\(\)"),
        (INDEX.bool(), ArgumentTypeError, "hyperedge_index has dtype torch.bool; indices are whole numbers"),
        (INDEX[0], ArgumentError, r"hyperedge_index has shape \(5,\); give memberships \[2, nnz\], row 0 the node"),
        (INDEX.T, ArgumentError, "hyperedge_index has 5 rows; it takes 2, .*; turn it with hyperedge_index.T"),
        (INDEX.to("meta"), ArgumentTypeError, "x is on cpu, hyperedge_index on meta; move one"),
    ],
)
def test_memberships_of_another_kind(bad, error, says):
    with pytest.raises(error, match=says):
        inputs.check_memberships(bad, X)


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        ([1.0], ArgumentTypeError, "hyperedge_weight is a list; give a torch tensor"),
        (torch.ones(3).long(), ArgumentTypeError, r"hyperedge_weight has dtype torch.int64; .*_weight.float\(\)"),
        (torch.ones(3, 1), ArgumentError, r"has shape \(3, 1\); give one number .* hyperedge_weight.flatten\(\)"),
        (torch.ones(3, device="meta"), ArgumentTypeError, "x is on cpu, hyperedge_weight on meta"),
        (torch.tensor([1, torch.nan, 1]), ArgumentError, r"hyperedge_weight\[1\] is nan; weights of a mean are finite"),
        (torch.tensor([1, 1, torch.inf]), ArgumentError, r"hyperedge_weight\[2\] is inf"),
        (torch.tensor([1, -0.5, 1]), ArgumentError, r"hyperedge_weight\[1\] is -0.5; .* 0 or more"),
    ],
)
def test_weights_of_another_kind(bad, error, says):
    with pytest.raises(error, match=says):
        inputs.check_weights(bad, X)


def test_attributes_are_refused():
    inputs.refuse_attributes(None)
    with pytest.raises(ArgumentError, match=r"hyperedge_attr is a Tensor; leave it None: .*hyperedge_weight"):
        inputs.refuse_attributes(X)


def test_hyperedges_are_counted():
    assert inputs.count_edges(INDEX, None, None, 4) == 3
    assert inputs.count_edges(INDEX, None, np.int64(5), 4) == 5
    assert inputs.count_edges(INDEX, torch.ones(4), None, 4) == 4
    assert inputs.count_edges(INDEX, torch.ones(4), 4, 4) == 4
    empty = INDEX[:, :0]
    assert [inputs.count_edges(empty, *stated, 0) for stated in ((None, None), (None, 2), (torch.ones(2), None))] == [
        0,
        2,
        2,
    ]
    assert inputs.count_edges(empty, None, 0, 0) == 0


@pytest.mark.parametrize(
    ("index", "weight", "num_edges", "says"),
    [
        (INDEX, None, -1, "num_edges=-1 must be at least 0"),
        (INDEX, None, 2, r"hyperedge_index\[1\] holds 2, but num_edges is 2; .* makes 3 or more"),
        (INDEX, torch.ones(2), None, r"hyperedge_index\[1\] holds 2, but hyperedge_weight has 2 entries"),
        (INDEX, torch.ones(3), 4, "hyperedge_weight has 3 entries, but num_edges is 4; give one weight per hyperedge"),
        (INDEX + 1, None, None, r"hyperedge_index\[0\] holds 4, but x has 4 rows"),
        (-INDEX, None, None, r"hyperedge_index\[0\] holds -3; nodes and hyperedges are numbered from 0"),
        (INDEX - torch.tensor([[0], [1]]), None, 9, r"hyperedge_index\[1\] holds -1"),
    ],
)
def test_memberships_of_what_is_not_there(index, weight, num_edges, says):
    with pytest.raises(ArgumentError, match=says):
        inputs.count_edges(index, weight, num_edges, 4)


@pytest.mark.parametrize("bad", ["3", 3.0, True])
def test_stated_number_of_another_type(bad):
    with pytest.raises(ArgumentTypeError, match=r"num_edges=.* must be a whole number"):
        inputs.count_edges(INDEX, None, bad, 4)
