"""The shape vocabulary works with and without its development dependency."""

import subprocess
import sys

from torch import Tensor

from sphunc import _typing

WITHOUT_JAXTYPING = """
import sys
sys.modules["jaxtyping"] = None
from torch import Tensor
from sphunc import _typing
assert _typing.Float[Tensor, "agent dim"] is Tensor
assert _typing.Links is Tensor
"""


def test_shapes_are_checked_under_pytest() -> None:
    assert _typing.Float[Tensor, "agent dim"] is not Tensor


def test_shapes_are_plain_tensors_without_jaxtyping() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_JAXTYPING], check=True)
