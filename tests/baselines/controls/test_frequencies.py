import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.controls.frequencies import last_outcome, marginal, transitions
from sphunc.errors import ArgumentError
from sphunc.hypergraph import scramble_future


def test_last_outcome_by_hand() -> None:
    y = torch.tensor([[1, 0], [0, 0], [2, 0]])
    mask = torch.tensor([[True, False], [False, False], [True, False]])
    assert last_outcome(y, mask).tolist() == [[1, -1], [1, -1], [2, -1]]


def test_tables_by_hand() -> None:
    shares = marginal(torch.tensor([0, 0, 1]), 2)
    assert shares.tolist() == pytest.approx([3 / 5, 2 / 5])
    table = transitions(torch.tensor([0, 0, 0]), torch.tensor([0, 0, 1]), shares)
    assert table.flatten().tolist() == pytest.approx([(2 + 0.6) / 4, (1 + 0.4) / 4, 0.6, 0.4])


def test_persistence_beats_majority_where_states_last(data, split) -> None:
    assert forecaster("persistence").fit(data, split).validation_ < forecaster("majority").fit(data, split).validation_


def test_an_agent_without_a_past_gets_the_shares(tiny) -> None:
    model = forecaster("persistence").fit(tiny)
    rows = model.predict(tiny).probabilities
    assert torch.equal(rows[3], model.table_[-1])
    assert rows.sum(-1).tolist() == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("name", ["majority", "persistence"])
def test_there_is_nothing_to_set(name) -> None:
    with pytest.raises(ArgumentError, match=r"'dropout' is not a setting of .*; allowed: horizon, seed, device"):
        forecaster(name, dropout=0.5)


def test_all_outcomes_that_may_be_read_are_counted_and_validation_comes_before(data, split) -> None:
    stop = split.targets("calibration")[-1] + 1
    model = forecaster("majority").fit(data, split)
    observed = data.y[1:stop][data.y_mask[1:stop]]
    shares = marginal(observed, data.num_classes).tolist()
    assert model.table_.tolist() == [pytest.approx(shares)] * (data.num_classes + 1)
    early, late = split.targets("train")[-1] + 1, list(split.targets("validation"))
    before = marginal(data.y[1:early][data.y_mask[1:early]], data.num_classes)
    assert model.validation_ == pytest.approx(-float(before[data.y[late][data.y_mask[late]]].log().mean()))
    later = forecaster("majority").fit(scramble_future(data, stop - 1), split)
    assert torch.equal(model.table_, later.table_)
