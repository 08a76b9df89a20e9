import pytest
import torch

from sphunc.baselines.links import cosine, lagged_cosine


def test_cosines_by_hand():
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 0.0]]])
    link = torch.tensor([[0], [1]])
    both = torch.dot(x[:, 0].flatten(), x[:, 1].flatten()) / (x[:, 0].norm() * x[:, 1].norm())
    assert float(cosine(x, link)) == pytest.approx(float(both))
    assert float(lagged_cosine(x, link)) == pytest.approx(1.0)
