import pytest
import torch
from torch import nn

from sphunc.baselines import forecaster, load_forecaster
from sphunc.baselines.controls import Logistic
from sphunc.baselines.saving import load_weights, saved_name
from sphunc.baselines.trivial import Majority, Persistence
from sphunc.errors import CheckpointError


def test_a_folder_knows_whose_it_is(tmp_path, data, split) -> None:
    forecaster("majority").fit(data, split).save(tmp_path)
    assert saved_name(tmp_path) == "majority"
    assert isinstance(load_forecaster(tmp_path), Majority)
    with pytest.raises(CheckpointError, match="holds the peer 'majority', not 'persistence'"):
        Persistence.load(tmp_path)


def test_a_damaged_document_is_refused(tmp_path, data, split) -> None:
    forecaster("logistic", epochs=1).fit(data, split).save(tmp_path)
    document = tmp_path / "peer.json"
    document.write_text(document.read_text().replace('"schema"', '"scheme"'))
    with pytest.raises(CheckpointError, match=r"peer.json does not hold what sphunc wrote"):
        Logistic.load(tmp_path)


def test_nothing_is_pickled(tmp_path, data, split) -> None:
    forecaster("logistic", epochs=1).fit(data, split).save(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors"]


class Small(nn.Module):
    """One parameter, and a buffer whose length is learned."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.full((2,), value))
        self.register_buffer("support", torch.zeros(0, 3))


def test_weights_become_those_given_and_buffers_take_their_saved_length() -> None:
    network = Small(0.0)
    support = torch.ones(5, 3)
    load_weights(network, {"gain": Small(3.0).gain, "support": support})
    assert network.gain.tolist() == [3.0, 3.0]
    assert torch.equal(network.support, support)
    network.support.zero_()
    assert support.sum() == 15  # a copy


@pytest.mark.parametrize(
    ("weights", "words"),
    [({"gain": torch.zeros(1)}, "do not fit the saved configuration: .*gain"), ({}, 'Missing key.* "gain"')],
)
def test_parameters_that_do_not_fit_are_refused(weights, words) -> None:
    with pytest.raises(CheckpointError, match=words):
        load_weights(Small(0.0), {"support": torch.zeros(0, 3), **weights})
