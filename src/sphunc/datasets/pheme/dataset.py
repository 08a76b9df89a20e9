"""The PHEME data set: its card, its options, and the way from a tree of files to tables."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path

from sphunc._checks import whole_number
from sphunc.datasets.card import Dataset, DatasetCard, refuse, refuse_faults
from sphunc.datasets.pheme import frames
from sphunc.datasets.pheme.threads import STANCES, VERACITIES, Collected, Thread, collect, threads
from sphunc.datasets.pheme.tree import ARCHIVES, files, is_archive
from sphunc.datasets.tables import DatasetTables, carried, choose
from sphunc.errors import ArgumentError

THREADS_PER_EVENT = {
    "charliehebdo": 2079,
    "ebola-essien": 14,
    "ferguson": 1143,
    "germanwings-crash": 469,
    "gurlitt": 138,
    "ottawashooting": 890,
    "prince-toronto": 233,
    "putinmissing": 238,
    "sydneysiege": 1221,
}
_RNR_EVENTS = ("charliehebdo", "ferguson", "germanwings-crash", "ottawashooting", "sydneysiege")

CARD = DatasetCard(
    name="pheme",
    title="PHEME: rumour threads on Twitter around nine breaking news events, with veracity and stance",
    source=(
        "scheme: https://figshare.com/articles/dataset/PHEME_rumour_scheme_dataset_journalism_use_case/2068650",
        "rnr: https://figshare.com/articles/dataset/PHEME_dataset_of_rumours_and_non-rumours/4010619",
        "veracity: https://doi.org/10.6084/m9.figshare.6392078.v1",
    ),
    licence="annotations CC-BY 4.0; the tweets belong to their authors and Twitter: do not pass the texts on",
    citation=(
        "Zubiaga et al. 2016, PLoS ONE 11(3) e0150989 (scheme); "
        "Zubiaga, Liakata, Procter 2016, arXiv:1610.07363 (rnr); Kochkina, Liakata, Zubiaga 2018, COLING (veracity)"
    ),
    obtain="download one of the three archives from figshare (see source) and give its path, unpacked or not",
    layout=(
        "scheme:   annotations/<en|de>-scheme-annotations.json, threads/<en|de>/<event>/<id>/...",
        "rnr:      <event>/{rumours,non-rumours}/<id>/source-tweet/<id>.json, reactions/*.json",
        "veracity: <event>-all-rnr-threads/{rumours,non-rumours}/<id>/annotation.json, source-tweets/<id>.json, ...",
        "each of them under any folder, or as " + ", ".join(ARCHIVES),
    ),
    redistributable=False,
    expected={
        "scheme": {
            "threads": 330,
            "tweets": 5365,
            "users": 3551,
            "annotated tweets": 4842,
            "reply links": 4810,
            "follow rows": 97426,
            "threads true": 159,
            "threads false": 68,
            "threads unverified": 103,
            "stance comment": 3122 + 15,
            "stance agreed": 664 + 306,
            "stance appeal-for-more-information": 379,
            "stance disagreed": 347 + 9,
        },
        "rnr": {f"threads of {event}": THREADS_PER_EVENT[event] for event in _RNR_EVENTS},
        "veracity": {f"threads of {event}": count for event, count in THREADS_PER_EVENT.items()},
    },
)


@dataclass(frozen=True, kw_only=True)
class PhemeOptions:
    """How the threads become agents, times, groups and outcomes.

    Attributes:
        agents: "users", or "tweets" (each seen once).
        outcome: "veracity" of the thread, or "stance" of the tweet towards the source (scheme release only). A user
            takes the most frequent one of the bin, ties to the latest.
        bins: number of times, at equal steps of the logarithm of the age; the times are the lower edges in seconds.
        clock: age since the first tweet of the "thread", or of the "event" (calendar order within an event).
        members: who makes a group: "conversation" = the authors active in the thread in the bin and those whom they
            answer; "active" = the active only.
        smallest_group: groups with fewer members are left out.
        links: "reply", "follow" (users of the scheme release only) or "both": observed links, not causal truth.
        buckets: columns of the hashed words.
        carry: repeat the last known features and outcome of an agent in later bins.
        events: only these events; None = all.
    """

    agents: str = "users"
    outcome: str = "veracity"
    bins: int = 10
    clock: str = "thread"
    members: str = "conversation"
    smallest_group: int = 1
    links: str = "reply"
    buckets: int = 64
    carry: bool = False
    events: Sequence[str] | None = None

    def __post_init__(self) -> None:
        choose("agents", self.agents, ("users", "tweets"))
        choose("outcome", self.outcome, ("veracity", "stance"))
        choose("clock", self.clock, tuple(frames.SPAN))
        choose("members", self.members, ("conversation", "active"))
        choose("links", self.links, ("reply", "follow", "both"))
        choose("carry", self.carry, (True, False))
        for name, least in (("bins", 3), ("buckets", 1), ("smallest_group", 1)):
            whole_number(name, getattr(self, name), least=least)
        if len(set(frames.edges(self.bins, self.clock))) < self.bins:
            raise ArgumentError(f"bins={self.bins} is too fine for whole seconds; give at most about 100")
        if self.links != "reply" and self.agents == "tweets":
            raise ArgumentError(f"links={self.links!r} needs agents='users': tweets do not follow each other")


def read(root: Path, options: PhemeOptions) -> DatasetTables:
    """Read a release, folder or archive, into tables.

    Args:
        root: the folder or archive.
        options: how threads become tables.
    """
    found = _collect(root)
    release = _release(root, found)
    made = threads(found)
    refuse_faults(f"{root}: PHEME {release}", found.faults)
    if options.events is not None:
        events = sorted({thread.event for thread in made})
        for unknown in sorted(set(options.events).difference(events)):
            raise ArgumentError(f"events has {unknown!r}, but {root} holds {', '.join(events)}")
        made = [thread for thread in made if thread.event in options.events]
    if release != "scheme":
        for name, value in (("outcome", "stance"), ("links", "follow"), ("links", "both")):
            if getattr(options, name) == value:
                problem = f"{name}={value!r} needs the scheme release, but {root} holds the {release} release"
                raise ArgumentError(problem)
    return _tables(made, found.stances, release, options)


def _collect(root: Path) -> Collected:
    if not root.is_dir() and not is_archive(root):
        refuse(CARD, root, "is neither a folder nor an archive")
    try:
        return collect(files(root))
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, LZMAError, zlib.error, OSError) as error:
        refuse(CARD, root, f"cannot be read to its end ({error}); it may be cut off: download it again")


def _release(root: Path, found: Collected) -> str:
    if not found.tweets:
        refuse(CARD, root, "holds no PHEME thread")
    # rnr and veracity differ by one folder name only; a reaction alone is taken for rnr.
    layouts = found.layouts - {"rnr"} or {"rnr"}
    if len(layouts) > 1:
        refuse(CARD, root, f"holds more than one release ({', '.join(sorted(layouts))}); give the folder of one")
    if len(found.tops) > 1:
        tops = ", ".join(repr(top or ".") for top in sorted(found.tops)[:5])
        refuse(CARD, root, f"holds more than one tree ({tops}); give the folder of one")
    return layouts.pop()


def _tables(made: list[Thread], stances: dict[str, str], release: str, options: PhemeOptions) -> DatasetTables:
    tweets = frames.tweet_frame(made, agents=options.agents, bins=options.bins, clock=options.clock)
    times = frames.edges(options.bins, options.clock)
    features = frames.features(tweets, agents=options.agents, buckets=options.buckets)
    if options.outcome == "stance":
        classes = STANCES
        outcomes = frames.outcomes(tweets, stances, "tweet")
    else:
        veracity = {thread.id: thread.veracity for thread in made}
        present = set(veracity.values())
        classes = tuple(name for name in (*VERACITIES, "rumour") if name in present)
        outcomes = frames.outcomes(tweets, veracity, "thread")
    if options.carry:
        features = carried(features, times)
        outcomes = carried(outcomes, times)
    kinds = {"reply": "observed reply", "follow": "observed follow", "both": "observed reply and follow"}
    expected = None
    if options.events is not None:
        asked = {f"threads of {event}" for event in options.events}
        expected = {quantity: count for quantity, count in CARD.expected[release].items() if quantity in asked}
    return DatasetTables(
        features=features,
        groups=frames.groups(tweets, members=options.members, smallest=options.smallest_group),
        outcomes=outcomes,
        influence=frames.links(made, agents=options.agents, kind=options.links),
        influence_kind=kinds[options.links],
        class_names=classes,
        release=release,
        counts=_counts(made, stances, release),
        expected=expected,
        times=tuple(times),
    )


def _counts(made: list[Thread], stances: dict[str, str], release: str) -> dict[str, int]:
    tweets = {one.id: one for thread in made for one in thread.tweets.values()}
    annotated = sorted(tweets.keys() & stances.keys())
    counts = {
        "threads": len(made),
        "tweets": len(tweets),
        "users": len({one.user for one in tweets.values()}),
        "annotated tweets": len(annotated),
        "reply links": sum(len(thread.links) for thread in made),
        "follow rows": sum(len(thread.follows) for thread in made),
        "tweets outside structure.json": sum(len(thread.attached) - thread.roots + 1 for thread in made),
        "threads with several roots": sum(thread.roots > 1 for thread in made),
    }
    tallied = Counter[str]()
    for thread in made:
        tallied[f"threads {thread.veracity}"] += 1
        if release != "scheme":
            tallied[f"threads of {thread.event}"] += 1
    tallied.update(f"stance {stances[tweet]}" for tweet in annotated)
    return counts | tallied


DATASET = Dataset(CARD, PhemeOptions, read)
