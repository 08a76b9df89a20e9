"""Confidence is the share of the prior's entropy that is gone, and 0 where there was none."""

import math

import pytest
import torch

from sphunc.discovery import binary_entropy, identification_confidence


def test_binary_entropy_is_zero_when_decided():
    found = binary_entropy(torch.tensor([0.0, 0.5, 0.9, 1.0], dtype=torch.float64))
    nine_tenths = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert found.tolist() == pytest.approx([0.0, math.log(2.0), nine_tenths, 0.0])


def test_confidence_is_the_share_of_entropy_that_is_gone():
    entropy = torch.tensor([0.0, 0.5, 2.0, 3.0, 0.0], dtype=torch.float64)
    prior = torch.tensor([2.0, 2.0, 2.0, 2.0, 0.0], dtype=torch.float64)
    assert identification_confidence(entropy, prior).tolist() == [1.0, 0.75, 0.0, 0.0, 0.0]


def test_confidence_of_sums():
    assert float(identification_confidence(torch.tensor(1.0), torch.tensor(4.0))) == 0.75
    assert float(identification_confidence(torch.tensor(0.0), torch.tensor(0.0))) == 0.0
