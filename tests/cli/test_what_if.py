"""``sphunc intervene`` and ``counterfactual`` ask the model what the flags say, and keep the answer."""

import json

import sphunc
from sphunc.runs import Run


def test_effects_are_those_of_the_model(command, small_run):
    run = Run.open(small_run)
    agent, name = run.data.node_ids[0], run.data.class_names[0]
    arguments = (small_run, "--do-outcome", f"{agent}={name}", "--horizon", 2, "--seed", 1)
    code, out, _ = command("intervene", *arguments, "--rows", 2)
    assert code == 0
    assert "Largest effects on others" in out
    found = json.loads(command("intervene", *arguments, "--json")[1])["answers"][0]
    effect = run.model.intervene(sphunc.Do(agent, outcome=name), data=run.data, horizon=2, seed=1)
    assert [row["effect"] for row in found["effects"]] == effect.to_frame()["effect"].to_list()
    [file] = (small_run / "answers").glob(f"intervene-outcome-{agent}-{name}-from-3-2-steps-*.json")
    kept = json.loads(file.read_text())
    assert (kept["horizon"], kept["seed"], kept["tables"]) == (2, 1, "")
    header = command("counterfactual", *arguments, "--csv")[1].splitlines()[0]
    assert header.startswith("question,agent,time,intervened")


def test_several_questions_of_a_file(command, small_run, tmp_path):
    agent, name = Run.open(small_run).data.node_ids[0], Run.open(small_run).data.class_names[0]
    questions = [{"name": "one", "outcome": {agent: name}}, {"name": "two", "outcome": {agent: name}, "horizon": 2}]
    (tmp_path / "q.json").write_text(json.dumps(questions))
    answers = json.loads(command("intervene", small_run, "--questions", tmp_path / "q.json", "--json")[1])["answers"]
    assert [(answer["name"], answer["target"]) for answer in answers] == [("one", "4"), ("two", "5")]


def test_nothing_asked_and_unknown_links(command, small_run):
    code, _, err = command("intervene", small_run)
    assert code == 2
    assert "nothing is changed; give --do agent=class" in err
    ids = Run.open(small_run).data.node_ids
    code, _, err = command("intervene", small_run, "--do", f"{ids[0]}=none")
    assert code == 2
    assert "there is no class 'none'" in err


def test_answers_to_different_questions_are_different_files(command, small_run):
    run = Run.open(small_run)
    target = f"{run.data.node_ids[2]}={run.data.class_names[0]}"
    asked = [
        ("--do", target),
        ("--do-outcome", target),
        ("--do", target, "--horizon", 2),
        ("--do", target, "--origin", 2),
        ("--do", target, "--samples", 8),
        ("--do", target, "--seed", 7),
    ]
    before = set((small_run / "answers").glob("*.csv"))
    for flags in asked:
        assert command("intervene", small_run, *flags)[0] == 0
    assert len(set((small_run / "answers").glob("*.csv")) - before) == len(asked)
