import polars as pl
import torch

from sphunc.datasets.assembly import assembled
from sphunc.datasets.reading import Reading


def reading(**changes: object) -> Reading:
    tables = {
        "features": pl.DataFrame({"time": [2, 1], "agent": ["b", "a"], "x": [0.5, None], "z": [1.0, 2.0]}),
        "groups": pl.DataFrame({"time": [1, 1, 2], "group": ["g", "g", "g"], "agent": ["b", "a", "b"]}),
        "outcomes": pl.DataFrame({"time": [2], "agent": ["a"], "outcome": ["high"]}),
        "class_names": ("low", "high"),
    }
    return Reading(**(tables | changes))  # type: ignore[arg-type]


def test_tables_become_tensors_with_masks() -> None:
    data = assembled(reading(), {"dataset": "mini"})
    assert data.times == (1, 2)
    assert data.node_ids == ("a", "b")
    assert data.x_mask.tolist() == [[[False, True], [False, False]], [[False, False], [True, True]]]
    assert data.hyperedge_index.tolist() == [[0, 1, 1], [0, 0, 1]]
    assert data.y is not None
    assert (int(data.y[1, 0]), int(data.y_mask.sum())) == (1, 1)
    assert data.attributes == {"dataset": "mini"}


def test_stated_times_and_agents_are_kept() -> None:
    data = assembled(reading(times=(0, 1, 2), agents=("z", "b", "a")), {})
    assert data.times == (0, 1, 2)
    assert data.node_ids == ("z", "b", "a")
    assert not data.present[:, 0].any()


def test_links_and_no_outcome() -> None:
    links = pl.DataFrame({"source": ["a"], "target": ["b"]})
    empty = pl.DataFrame(schema={"time": pl.Int64, "agent": pl.String, "outcome": pl.String})
    data = assembled(reading(influence=links, influence_kind="observed", outcomes=empty, class_names=()), {})
    assert data.y is None
    assert data.influence is not None
    assert torch.equal(data.influence, torch.tensor([[0], [1]]))
