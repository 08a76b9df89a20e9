import importlib.util

import pytest
import torch

from sphunc.baselines.links import pcmci
from sphunc.baselines.links.pcmci import admitted_links
from sphunc.errors import MissingExtraError


def test_candidates_and_own_lags_are_admitted():
    allowed = admitted_links(torch.tensor([[1], [0]]), 2, 2)
    assert set(allowed[0]) == {(0, -1), (0, -2), (1, -1), (1, -2)}
    assert set(allowed[1]) == {(1, -1), (1, -2)}


@pytest.mark.skipif(importlib.util.find_spec("tigramite") is not None, reason="tigramite is installed")
def test_missing_extra_names_the_command():
    with pytest.raises(MissingExtraError, match=r"pip install 'sphunc\[pcmci\]'"):
        pcmci(torch.zeros(5, 2, 1), torch.tensor([[1], [0]]))
