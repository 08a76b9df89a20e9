"""Parameters must fit; buffers take the length they were saved with; nothing is shared with what was given."""

import pytest
import torch
from standin import StandIn

from sphunc.errors import CheckpointError
from sphunc.legacy.bundle import read_bundle, write_bundle
from sphunc.legacy.weights import load_weights
from sphunc.nn.encoder import Encoder


def network(seed=0):
    return StandIn(4, 3, numeric=False, generator=torch.Generator().manual_seed(seed))


def test_weights_become_those_given():
    first, second = network(0), network(1)
    load_weights(second, first.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_buffers_take_their_saved_length():
    one = network()
    load_weights(one, dict(one.state_dict()) | {"support": torch.ones(5, 6)})
    assert one.support.shape == (5, 6)


def test_buffers_are_copies():
    one, given = network(), torch.ones(5, 6)
    load_weights(one, dict(one.state_dict()) | {"support": given})
    one.support.zero_()
    assert given.sum() == 30


def test_parameters_of_another_shape_are_refused():
    one = network()
    with pytest.raises(CheckpointError, match=r"the saved weights do not fit the saved configuration: .*readout"):
        load_weights(one, dict(one.state_dict()) | {"readout": torch.zeros(1, 1)})


def test_missing_parameters_are_refused():
    one = network()
    weights = {name: value for name, value in one.state_dict().items() if name != "gain"}
    with pytest.raises(CheckpointError, match=r"Missing key.* \"gain\""):
        load_weights(one, weights)


@pytest.mark.parametrize("factors", [True, False])
def test_what_an_encoder_learned_of_its_features_survives_a_file(factors, tmp_path):
    g = torch.Generator().manual_seed(0)
    x, mask = torch.randn(30, 6, generator=g) * 2 + 1, torch.rand(30, 6, generator=g) > 0.3
    learned, fresh = Encoder(6, 4, generator=g), Encoder(6, 4, generator=g)
    learned.learn_statistics(x, mask, factors=factors)
    write_bundle(tmp_path, "encoder", {}, learned.state_dict())
    load_weights(fresh, read_bundle(tmp_path, "encoder")[1])
    assert fresh.loadings.shape == (6, 3 if factors else 0)
    assert torch.equal(fresh.noise, learned.noise)
    assert torch.equal(fresh.standardise(x, mask), learned.standardise(x, mask))
