"""Load every real data set under a folder and print what was found beside what is expected of the public release.

    python benchmarks/datasets.py --data FOLDER

Without ``--data`` the environment variable SPHUNC_DATA is used. Data sets that are not there are named and skipped.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sphunc


@dataclass(frozen=True)
class Case:
    """One data set in one reading of it."""

    name: str
    path: str
    options: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case("pheme", "pheme_scheme/pheme-rumour-scheme-dataset.slim.tar.xz"),
    Case("pheme", "pheme_scheme/pheme-rumour-scheme-dataset.slim.tar.xz", {"agents": "tweets", "outcome": "stance"}),
    Case("pheme", "pheme_scheme/pheme-rumour-scheme-dataset.slim.tar.xz", {"links": "both", "clock": "event"}),
    Case("pheme", "pheme_scheme/sample_threads"),
    Case("pheme", "pheme_veracity_samples"),
    Case("pheme", "pheme_veracity_germanwings/all-rnr-annotated-threads.germanwings.tar.xz"),
    Case("snare", "s50_siena/clean"),
    Case("snare", "s50_siena/rsiena_tests_format/s50.csv"),
    Case("snare", "s50_siena/rsiena_tests_format/s50e.csv"),
    Case("snare", "glasgow_peers"),
    Case("amigos", "amigos"),
    Case("financial", "stocks_nasdaq"),
    Case("financial", "stocks_nasdaq", {"outcome": "return", "thresholds": "reference", "classes": 3}),
    Case("financial", "stocknet"),
    Case("collaboration", "aan_coauthorship"),
    Case("collaboration", "aan_coauthorship", {"years": (1997, 2011), "min_papers": 3}),
    Case("collaboration", "congress_house"),
    Case("collaboration", "congress_house", {"outcome": "party"}),
)


def report(case: Case, folder: Path) -> Iterator[str]:
    """Yield the lines about one case."""
    start = time.perf_counter()
    data = sphunc.load_dataset(case.name, folder / case.path, **case.options)
    seconds = time.perf_counter() - start
    papers = data.attributes["dataset"]
    options = ", ".join(f"{key}={value!r}" for key, value in case.options.items())
    yield f"{case.name} {papers['release']}  ({case.path}{'; ' + options if options else ''})"
    yield f"  {data}"
    yield f"  loaded in {seconds:.1f} s; {int(data.y_mask.sum())} outcomes at {int(data.present.sum())} agent-times"
    for quantity, found in papers["counts"].items():
        expected = papers["expected"].get(quantity)
        verdict = "" if expected is None else f"  expected {expected}  {'same' if found == expected else 'DIFFERS'}"
        yield f"    {quantity:<38}{found:>8}{verdict}"
    checked, differing = len(papers["expected"]), len(papers["differences"])
    yield f"  {checked} expected counts, {differing} differences"
    yield from (f"  note: {note}" for note in papers["notes"])
    yield ""


def cut_names(path: Path) -> str:
    """Count AAN authors as one gets them by splitting at every semicolon, those inside ``&eacute;`` included."""
    text = gzip.decompress(path.read_bytes()).decode("latin-1")
    fields = re.findall(r"^author = \{(.*)\}", text, re.MULTILINE)
    names = {name.strip() for names in fields for name in names.split(";")} - {""}
    return f"collaboration aan: split at every semicolon there would be {len(names)} authors, many of them cut apart\n"


def main() -> None:
    """Print the report of every case whose files are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("SPHUNC_DATA"), help="folder with the real data sets")
    folder = parser.parse_args().data
    if folder is None or not Path(folder).is_dir():
        print("no real data: give --data FOLDER or set SPHUNC_DATA")
        return
    for case in CASES:
        if (Path(folder) / case.path).exists():
            print("\n".join(report(case, Path(folder))))
        else:
            print(f"{case.name}: {case.path} is not there, skipped\n")
    if (metadata := Path(folder) / "aan_coauthorship" / "acl-metadata.txt.gz").exists():
        print(cut_names(metadata))


if __name__ == "__main__":
    main()
