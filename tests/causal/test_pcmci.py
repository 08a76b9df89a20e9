import sys

import pytest

from sphunc.causal.candidates import all_pairs
from sphunc.causal.pcmci import pcmci
from sphunc.errors import MissingExtraError


def test_missing_extra_is_named(latents, monkeypatch):
    monkeypatch.setitem(sys.modules, "tigramite", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sphunc\[pcmci\]'"):
        pcmci(latents, all_pairs(6))


@pytest.mark.filterwarnings("ignore")
def test_scores_have_one_entry_per_candidate(latents):
    pytest.importorskip("tigramite")
    pairs = all_pairs(6)
    score = pcmci(latents[:, :, :6], pairs)
    assert score.shape == (30,)
    assert float(score[pairs[1] - pairs[0] == 1].mean()) > float(score.mean())
