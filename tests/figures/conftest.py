"""Axes to draw on, and a small experiment that has run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib.axes import Axes

from sphunc.evaluation.benchmark import LocalEngine, Store, make_matrix, run_matrix
from sphunc.figures import figure_style, new_figure

EXPERIMENT = {
    "name": "small",
    "models": ["sphunc", {"name": "sphunc_paper", "settings": {"dim": 6, "epochs": 3}}, "majority"],
    "seeds": [0, 1],
    "attribution": False,
    "data": [
        {"world": "snare", "knobs": {"agents": 40, "times": 8, "features": 8, "lost_at_test": lost}, "label": label}
        for lost, label in ((0.0, "snare"), (0.5, "snare, half lost"))
    ],
    "variants": [{"name": "default"}, {"name": "no_scm", "models": ["sphunc_paper"], "settings": {"scm": False}}],
}


@pytest.fixture
def axes() -> Iterator[Axes]:
    with figure_style():
        _, found = new_figure()
        yield found[0]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = Path(tmp_path_factory.mktemp("results"))
    store = Store(folder)
    report = run_matrix(make_matrix(EXPERIMENT), store, LocalEngine(workers=1))
    assert not report.failed
    return store
