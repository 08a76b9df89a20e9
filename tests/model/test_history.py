"""Records become rows, and the small calibration error agrees with the real one."""

import torch

from sphunc.evaluation import ece
from sphunc.model.history import EpochRecord, history_frame, top_label_ece


def record(epoch, validation):
    return EpochRecord("train", epoch, 5, 1.0, 0.1, 0.2, 1.03, validation, None, 0.5, 0.01, is_best=True)


def test_one_row_per_pass_with_gaps_where_nothing_was_held_out():
    frame = history_frame([record(0, None), record(1, 0.7)])
    assert frame["epoch"].to_list() == [0, 1]
    assert frame["validation"].to_list() == [None, 0.7]


def test_small_calibration_error_is_the_real_one():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 50, 3, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (4, 50), generator=generator)
    mask = torch.rand(4, 50, generator=generator) < 0.7
    got = top_label_ece(logits.log_softmax(-1), labels, mask)
    assert abs(got - ece(logits.softmax(-1), labels, mask=mask)) < 1e-12


def test_no_rows_no_error():
    assert top_label_ece(torch.zeros(2, 3), torch.zeros(2, dtype=torch.long), torch.zeros(2, dtype=torch.bool)) == 0
