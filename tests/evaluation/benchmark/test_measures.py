"""The numbers of a cell agree with the metrics that they are made of, and are None where nothing is defined."""

import pytest
import torch

from sphunc.evaluation import accuracy, brier, check_calibration, debiased_ece, nll
from sphunc.evaluation.benchmark.measures import among, candidate_measures, forecast_measures, link_measures

P = torch.tensor([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1], [0.2, 0.8]])
Y = torch.tensor([0, 0, 0, 1])


def test_forecast_measures_are_the_metrics() -> None:
    found = forecast_measures(P, Y, 1 - P.max(-1).values)
    assert found["rows_test"] == 4
    assert found["accuracy"] == accuracy(P, Y) == 0.75
    assert found["nll"] == nll(P, Y)
    assert found["brier"] == brier(P, Y)
    check = check_calibration(P, Y)
    assert (found["ece"], found["ece_floor"], found["ece_high"]) == (check.ece, check.null.floor, check.null.high)
    assert found["aurc"] == found["aurc_own"]
    parts = [found[f"brier_{name}"] for name in ("reliability", "resolution", "uncertainty", "within")]
    assert found["brier"] == pytest.approx(parts[0] - parts[1] + parts[2] + parts[3])
    assert found["ece_debiased"] == debiased_ece(P, Y)
    assert found["misclassification_fpr95"] == 0.0 == found["misclassification_fpr95_own"], (
        "the one error is least sure"
    )


def test_certain_error_costs_much_but_not_infinity() -> None:
    found = forecast_measures(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([1, 0]), torch.zeros(2))
    assert 13 < found["nll"] < 15


def test_undefined_measures_are_none() -> None:
    found = forecast_measures(P, torch.zeros(4, dtype=torch.long), 1 - P.max(-1).values)
    assert found["macro_auc"] is None
    right = forecast_measures(P[[0, 2]], torch.zeros(2, dtype=torch.long), P[[0, 2]].amin(-1))
    assert right["misclassification_fpr95"] is None
    candidates = torch.tensor([[0, 1], [1, 0]])
    none = link_measures(torch.rand(2), candidates, torch.tensor([False, False]))
    assert set(none.values()) == {None}


def test_links_are_judged_on_shared_candidates() -> None:
    candidates = torch.tensor([[0, 0, 1, 2] * 5, [*range(1, 21)]])
    links = torch.tensor([[0, 9], [1, 9]])
    is_true = among(candidates, links, 30)
    assert is_true.nonzero().flatten().tolist() == [0]
    found = link_measures(torch.arange(20, 0, -1).float(), candidates, is_true)
    assert (found["p_at_10"], found["auprc"], found["r_precision"]) == (0.1, 1.0, 1.0)
    assert candidate_measures(candidates, links, is_true) == {
        "candidates": 20,
        "link_base_rate": 0.05,
        "links_within_reach": 0.5,
    }
