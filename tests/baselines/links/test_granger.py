import numpy as np
import pytest
import torch
from scipy import stats

from sphunc.baselines.links import conditional_granger, false_discovery_rates, pairwise_granger
from sphunc.baselines.links.granger import target_moments
from sphunc.discovery.candidates import all_pairs


@pytest.fixture
def states():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 4, 3, generator=generator, dtype=torch.double)
    for t in range(1, 30):
        x[t] = x[t] + 0.4 * x[t - 1]
        x[t, 1] = x[t, 1] + 0.7 * x[t - 1, 0]
    return x


def regression(x, target, sources):
    """Dense least squares of the demeaned target on its own past and the sources: F of the first source."""
    after = x[1:, target] - x[1:, target].mean(0)
    columns = [x[:-1, agent] - x[:-1, agent].mean(0) for agent in (target, *sources)]
    design = np.stack([column.flatten().numpy() for column in columns], 1)
    outcome = after.flatten().numpy()
    theta, rss, _, _ = np.linalg.lstsq(design, outcome, rcond=None)
    degrees = (len(x) - 2) * x.shape[2] - design.shape[1]
    variance = rss[0] / degrees * np.linalg.inv(design.T @ design)[1, 1]
    return theta[1] ** 2 / variance, degrees


def test_pairwise_statistic_is_that_of_least_squares(states):
    pairs = all_pairs(4)
    statistic, p_value = pairwise_granger(states, pairs)
    for k, (source, target) in enumerate(pairs.T.tolist()):
        expected, degrees = regression(states, target, [source])
        assert float(statistic[k]) == pytest.approx(expected, rel=1e-9)
        assert float(p_value[k]) == pytest.approx(stats.f.sf(expected, 1, degrees), rel=1e-9)
    assert pairs[:, statistic.argmax()].tolist() == [0, 1]


def test_conditional_statistic_is_that_of_least_squares(states):
    pairs = all_pairs(4)
    statistic, _ = conditional_granger(states, pairs)
    for k, (source, target) in enumerate(pairs.T.tolist()):
        others = [agent for agent in range(4) if agent not in (source, target)]
        expected, _ = regression(states, target, [source, *others])
        # A ridge of a thousandth moves it by about as much.
        assert float(statistic[k]) == pytest.approx(expected, rel=0.01, abs=0.01)


def test_replicates_are_scaled_agent_by_agent(states):
    pairs = all_pairs(4)
    scale = torch.tensor([1.0, 100.0, 0.01, 1.0], dtype=torch.double)[:, None]
    one = conditional_granger(states, pairs, replicates=True)[0]
    other = conditional_granger(states * scale, pairs, replicates=True)[0]
    torch.testing.assert_close(one, other)
    assert len(list(target_moments(states, pairs, replicates=False))) == 4


def test_step_up_rule_by_hand():
    rates = false_discovery_rates(torch.tensor([0.8, 0.01, 0.04, 0.03], dtype=torch.double))
    assert rates.tolist() == pytest.approx([0.8, 0.04, 0.16 / 3, 0.16 / 3])


def test_rates_are_those_of_scipy():
    p_value = torch.rand(200, generator=torch.Generator().manual_seed(2), dtype=torch.double) ** 2
    expected = stats.false_discovery_control(p_value.numpy())
    assert false_discovery_rates(p_value).tolist() == pytest.approx(expected.tolist())
