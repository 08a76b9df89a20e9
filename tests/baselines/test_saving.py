import pytest

from sphunc.baselines import forecaster, load_forecaster
from sphunc.baselines.controls import Logistic
from sphunc.baselines.saving import saved_name
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
    document.write_text(document.read_text().replace('"known"', '"unknown"'))
    with pytest.raises(CheckpointError, match=r"peer.json does not hold what sphunc wrote"):
        Logistic.load(tmp_path)


def test_nothing_is_pickled(tmp_path, data, split) -> None:
    forecaster("logistic", epochs=1).fit(data, split).save(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors"]
