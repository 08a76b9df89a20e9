"""A run that is killed at any pass goes on to the same result, bit for bit; what does not belong is refused."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
import torch
from standin import session

from sphunc.errors import CheckpointError
from sphunc.legacy.bundle import sealed
from sphunc.legacy.checkpoint import (
    check_ids,
    decode_id,
    encode_id,
    fingerprint,
    is_begun,
    load_training,
    save_training,
    take_up,
)
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.fitting import conclude, fit_stages
from sphunc.legacy.plan import make_plan

SETTINGS = {"epochs": 4, "patience": 3, "refit": True, "structure_epochs": 3, "structure_every": 2}


class KilledError(Exception):
    pass


def run(made, folder, kill_after=None, begun=None):
    count = 0

    def keep(*state):
        save_training(folder, made, *state)

    def callback(record):
        nonlocal count
        count += 1
        if count == kill_after:
            raise KilledError

    carry, history = fit_stages(made, callback, keep=keep, begun=begun)
    return conclude(made, carry, history)


def without_time(history):
    return [{**vars(record), "seconds": 0} for record in history]


CASES = [(holdout, kill_after, False) for holdout in ("times", "agents") for kill_after in (1, 3, 4, 5, 7)]


@pytest.mark.parametrize(("holdout", "kill_after", "scm"), [*CASES, ("agents", 6, True)])
def test_a_killed_run_goes_on_to_the_same_result(long_data, short_data, tmp_path, holdout, kill_after, scm):
    check_resumed(
        short_data if scm else long_data, tmp_path, kill_after, **{**SETTINGS, "holdout": holdout, "scm": scm}
    )


def test_patience_goes_on_where_it_was(long_data, tmp_path):
    settings = {**SETTINGS, "epochs": 40, "patience": 4, "learning_rate": 1.0, "scm": False, "holdout": "times"}
    history = check_resumed(long_data, tmp_path, 7, **settings)
    stages = [record.stage for record in history]
    assert stages.count("train") < 40  # patience decided


def check_resumed(data, tmp_path, kill_after, **settings):
    made = session(data, **settings)
    whole = run(made, tmp_path / "whole")
    with pytest.raises(KilledError):
        run(made, tmp_path / "killed", kill_after)
    again = session(data, **settings)
    resumed = run(again, tmp_path / "killed", begun=load_training(tmp_path / "killed", again))
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name]), name
    assert whole.temperature == resumed.temperature
    assert torch.equal(whole.structure.gates, resumed.structure.gates)
    assert torch.equal(whole.conformal.scores, resumed.conformal.scores)
    assert without_time(whole.history) == without_time(resumed.history)
    return whole.history


SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
from standin import session
from sphunc.legacy.checkpoint import save_training
from sphunc.legacy.fitting import fit_stages
from sphunc.worlds import simulate

made = session(simulate("snare", agents=30, times=9, seed=0).data, scm=False, holdout="times")
left = int(sys.argv[3])

def keep(*state):
    global left
    save_training(Path(sys.argv[2]), made, *state)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

fit_stages(made, lambda record: None, keep=keep)
"""


@pytest.mark.slow
def test_a_process_killed_outright_goes_on_to_the_same_result(long_data, tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(tmp_path / "killed"), "14"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    made = session(long_data, scm=False, holdout="times")
    whole = run(made, tmp_path / "whole")
    resumed = run(made, tmp_path / "killed", begun=load_training(tmp_path / "killed", made))
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name]), name
    assert without_time(whole.history) == without_time(resumed.history)


def test_a_beginning_is_known_as_its_own_and_gives_way_to_the_first_pass(long_data, tmp_path):
    made = session(long_data, scm=False)
    assert not is_begun(tmp_path / "none")
    assert take_up(tmp_path, made, resume=False) is None
    assert is_begun(tmp_path)
    assert take_up(tmp_path, made, resume=True) is None
    with pytest.raises(CheckpointError, match="another seed"):
        take_up(tmp_path, session(long_data, scm=False, seed=3), resume=True)
    with pytest.raises(KilledError):
        run(made, tmp_path, kill_after=1)
    assert take_up(tmp_path, made, resume=True) is not None
    assert take_up(tmp_path, made, resume=False) is None, "begun anew on purpose"


@pytest.fixture
def stopped(long_data, tmp_path):
    made = session(long_data, scm=False)
    with pytest.raises(KilledError):
        run(made, tmp_path, kill_after=1)
    return made, tmp_path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dropout": 0.9}, rf"another config \(dropout was {SphUncConfig().dropout}\); resume with the same settings"),
        ({"seed": 3}, "another seed; resume with the same settings"),
    ],
)
def test_another_run_is_refused(stopped, long_data, change, message):
    with pytest.raises(CheckpointError, match=message):
        load_training(stopped[1], session(long_data, scm=False, **change))


