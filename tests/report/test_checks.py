import pytest

import sphunc
from sphunc.errors import ArgumentTypeError, NotFittedError
from sphunc.report.checks import check_fitted, check_graph, default_model


def test_what_is_not_a_fitted_model_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"model is a str; parameter_table takes a fitted sphunc\.SphUnc"):
        check_fitted("parameter_table", "model")
    with pytest.raises(NotFittedError, match=r"parameter_table needs a fitted model; call fit\(data\)"):
        check_fitted("parameter_table", sphunc.SphUnc())


def test_default_model_is_that_of_the_fit(fitted: sphunc.SphUnc) -> None:
    assert default_model(check_fitted("x", fitted)) is fitted.model_


def test_anything_but_a_graph_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"graph is a int; give model.influence\(\), or what discover returned"):
        check_graph(3)
