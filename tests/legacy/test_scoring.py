"""Scores of forecasts, by hand."""

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.legacy.scoring import explained


def test_what_is_explained_is_averaged_over_outcomes() -> None:
    truth = torch.tensor([[0.0, 1.0], [2.0, 5.0]])
    guess = torch.tensor([[0.5, 1.0], [1.5, 5.0]])
    assert explained(torch.cat([truth, guess], -1)) == pytest.approx((0.75 + 1.0) / 2)


@pytest.mark.parametrize(
    ("truth", "words"), [([[1.0]], "only one outcome is"), ([[2.0], [2.0]], "all 2 outcomes are 2")]
)
def test_nothing_is_explained_where_nothing_varies(truth, words) -> None:
    rows = torch.tensor(truth)
    with pytest.raises(ArgumentError, match=f"{words} there, and nothing varies; give origins= or data"):
        explained(torch.cat([rows, rows], -1))
