"""The small experiment has all six systems, and its world its oracle."""

from sphunc.evaluation.benchmark.cells import expand
from sphunc.evaluation.benchmark.quick import SIX_SYSTEMS, quick_matrix


def test_quick_has_the_six_systems_and_the_trivial_ones() -> None:
    cells = expand(quick_matrix())
    labels = {cell.label.replace("-", "_") for cell in cells}
    assert set(SIX_SYSTEMS) <= labels
    assert labels - set(SIX_SYSTEMS) == {"majority", "persistence", "logistic", "oracle"}
    assert len({cell.trials for cell in cells}) == 1
