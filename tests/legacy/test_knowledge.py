"""Links that a user knows of: refused in words where they cannot be, and kept where they can."""

from copy import copy
from dataclasses import replace

import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError, CheckpointError
from sphunc.legacy.checkpoint import fingerprint
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.knowledge import Knowledge, check_knowledge

SMALL = {"dim": 8, "layers": 1, "epochs": 2, "folds": 2, "aleatoric_width": 4, "structure_epochs": 0}


def test_pairs_are_kept_once_and_placed(short_data):
    a, b, c = short_data.node_ids[:3]
    known = check_knowledge(short_data, [(a, b), [a, b], (c, a)], None)
    assert known == Knowledge(((a, b), (c, a)), ())
    assert known.links(short_data.node_ids)["forbidden"].tolist() == [[0, 2], [1, 0]]
    assert known.links((b, a))["forbidden"].tolist() == [[1], [0]]
    assert known.links((b,)) == {"forbidden": None, "required": None}


@pytest.mark.parametrize(
    ("forbidden", "required", "error", "words"),
    [
        (
            [("0", "nobody")],
            None,
            ArgumentError,
            "forbidden has the link .*, but 'nobody' is no agent of the data; its 30",
        ),
        (None, [("0", "0")], ArgumentError, "required links agent .* to itself; its own past always counts"),
        ([("0", "1")], [("0", "1")], ArgumentError, "is both forbidden and required .1 such links.; take it out"),
        ("01", None, ArgumentTypeError, "forbidden='01' must be pairs .source, target. of ids"),
        (["01"], None, ArgumentTypeError, "forbidden has '01'; give pairs"),
        (None, [(str(i), "20") for i in range(8)], ArgumentError, "required names 8 sources of agent .*; at most 7"),
    ],
)
def test_what_cannot_be_is_refused(short_data, forbidden, required, error, words):
    ids = {str(i): agent for i, agent in enumerate(short_data.node_ids)}
    named = [
        [tuple(ids.get(e, e) for e in pair) if isinstance(pair, tuple) else pair for pair in pairs]
        if isinstance(pairs, list)
        else pairs
        for pairs in (forbidden, required)
    ]
    with pytest.raises(error, match=words):
        check_knowledge(short_data, *named)


def test_required_links_need_links_that_act(short_data):
    with pytest.raises(ArgumentError, match="required names links, but scm is False"):
        check_knowledge(short_data, None, [short_data.node_ids[:2]], scm=False)


def test_links_told_are_those_of_the_model(short_data, tmp_path):
    plain = SphUnc(**SMALL).fit(short_data, verbose=False).influence()
    ids = short_data.node_ids
    likeliest = plain.probability.argmax()
    never = tuple(ids[int(k)] for k in plain.links[:, likeliest])
    known = set(map(tuple, plain.links.mT.tolist()))
    always = next((ids[i], ids[j]) for i in range(30) for j in range(30) if i != j and (i, j) not in known)
    links_told = {"forbidden": [never], "required": [always]}
    model = SphUnc(**SMALL).fit(short_data, checkpoint=tmp_path, verbose=False, **links_told)
    graph = model.influence()
    links = [(ids[s], ids[t]) for s, t in graph.links.mT.tolist()]
    assert never not in links
    assert float(graph.probability[links.index(always)]) == pytest.approx(1.0)
    assert bool(model.structure_.gates[links.index(always)] != 0)
    assert bool(graph.sample(8).gates[:, links.index(always)].all())
    with pytest.raises(CheckpointError, match="or of other links told; resume with these"):
        SphUnc(**SMALL).fit(short_data, resume=tmp_path, verbose=False)
    again = SphUnc(**SMALL).fit(short_data, resume=tmp_path, verbose=False, **links_told)
    assert torch.equal(again.structure_.gates, model.structure_.gates)
    assert again.knowledge_ == SphUnc.load(tmp_path).knowledge_ == Knowledge((never,), (always,))


@pytest.fixture(scope="module")
def model(short_data):
    return SphUnc(**SMALL).fit(short_data, verbose=False)


def links_of(graph):
    ids = graph.agents
    return dict(zip([(ids[s], ids[t]) for s, t in graph.links.mT.tolist()], graph.probability.tolist(), strict=True))


def told(model, knowledge, folder):
    """The same model, had it been told, after a round trip."""
    other = copy(model)
    other.knowledge_ = knowledge
    other.save(folder)
    return SphUnc.load(folder)


def test_links_told_count_in_other_data_by_id(model, short_data, tmp_path):
    ids, plain = short_data.node_ids, links_of(model.influence())
    mirror = dict(zip(ids, ids[::-1], strict=True))
    mirrored, candidates = replace(short_data, node_ids=ids[::-1]), {(mirror[a], mirror[b]) for a, b in plain}
    never = min(candidates)
    always = next((ids[0], other) for other in ids[1:] if (ids[0], other) not in candidates)
    # Of agents who are not in the data nothing is said.
    loaded = told(model, Knowledge((never, (ids[0], "gone")), (always, ("gone", ids[1]))), tmp_path)
    links = links_of(loaded.influence(mirrored))
    assert set(links) == (candidates - {never}) | {always}
    assert links[always] == pytest.approx(1.0)


def test_links_that_are_all_forbidden_leave_none(model, short_data, tmp_path):
    loaded = told(model, Knowledge(tuple(links_of(model.influence()))), tmp_path)
    with pytest.raises(ArgumentError, match=r"no influence could be learned: .* or no link that is not forbidden"):
        loaded.influence(short_data)


def test_the_fingerprint_follows_links_whatever_their_order(short_data):
    a, b, c = short_data.node_ids[:3]
    one, same, other = Knowledge(((a, b), (b, c))), Knowledge(((b, c), (a, b))), Knowledge((), ((a, b), (b, c)))
    assert fingerprint(short_data, None, one) == fingerprint(short_data, None, same)
    assert fingerprint(short_data, None, one) != fingerprint(short_data, None, other)
