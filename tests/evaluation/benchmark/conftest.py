"""What the tests of the runner share: an engine that works in this process, and a small experiment."""

from collections.abc import Iterator
from typing import Any

import pytest

from sphunc.evaluation.benchmark.engines import Engine, Outcome, attempt


class SerialEngine(Engine):
    """One task after the other, in this process."""

    def run(self, work, tasks) -> Iterator[Outcome]:
        for index, task in enumerate(tasks):
            yield Outcome(index, *attempt(work, task, 1))


@pytest.fixture
def serial() -> SerialEngine:
    return SerialEngine(workers=1)


@pytest.fixture
def content() -> dict[str, Any]:
    return {
        "name": "small",
        "models": ["majority", "persistence"],
        "data": [{"world": "snare", "knobs": {"agents": 30, "times": 6}}],
        "seeds": [0, 1],
        "reference": "persistence",
    }
