import os
from pathlib import Path

import pytest

import sphunc
from sphunc.datasets import NAMES, card, load_dataset


@pytest.mark.parametrize("name", NAMES)
def test_missing_folder_tells_how_to_obtain(name: str, tmp_path: Path) -> None:
    with pytest.raises(sphunc.DataError) as error:
        load_dataset(name, tmp_path / "nowhere")
    assert "does not exist" in str(error.value)
    assert card(name).obtain in str(error.value)
    assert card(name).licence in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_layout_tells_what_was_expected(name: str, tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(sphunc.DataError) as error:
        load_dataset(name, tmp_path)
    assert card(name).layout[0] in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_option_lists_the_known(name: str, tmp_path: Path) -> None:
    with pytest.raises(sphunc.ArgumentError, match=f"{name} has no option 'colour'; options and defaults: "):
        load_dataset(name, tmp_path, colour="red")


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(sphunc.DataError, match=r"no data set 'phemee'; known: pheme, snare.*did you mean 'pheme'"):
        load_dataset("phemee", ".")
    with pytest.raises(sphunc.DataError, match="known: pheme"):
        card("mnist")


def test_differences_are_recorded_and_strict_refuses_them(tmp_path: Path) -> None:
    text = "id = {P99-1001}\nauthor = {Hill, Ada; Moor, Ben}\ntitle = {On Moss}\nvenue = {ACL}\nyear = {1999}\n\n"
    (tmp_path / "acl-metadata.txt").write_text(text)
    data = load_dataset("collaboration", tmp_path)
    papers = data.attributes["dataset"]
    assert papers["counts"]["papers"] == 1
    assert papers["expected"]["papers"] == 18041
    assert any("SHA-256" in line for line in papers["differences"])
    with pytest.raises(sphunc.DataError, match=r"papers: 1 found, 18041 expected(.|\n)*strict=False"):
        load_dataset("collaboration", tmp_path, strict=True)


REAL = Path(os.environ.get("SPHUNC_DATA", "nowhere"))


@pytest.mark.skipif(not REAL.is_dir(), reason="set SPHUNC_DATA to the folder with the real data sets")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("pheme", "pheme_scheme/pheme-rumour-scheme-dataset.slim.tar.xz"),
        ("snare", "s50_siena/clean"),
        ("snare", "glasgow_peers"),
        ("financial", "stocks_nasdaq"),
        ("collaboration", "aan_coauthorship"),
        ("collaboration", "congress_house"),
    ],
)
def test_real_data_hold_the_expected_counts(name: str, path: str) -> None:
    if not (REAL / path).exists():
        pytest.skip(f"{path} is not under SPHUNC_DATA")
    assert load_dataset(name, REAL / path, strict=True).attributes["dataset"]["differences"] == []
