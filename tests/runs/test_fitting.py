"""The same call begins, goes on and has ended; other data or settings are refused."""

import pytest

from sphunc.errors import ArgumentError
from sphunc.runs import RunSettings, fit_run

QUICK = RunSettings(quick=True)


def stop_at(share):
    def stop(record):
        if record.share >= share:
            raise KeyboardInterrupt

    return stop


def test_a_stopped_fit_goes_on_to_the_same_result(small_data, tmp_path):
    settings = RunSettings()
    with pytest.raises(KeyboardInterrupt):
        fit_run(tmp_path / "run", small_data, settings, callbacks=[stop_at(0.5)])
    assert (tmp_path / "run" / "status.json").read_text().find("stopped") > 0
    assert list((tmp_path / "run" / "model").glob("stage_*.json"))
    assert not (tmp_path / "run" / "lock.json").exists()
    resumed = fit_run(tmp_path / "run", None)
    whole = settings.model().fit(small_data, verbose=False)
    assert resumed.forecast.probabilities.equal(whole.predict(small_data).probabilities)
    assert "resumed" in (tmp_path / "run" / "log.txt").read_text()


def test_a_fit_that_has_ended_is_opened(quick_run, small_data):
    before = (quick_run.folder / "log.txt").read_text()
    again = fit_run(quick_run.folder, small_data, quick_run.settings)
    assert again.verdict == quick_run.verdict
    assert (quick_run.folder / "log.txt").read_text() == before


def test_other_settings_and_other_data_are_refused_unless_it_begins_anew(quick_run, small_data, tmp_path):
    with pytest.raises(ArgumentError, match=r"other settings \(seed was 0, now 3.*--overwrite to begin anew"):
        fit_run(quick_run.folder, small_data, RunSettings(quick=True, until="3", seed=3))
    with pytest.raises(ArgumentError, match="a fit of other data"):
        fit_run(quick_run.folder, small_data.until(2), quick_run.settings)
    fit_run(tmp_path / "run", small_data, QUICK)
    anew = fit_run(tmp_path / "run", small_data.until(3), QUICK, overwrite=True)
    assert anew.data.same_as(small_data.until(3))


def test_folders_that_hold_other_things_are_left_alone(small_data, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ArgumentError, match=r"is no run and holds other things \(thesis.txt\)"):
        fit_run(tmp_path, small_data, QUICK, overwrite=True)
    with pytest.raises(ArgumentError, match="is a file"):
        fit_run(tmp_path / "thesis.txt", small_data, QUICK)
    with pytest.raises(ArgumentError, match="holds no fit to go on with"):
        fit_run(tmp_path / "new", None)


def test_a_fault_is_kept_in_the_log(small_data, tmp_path):
    def fail(record):
        raise RuntimeError("no space")

    with pytest.raises(RuntimeError):
        fit_run(tmp_path / "run", small_data, QUICK, callbacks=[fail])
    assert "failed: no space" in (tmp_path / "run" / "log.txt").read_text()
    assert fit_run(tmp_path / "run", small_data, QUICK).state == "done"
