"""Conversion and refusal of what metrics are given."""

import jaxtyping
import numpy as np
import pytest
import torch

from sphunc import evaluation as ev
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.evaluation import accuracy, nll
from sphunc.evaluation.inputs import (
    class_forecast,
    class_probabilities,
    counted,
    even_array,
    flat_numbers,
    flat_truth,
    share,
    to_array,
)

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])


def test_tensors_arrays_and_lists_are_the_same_to_a_metric():
    values = [
        nll(P, [0, 2]),
        nll(torch.tensor(P, requires_grad=True), torch.tensor([0, 2])),
        nll(P.tolist(), np.array([0, 2])),
    ]
    assert values[0] == values[1] == values[2] == pytest.approx(-(np.log(0.7) + np.log(0.8)) / 2)


def test_low_precision_tensors_become_doubles():
    assert to_array("x", torch.ones(2, dtype=torch.bfloat16)).dtype == np.float64
    p = torch.softmax(torch.randn(500, 7, generator=torch.Generator().manual_seed(0)), dim=1)
    assert class_probabilities(p).shape == (500, 7)


def test_leading_axes_are_rows_and_masked_rows_are_never_read():
    p = np.stack([P, np.full_like(P, np.nan)])
    y = np.array([[0, 1], [-7, 99]])
    mask = np.array([[True, True], [False, False]])
    assert accuracy(p, y, mask=torch.from_numpy(mask)) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: class_forecast(P[0], [0]), r"labels: shape \(1,\) does not fit probabilities \(3,\)"),
        (lambda: class_forecast(P, [0]), r"labels: shape \(1,\) does not fit probabilities \(2, 3\)"),
        (lambda: class_forecast(P, [0, 3]), r"labels: \[3\] outside the classes 0 ... 2"),
        (lambda: class_forecast(P, [-1, 0]), r"labels: \[-1\] outside the classes"),
        (lambda: class_probabilities(P[:, :1]), r"probabilities: shape \(2, 1\), expected \[..., C\] with two classes"),
        (lambda: class_probabilities(P[0]), r"probabilities: shape \(3,\)"),
        (lambda: class_probabilities(P * 1.01), r"probabilities: row \d sums to 1.01, expected 1"),
        (lambda: class_probabilities([[1.5, -0.5]]), r"probabilities: smallest value -0.5 is negative"),
        (lambda: class_probabilities([[np.nan, 1.0], [0, 1]]), r"probabilities: 1 of 2 rows are NaN .* row 0"),
        (lambda: counted(np.zeros(3, dtype=bool), (3,)), "mask: no row counts"),
        (lambda: counted(None, (0,), "x"), "x: empty, and nothing can be computed from nothing"),
        (lambda: class_forecast(P, []), r"labels: shape \(0,\) does not fit probabilities \(2, 3\)"),
        (lambda: class_forecast(np.zeros((0, 3)), []), "probabilities: empty"),
        (lambda: counted([], (3,)), r"mask: shape \(0,\) differs from \(3,\)"),
        (lambda: counted(np.ones(2, dtype=bool), (3,)), r"mask: shape \(2,\) differs from \(3,\)"),
        (lambda: flat_numbers({"a": [1.0], "b": [1.0, 2.0]}), r"b: shape \(2,\) differs from \(1,\) of a"),
        (lambda: flat_numbers({"a": [1.0, np.inf]}), "a: 1 of 2 rows are NaN or infinite, first at row 1"),
        (lambda: flat_truth({"scores": [1.0, 2.0], "truth": [0, 2]}), "truth: expected only 0 and 1"),
        (lambda: class_forecast([[0.5, 0.5], [1.0]], [0, 0]), "probabilities: rows have unequally many entries"),
        (lambda: class_forecast(P, [[0], [1, 2]]), "labels: rows have unequally many entries"),
        (lambda: to_array("x", [1.0, [1.0, 2.0]]), "x: rows have unequally many entries"),
        (lambda: to_array("x", [[[1], [1, 2]], [[1], [2]]]), "x: rows have unequally many entries, expected an array"),
        (lambda: even_array("x", [["a"], ["a", "b"]]), r"x: rows have unequally many entries"),
        (lambda: share("keep", 0.0), r"keep=0 is outside the open interval 0 ... 1; give a share such as 0.95"),
        (lambda: share("keep", np.nan), r"keep=nan is outside 0 ... 1"),
        (lambda: share("level", 1.0, allow_one=False), r"level=1 is outside the open interval 0 ... 1"),
    ],
)
def test_a_fault_is_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: to_array("x", ["a"]), "x: expected numbers, got dtype"),
        (lambda: share("level", "a"), "level='a' must be a number, got str"),
        (lambda: share("keep", True), "keep=True must be a number, got bool"),
        (lambda: class_forecast(P, [0.0, 1.0]), "labels: expected integers, got dtype float64"),
        (lambda: counted(np.ones(3), (3,)), "mask: expected booleans, got dtype float64"),
    ],
)
def test_a_wrong_dtype_is_named(call, message):
    with pytest.raises(ArgumentTypeError, match=message):
        call()


def test_nothing_at_all_is_refused():
    with pytest.raises(ArgumentError, match="probabilities: empty"):
        accuracy(np.zeros((0, 3)), np.zeros(0, dtype=int))


def never(values):
    raise AssertionError("the metric was called")


D = [1.0, 2.0, 4.0]
WRONG_TYPES = {
    "level": [
        lambda: ev.check_calibration(P, [0, 1], level="a", samples=10**12),
        lambda: ev.calibration_null(P, level="a", samples=10**12),
        lambda: ev.check_link_calibration([0.5], [1], level="a", samples=10**12),
        lambda: ev.bootstrap(never, D, level="a"),
        lambda: ev.paired_t(D).statement("a"),
        lambda: ev.wilcoxon_limit(5, level="a"),
    ],
    "seed": [
        lambda: ev.check_calibration(P, [0, 1], seed="a"),
        lambda: ev.bootstrap(never, D, seed=1.5),
        lambda: ev.pit_samples([[1.0]], [1.0], seed="a"),
    ],
    "samples": [
        lambda: ev.bootstrap(never, D, samples="a"),
        lambda: ev.check_calibration(P, [0, 1], samples=1.5),
    ],
    "train_size": [lambda: ev.corrected_resampled_t(D, train_size="a", test_size=1)],
    "test_size": [lambda: ev.compare({"a": D, "b": [0, 1, 3]}, "a", train_size=1, test_size="a")],
    "coverage": [lambda: ev.risk_at_coverage(D, D, "a")],
    "keep": [lambda: ev.fpr95(D, D, keep="a")],
    "least": [lambda: ev.nll(P, [0, 1], least="a")],
    "bins": [lambda: ev.ece(P, [0, 1], bins="a"), lambda: ev.brier_parts(P, [0, 1], bins=1.5)],
    "k": [lambda: ev.precision_at_k(D, [0, 1, 1], "a"), lambda: ev.precision_at_k(D, [0, 1, 1], True)],
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_arguments_of_wrong_type_are_named_where_no_annotation_is_enforced(name):
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        for call in WRONG_TYPES[name]:
            with pytest.raises(ArgumentTypeError, match=f"^{name}=.* must be a (whole )?number, got"):
                call()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
