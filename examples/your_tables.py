"""From dataframes to a temporal hypergraph, to files and back, and what a fault looks like.

Run: python examples/your_tables.py
"""

import tempfile
from pathlib import Path

import polars as pl

import sphunc
from sphunc.hypergraph import summarise

features = pl.DataFrame(
    {
        "time": ["2025-09-01"] * 4 + ["2026-01-15"] * 4,
        "agent": ["ann", "bob", "cem", "dia"] * 2,
        "grade": [6.1, 7.2, None, 8.0, 6.4, 7.0, 5.9, 8.1],
        "hours": [3.0, 1.5, 2.0, 4.0, 2.5, 2.0, 2.0, 4.5],
    }
)
groups = pl.DataFrame(
    {
        "time": ["2025-09-01"] * 5 + ["2026-01-15"] * 3,
        "group": ["band", "band", "band", "chess", "chess", "band", "band", "band"],
        "agent": ["ann", "bob", "cem", "cem", "dia", "ann", "cem", "dia"],
    }
)
outcomes = features.select("time", "agent").with_columns(outcome=pl.Series(["yes", "no", "no", "yes"] * 2))

data = sphunc.from_frames(features=features, groups=groups, outcomes=outcomes)
print(data)
print(summarise(data))

with tempfile.TemporaryDirectory() as folder:
    sphunc.write_hif(data, Path(folder) / "school.hif.json")
    print("HIF, read back:", sphunc.read_hif(Path(folder) / "school.hif.json"))

try:
    sphunc.from_frames(features=features, groups=groups.with_columns(agent=pl.lit("eve")), outcomes=outcomes)
except sphunc.DataError as error:
    print("\nWhat a fault looks like:\n" + str(error))
