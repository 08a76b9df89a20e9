import dataclasses
from pathlib import Path

import pytest

from sphunc.datasets import NAMES, DatasetCard, card
from sphunc.datasets.card import refuse, refuse_faults
from sphunc.errors import DataError


@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_has_its_papers(name: str) -> None:
    found = card(name)
    assert found.name == name
    for entry in (found.title, found.licence, found.citation, found.obtain, *found.source, *found.layout):
        assert len(entry) > 10
    assert found.expected
    assert all(len(sum_) == 64 for sums in found.checksums.values() for sum_ in sums.values())
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.title = "other"  # type: ignore[misc]


def test_refusal_tells_layout_source_and_licence() -> None:
    found: DatasetCard = card("amigos")
    with pytest.raises(DataError) as error:
        refuse(found, Path("here"), "holds nothing")
    text = str(error.value)
    assert text.startswith("here: holds nothing")
    for entry in (found.layout[0], found.obtain, *found.source, found.licence):
        assert entry in text


def test_faults_are_listed_up_to_twenty() -> None:
    refuse_faults("fine", [])
    with pytest.raises(DataError, match=r"bad: 25 fault\(s\)(.|\n)*fault 19\n  \.\.\. and 5 more$"):
        refuse_faults("bad", [f"fault {i}" for i in range(25)])
