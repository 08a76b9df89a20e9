"""Questions name agents, classes, links and groups as the data do."""

import json

import pytest

import sphunc
from sphunc import CutGroup, CutLink, Do
from sphunc.cli.questions import question_of_flags, questions_of_file
from sphunc.errors import ArgumentError


def data(ids=(1, 2), outcome=("calm", "upset")):
    return sphunc.from_frames(
        features={"time": [1, 1], "agent": list(ids), "f": [0.5, 1]},
        groups={"time": [1, 1], "group": [7, 7], "agent": list(ids)},
        outcomes={"time": [1, 1], "agent": list(ids), "outcome": list(outcome)},
        allow_rare_classes=True,
    )


def flags(data, **given):
    return question_of_flags(data, **{"do": (), "outcome": (), "cut_link": (), "cut_group": (), **given})


def test_flags_together_are_one_question():
    asked = flags(data(), do=["1=calm"], outcome=["2=upset"], cut_link=["1:2"], cut_group=["7"])
    assert asked.plan == Do(1, toward="calm") & Do(2, outcome="upset") & CutLink(1, 2) & CutGroup(7)
    assert asked.name == "1=calm, outcome 2=upset, without 1:2, without 7"
    assert flags(data()) is None


def test_ids_that_hold_the_sign():
    asked = flags(data(ids=("a=b", "a:b")), do=["a=b=calm"], cut_link=["a:b:a=b"])
    assert asked.plan == Do("a=b", toward="calm") & CutLink("a:b", "a=b")


def test_numbers():
    asked = flags(data(outcome=(0.5, 1.5)), outcome=["1=2.5"])
    assert list(asked.plan) == [Do(1, outcome=2.5)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"do": ["1"]}, "--do '1' must read agent=class"),
        ({"do": ["3=calm"]}, "--do: there is no agent '3'"),
        ({"do": ["1=clam"]}, "there is no class 'clam'; did you mean 'calm'?; classes: calm, upset"),
        ({"cut_link": ["1:9"]}, "--cut-link: there is no agent '9'"),
        ({"cut_group": ["9"]}, "--cut-group: there is no group '9'; groups: 7"),
    ],
)
def test_faults_of_flags(given, message):
    with pytest.raises(ArgumentError) as error:
        flags(data(), **given)
    assert message in str(error.value)


def test_numbers_take_no_classes():
    with pytest.raises(ArgumentError, match="--do takes a class, but outcomes are numbers"):
        flags(data(outcome=(0.5, 1.5)), do=["1=calm"])
    with pytest.raises(ArgumentError, match="'high' is not a number"):
        flags(data(outcome=(0.5, 1.5)), outcome=["1=high"])


def test_a_file_of_questions(tmp_path):
    path = tmp_path / "questions.json"
    entries = [
        {"name": "calm", "do": {"1": "calm"}, "horizon": 3},
        {"outcome": {"2": "upset"}, "cut_link": [[1, 2], "2:1"], "cut_group": [7]},
        {"interventions": json.loads(CutGroup(7).to_json())},
    ]
    path.write_text(json.dumps(entries))
    first, second, third = questions_of_file(path, data())
    assert (first.name, first.horizon, list(first.plan)) == ("calm", 3, [Do(1, toward="calm")])
    assert second.plan == Do(2, outcome="upset") & CutLink(1, 2) & CutLink(2, 1) & CutGroup(7)
    assert (third.name, list(third.plan)) == ("question 3", [CutGroup(7)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "is no list of questions; write for instance"),
        ("[3]", "question 1 is 3; write an object"),
        ('[{"do": {}}]', "question 1 changes nothing"),
        ('[{"dos": {}}]', "'dos' is not a key; did you mean 'do'?"),
        ('[{"do": ["a"]}]', "do is ['a']; write an object from agent to class"),
        ('[{"cut_group": "g"}]', "cut_group is 'g'; write a list"),
        ('[{"do": {"1": "calm"}, "horizon": 0}]', "horizon is 0; write a whole number of at least 1"),
        ('[{"do": {"1": "glad"}}]', "question 1: --do: there is no class 'glad'"),
    ],
)
def test_faults_of_a_file(tmp_path, text, message):
    path = tmp_path / "questions.json"
    path.write_text(text)
    with pytest.raises(ArgumentError) as error:
        questions_of_file(path, data())
    assert message in str(error.value)
