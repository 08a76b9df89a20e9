"""Public is what ``sphunc`` lists: every name loads, and importing it costs nothing heavy."""

import subprocess
import sys

import pytest

import sphunc

HEAVY = {"torch", "matplotlib", "pandas", "polars", "fastapi", "sklearn", "scipy", "pydantic"}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join({{m.split('.')[0] for m in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("name", sphunc.__all__)
def test_public_name_loads(name: str) -> None:
    assert getattr(sphunc, name) is not None
    assert name in dir(sphunc)


@pytest.mark.parametrize("name", sphunc._PACKAGES)
def test_packages_are_reached_without_an_import_of_their_own(name: str) -> None:
    code = f"import sphunc; print(sphunc.{name}.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"sphunc.{name}"
    assert name in dir(sphunc)


def test_names_are_listed_once_and_have_a_home() -> None:
    assert sorted(set(sphunc.__all__)) == sorted(sphunc.__all__)
    assert set(sphunc._HOME) == set(sphunc.__all__) - {"__version__"}


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Nonsense'; public names: .*TemporalHypergraph"):
        _ = sphunc.Nonsense


@pytest.mark.parametrize("name", sphunc._REMOVED)
def test_a_name_that_is_gone_says_what_to_use(name: str) -> None:
    assert name not in dir(sphunc)
    with pytest.raises(AttributeError, match=f"sphunc.{name} is gone: .*(sphunc|fit)"):
        getattr(sphunc, name)


def test_import_of_the_package_pulls_in_nothing_heavy() -> None:
    assert modules_after("import sphunc") & HEAVY == set()


def test_command_line_starts_without_torch() -> None:
    assert modules_after("import sphunc.cli") & HEAVY == set()


def test_the_sphere_pulls_in_torch_but_no_pandas_and_no_matplotlib() -> None:
    assert modules_after("import sphunc; sphunc.vmf_entropy") & (HEAVY - {"torch"}) == set()
