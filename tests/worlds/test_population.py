"""Communities, biases, noise levels, newcomers."""

import numpy as np
import pytest

from sphunc.worlds.population import orthonormal, populate
from sphunc.worlds.presets import settings_for
from sphunc.worlds.streams import stream


def people(**knobs):
    return populate(settings_for("snare", knobs), stream(0, "population"))


def test_rows_become_orthonormal() -> None:
    basis = orthonormal(np.random.default_rng(0).standard_normal((5, 9)))
    np.testing.assert_allclose(basis @ basis.T, np.eye(5), atol=1e-14)


def test_biases_are_unit_and_homophily_gathers_them_by_community() -> None:
    def within_minus_between(homophily: float) -> float:
        population = people(homophily=homophily)
        cosine = population.biases @ population.biases.T
        same = population.community[:, None] == population.community[None]
        return float(cosine[same].mean() - cosine[~same].mean())

    np.testing.assert_allclose(np.linalg.norm(people().biases, axis=1), 1, atol=1e-12)
    assert within_minus_between(0.0) < 0.05 < within_minus_between(0.4) < within_minus_between(0.8)


def test_newcomers_and_unseen_agents_have_the_asked_share() -> None:
    population = people(newcomers=0.1, unseen=0.2)
    unseen = population.community == 6
    assert unseen.sum() == 108
    assert population.newcomer.sum() == 108 + 54
    assert population.newcomer[unseen].all()


def test_unseen_community_lies_away_from_the_seen_ones() -> None:
    for seed in range(20):
        population = populate(settings_for("snare", {}), stream(seed, "population"))
        assert (population.centres[:-1] @ population.centres[-1]).max() < 0.25


def test_anisotropy_lowers_the_effective_dimension() -> None:
    def effective(anisotropy: float) -> float:
        values = np.linalg.eigvalsh(np.cov(people(anisotropy=anisotropy).biases.T))
        return float(values.sum() ** 2 / np.square(values).sum())

    assert effective(3.0) < 0.7 * effective(0.0)


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_concentrations_spread_about_their_median(spread: float) -> None:
    levels = people(concentration=50.0, concentration_spread=spread).concentrations
    assert np.exp(np.log(levels).mean()) == pytest.approx(50.0)
    assert np.log(levels).std() == pytest.approx(spread, abs=0.03)
