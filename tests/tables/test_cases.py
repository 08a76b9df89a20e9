"""The scenarios run and say a figure; what they are built from does what it says."""

import pytest
import torch

import sphunc
from sphunc.hypergraph import comembers
from sphunc.tables.cases import early_case, hide_before, homophily_case, lagged_similarity, modality_case


def test_hidden_agents_have_nothing_before_the_time() -> None:
    data = sphunc.simulate("snare", agents=20, times=5, seed=0).data
    agents = torch.arange(20) < 7
    hidden = hide_before(data, agents, 3)
    assert not hidden.x_mask[:3, :7].any()
    assert not hidden.y_mask[:3, :7].any()
    assert torch.equal(hidden.x_mask[3:], data.x_mask[3:])
    assert torch.equal(hidden.y_mask[:, 7:], data.y_mask[:, 7:])


def test_similarity_is_the_lagged_cosine() -> None:
    data = sphunc.simulate("snare", agents=12, times=4, missing=0.0, seed=0).data
    pairs = comembers(data)
    source, target = pairs[:, 3].tolist()
    x = torch.nn.functional.normalize(data.x, dim=-1)
    expected = sum(float(x[t, source] @ x[t + 1, target]) for t in range(3)) / 3
    assert float(lagged_similarity(data, pairs)[3]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("case", [homophily_case, early_case, modality_case])
def test_scenarios_find_what_the_paper_says(case) -> None:
    row = case(11)
    ours = float(row["SphUnc"].split("errors")[0].split(";")[-1].split(",")[0].split("(")[0])
    simpler = float(row["simpler"].split(" ")[0].rstrip(","))
    if case is early_case:
        assert ours < simpler
    else:
        assert ours > simpler