def test_other_data_is_refused(stopped, short_data):
    with pytest.raises(
        CheckpointError, match="a run with other data, another split of it, or other links told; resume"
    ):
        load_training(stopped[1], session(short_data, scm=False))


def test_a_damaged_document_is_named(stopped):
    made, folder = stopped
    path = folder / "training.json"
    document = json.loads(path.read_text())
    del document["history"]
    path.write_text(json.dumps(sealed(document)))
    with pytest.raises(CheckpointError, match="misses 'history'; it is damaged"):
        load_training(folder, made)


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("history", {}, "has {} for 'history': "),
        ("stage", {"name": "warp"}, "stopped in the stage 'warp', but this run has cross-fit, train"),
        ("stage", {"epoch": "first"}, "has 'first' for 'stage.epoch': input should be a valid integer"),
        ("stage", {"lowest_score": "good"}, "has 'good' for 'stage.lowest_score': input should be a valid number"),
        ("stage", {"structure": None}, "has None for 'stage.structure': "),
        ("carry", {"epochs": None}, "has None for 'carry.epochs': input should be a valid integer"),
        ("carry", {"structure": 3}, "has 3 for 'carry.structure': "),
    ],
)
def test_a_wrong_type_is_named(stopped, part, change, words):
    made, folder = stopped
    path = folder / "training.json"
    document = json.loads(path.read_text())
    document[part] = {**document[part], **change} if change else change
    path.write_text(json.dumps(sealed(document)))
    with pytest.raises(CheckpointError, match=words):
        load_training(folder, made)


@pytest.mark.parametrize("lost", ["name", "epoch", "best_structure"])
def test_an_entry_that_is_missing_is_named(stopped, lost):
    made, folder = stopped
    path = folder / "training.json"
    document = json.loads(path.read_text())
    del document["stage"][lost]
    path.write_text(json.dumps(sealed(document)))
    with pytest.raises(CheckpointError, match=rf"training.json misses 'stage.{lost}'; it is damaged"):
        load_training(folder, made)


def test_fingerprint_follows_the_data(long_data, short_data):
    assert fingerprint(long_data) == fingerprint(long_data)
    assert fingerprint(long_data) != fingerprint(long_data.window(0, 8)) != fingerprint(short_data)


def test_fingerprint_follows_the_split(long_data):
    times, agents = (make_plan(long_data, 1, holdout=what) for what in ("times", "agents"))
    assert fingerprint(long_data, times) == fingerprint(long_data, times) != fingerprint(long_data, agents)


@pytest.mark.parametrize("one", ["a", 3, 2.5, None, True, date(2020, 1, 2), datetime(2020, 1, 2, 3), ("x", (1, "y"))])
def test_ids_survive_json(one):
    back = decode_id(json.loads(json.dumps(encode_id(one))))
    assert back == one
    assert type(back) is type(one)


@pytest.mark.parametrize(
    "one", [[], {}, {"date": 3}, {"date": "soon"}, {"tuple": 3}, {"set": []}, {"date": "", "x": 1}]
)
def test_what_is_no_id_is_refused(one):
    with pytest.raises(CheckpointError, match="is no id that sphunc saves; the folder is damaged"):
        decode_id(one)


def test_ids_that_json_cannot_keep_are_refused():
    with pytest.raises(CheckpointError, match=r"id frozenset.* is a frozenset, which JSON cannot keep"):
        encode_id(frozenset())


def test_ids_of_numpy_are_kept_as_those_of_python():
    given = (np.int64(3), np.float32(0.5), np.bool_(True), np.datetime64("2020-01-02"), (np.int8(1), "a"))
    back = decode_id(json.loads(json.dumps(encode_id(given))))
    assert back == (3, 0.5, True, date(2020, 1, 2), (1, "a"))
    with pytest.raises(CheckpointError, match="is a datetime64, which JSON cannot keep"):
        encode_id(np.datetime64("2020-01-02T03:04:05.000000001", "ns"))  # finer than dates of Python


def test_ids_are_looked_at_before_training(long_data):
    check_ids(long_data)
    with pytest.raises(CheckpointError, match=r"id UUID.* is a UUID, which JSON cannot keep; use strings, numbers"):
        check_ids(replace(long_data, node_ids=(UUID(int=0), *long_data.node_ids[1:])))
