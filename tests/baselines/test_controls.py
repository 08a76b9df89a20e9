from dataclasses import replace

import torch

from sphunc.baselines import forecaster


def test_controls_never_look_at_groups(data, split) -> None:
    nobody_met = replace(
        data,
        hyperedge_index=data.hyperedge_index[:, :0],
        hyperedge_time=data.hyperedge_time[:0],
        hyperedge_ids=(),
        num_hyperedges=0,
    )
    for name in ("logistic", "recurrent"):
        model = forecaster(name, epochs=3).fit(data, split)
        assert torch.equal(model.predict(data).probabilities, model.predict(nobody_met).probabilities)


def test_logistic_regression_is_linear_in_its_inputs(data, split, panel) -> None:
    model = forecaster("logistic", epochs=3).fit(data, split)
    weight, bias = model.network_.map.weight, model.network_.map.bias
    wanted = torch.log_softmax(panel.inputs @ weight.mT + bias, -1)
    assert torch.allclose(model.network_(panel).log_probabilities, wanted, atol=1e-6)
