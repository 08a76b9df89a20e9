"""The small calibration error agrees with the real one."""

import torch

from sphunc.evaluation import ece
from sphunc.legacy.history import top_label_ece


def test_small_calibration_error_is_the_real_one():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 50, 3, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (4, 50), generator=generator)
    mask = torch.rand(4, 50, generator=generator) < 0.7
    got = top_label_ece(logits.log_softmax(-1), labels, mask)
    assert abs(got - ece(logits.softmax(-1), labels, mask=mask)) < 1e-12


def test_no_rows_no_error():
    assert top_label_ece(torch.zeros(2, 3), torch.zeros(2, dtype=torch.long), torch.zeros(2, dtype=torch.bool)) == 0
