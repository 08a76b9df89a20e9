"""The shape vocabulary works with and without its development dependency."""

import importlib
import sys

import pytest
from torch import Tensor

from sphunc import _typing


def test_shapes_are_checked_under_pytest() -> None:
    assert _typing.Float[Tensor, "agent dim"] is not Tensor


def test_shapes_are_plain_tensors_without_jaxtyping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jaxtyping", None)
    spec = importlib.util.find_spec("sphunc._typing")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.Float[Tensor, "agent dim"] is Tensor
