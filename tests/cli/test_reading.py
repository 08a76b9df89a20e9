"""Warnings of codes name the flag that takes them as missing."""

from sphunc.cli.reading import data_for, read_data, with_flag
from sphunc.io import write_hif
from sphunc.runs import Run


def test_flag_of_a_code():
    sentence = "feature 'age' is -99 in 3 cells while all others lie between 1 and 5: if -99 stands for a missing value"
    assert with_flag(f"{sentence}, leave these cells empty").endswith("empty, or pass --missing -99")
    assert with_flag("feature 'age' is 3 in all of its 5 cells") == "feature 'age' is 3 in all of its 5 cells"


def test_hif_and_tables_are_read_alike(small_run, small_data, small_tables, tmp_path):
    write_hif(small_data, tmp_path / "world.hif.json")
    assert read_data(tmp_path / "world.hif.json", {}).same_as(small_data)
    assert read_data(small_tables, {}).same_as(small_data)
    run = Run.open(small_run)
    assert data_for(run, None)[0].same_as(small_data.until(3))
    assert data_for(run, None, all_data=True)[0].same_as(small_data)
    assert data_for(run, tmp_path / "world.hif.json")[0].num_times == 5
