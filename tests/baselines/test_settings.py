import pytest

from sphunc.baselines import forecaster
from sphunc.baselines.settings import check_params
from sphunc.errors import ArgumentError


def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ArgumentError, match=r"'widht' is not a setting of HyperGCN \(did you mean width\?\)"):
        forecaster("hypergcn", widht=3)
    check_params("x", ["a"], ["a", "b"])
