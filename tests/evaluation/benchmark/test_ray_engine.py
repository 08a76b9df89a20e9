"""The same interface on a local Ray: same outcomes, and a killed worker is survived."""

import sys
from importlib.util import find_spec

import pytest

from sphunc.errors import ArgumentError, MissingExtraError
from sphunc.evaluation.benchmark.ray_engine import RayEngine

KILL = "__import__('os').kill(__import__('os').getpid(), 9)"
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason='needs Ray: pip install "sphunc[ray]"')


def test_missing_ray_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'ray is not installed; get it with: pip install "sphunc\[ray\]"'):
        RayEngine()


@needs_ray
def test_counts_below_one_are_refused() -> None:
    with pytest.raises(ArgumentError, match="workers=0 must be at least 1"):
        RayEngine(workers=0)


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own, on which we have no hold
def test_failed_and_killed_tasks_do_not_stop_the_others(tmp_path) -> None:
    seen = str(tmp_path / "seen")
    mark = f"(open({seen!r}, 'w').close(), {KILL}) if not __import__('os').path.exists({seen!r}) else 'second time'"
    tasks = ["1 / 0", KILL, mark, "__import__('torch').get_num_threads()", "40 + 2"]
    outcomes = {outcome.task: outcome for outcome in RayEngine(workers=2).run(eval, tasks)}
    assert sorted(outcomes) == [0, 1, 2, 3, 4]
    assert outcomes[0].error == "ZeroDivisionError: division by zero"
    assert "Traceback" in outcomes[0].account
    assert outcomes[1].error.startswith("WorkerCrashedError")
    assert outcomes[2].value == "second time"
    assert outcomes[3].value == 1
    assert outcomes[4].value == 42
    import ray

    assert not ray.is_initialized()
