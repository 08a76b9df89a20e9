import shutil
import tarfile
from pathlib import Path

import pytest
import torch

import sphunc
from sphunc.datasets.pheme import CARD, PhemeOptions


def test_scheme_counts(scheme: Path) -> None:
    data = sphunc.load_dataset("pheme", scheme)
    counts = data.attributes["dataset"]["counts"]
    assert data.attributes["dataset"]["release"] == "scheme"
    assert (counts["threads"], counts["tweets"], counts["users"]) == (3, 10, 7)
    assert (counts["annotated tweets"], counts["reply links"], counts["follow rows"]) == (6, 4, 3)
    assert (counts["tweets outside structure.json"], counts["threads with several roots"]) == (2, 1)
    assert (counts["threads true"], counts["threads false"], counts["threads unverified"]) == (1, 1, 1)
    assert data.num_times == 10


def test_tweets_as_agents_with_stance(scheme: Path) -> None:
    data = sphunc.load_dataset("pheme", scheme, agents="tweets", outcome="stance")
    assert data.num_nodes == 10
    assert int(data.y_mask.sum()) == 6
    assert data.influence is not None
    assert data.influence.shape[1] == 4
    assert data.influence_kind == "observed reply"
    names = data.node_ids
    links = {(names[s], names[t]) for s, t in data.influence.T.tolist()}
    assert links == {("100", "101"), ("101", "102"), ("200", "201"), ("300", "301")}
    assert data.class_names == ("agreed", "disagreed", "appeal-for-more-information", "comment")


def test_follow_links_are_labelled(scheme: Path) -> None:
    data = sphunc.load_dataset("pheme", scheme, links="both")
    assert data.influence_kind == "observed reply and follow"


def test_no_text_and_no_name_is_kept(scheme: Path) -> None:
    data = sphunc.load_dataset("pheme", scheme)
    kept = repr([data.node_ids, data.hyperedge_ids, data.feature_names, data.attributes]).lower()
    assert "zebra" not in kept
    assert "invented" not in kept


def test_veracity_has_four_classes_and_no_junk(veracity: Path) -> None:
    data = sphunc.load_dataset("pheme", veracity)
    assert data.attributes["dataset"]["release"] == "veracity"
    assert data.class_names == ("non-rumour", "true", "false", "unverified")
    counts = data.attributes["dataset"]["counts"]
    assert (counts["threads non-rumour"], counts["threads of zoo-escape"]) == (2, 5)


def test_rnr_has_two_classes(rnr: Path) -> None:
    data = sphunc.load_dataset("pheme", rnr)
    assert data.attributes["dataset"]["release"] == "rnr"
    assert data.class_names == ("non-rumour", "rumour")
    with pytest.raises(sphunc.ArgumentError, match="outcome='stance' needs the scheme release"):
        sphunc.load_dataset("pheme", rnr, outcome="stance")


def test_archive_gives_the_same_object(scheme: Path, tmp_path: Path) -> None:
    archive = tmp_path / "scheme.tar.xz"
    with tarfile.open(archive, "w:xz") as packed:
        packed.add(scheme, scheme.name)
    from_archive, from_folder = (sphunc.load_dataset("pheme", root) for root in (archive, scheme))
    assert torch.equal(from_archive.x, from_folder.x)
    assert torch.equal(from_archive.hyperedge_index, from_folder.hyperedge_index)
    assert from_archive.node_ids == from_folder.node_ids


def test_cut_off_archive_is_named(scheme: Path, tmp_path: Path) -> None:
    archive = tmp_path / "scheme.tar.xz"
    with tarfile.open(archive, "w:xz") as packed:
        packed.add(scheme, scheme.name)
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(sphunc.DataError, match="it may be cut off: download it again"):
        sphunc.load_dataset("pheme", archive)


def test_two_trees_in_one_folder_are_refused(scheme: Path, tmp_path: Path) -> None:
    shutil.copytree(scheme, tmp_path / "copy")
    with pytest.raises(sphunc.DataError, match="holds more than one tree"):
        sphunc.load_dataset("pheme", tmp_path)


def test_two_releases_in_one_folder_are_refused(scheme: Path, veracity: Path, tmp_path: Path) -> None:
    with pytest.raises(sphunc.DataError, match="more than one release"):
        sphunc.load_dataset("pheme", tmp_path)


def test_faults_are_listed_with_their_files(scheme: Path) -> None:
    (scheme / "threads/en/zoo-escape/100/structure.json").write_text("{broken")
    with pytest.raises(sphunc.DataError, match=r"1 fault\(s\)(.|\n)*100/structure.json"):
        sphunc.load_dataset("pheme", scheme)


def test_strict_holds_the_expected_counts(scheme: Path, veracity: Path) -> None:
    with pytest.raises(sphunc.DataError, match="threads: 3 found, 330 expected"):
        sphunc.load_dataset("pheme", scheme, strict=True)
    data = sphunc.load_dataset("pheme", veracity, strict=True, events=["zoo-escape"])
    assert data.attributes["dataset"]["differences"] == []


def test_events_choose(scheme: Path) -> None:
    data = sphunc.load_dataset("pheme", scheme, events=["brunnen"])
    assert data.attributes["dataset"]["counts"]["threads"] == 1
    with pytest.raises(sphunc.ArgumentError, match=r"events has 'ufo', but .* holds brunnen, zoo-escape"):
        sphunc.load_dataset("pheme", scheme, events=["ufo"])


def test_published_totals_agree_with_each_other() -> None:
    assert sum(CARD.expected["veracity"].values()) == 6425
    assert sum(CARD.expected["rnr"].values()) == 5802
    scheme = CARD.expected["scheme"]
    assert scheme["threads"] == scheme["threads true"] + scheme["threads false"] + scheme["threads unverified"]
    assert scheme["annotated tweets"] == sum(count for name, count in scheme.items() if name.startswith("stance"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agents": "bots"}, "agents='bots' is not known; choose one of 'users', 'tweets'"),
        ({"bins": 2}, "bins=2 must be at least 3"),
        ({"bins": 5000}, "too fine for whole seconds"),
        ({"agents": "tweets", "links": "follow"}, "needs agents='users'"),
        ({"outcome": "mood"}, "outcome='mood' is not known"),
    ],
)
def test_options_are_checked(options: dict, message: str) -> None:
    with pytest.raises(sphunc.ArgumentError, match=message):
        PhemeOptions(**options)
