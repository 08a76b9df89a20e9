from dataclasses import dataclass

import pytest
import torch

from sphunc.baselines import attribute
from sphunc.baselines.attribution import colours, occlude
from sphunc.errors import ArgumentError
from sphunc.hypergraph import comembers


@dataclass
class Listener:
    """Agent a listens to b: its probability is the logistic function of b's feature; the others listen to nobody."""

    def predict(self, data, origin=None):
        p = torch.full((data.num_nodes,), 0.5)
        p[0] = torch.sigmoid(data.x[-1, 1, 0])
        return type("F", (), {"probabilities": torch.stack([p, 1 - p], 1)})


def test_a_score_by_hand(tiny) -> None:
    past = tiny.until_index(0)
    # At time 0 b stands at the mean, (1 + 3 + 2 + 6) / 4 = 3: nothing moves.
    assert attribute(Listener(), past).score.abs().max() == 0.0
    later = attribute(Listener(), tiny, origins=[1])
    found = {(int(s), int(t)): v for s, t, v in zip(*later.links.tolist(), later.score.tolist(), strict=True)}
    # At time 1 b has 1 and the mean of those observed is 2: |sigmoid(1) - sigmoid(2)| = 0.1497.
    assert found.pop((1, 0)) == pytest.approx(0.88079708 - 0.73105858)
    assert set(found.values()) == {0.0}


def test_occluded_sources_are_average_and_silent(tiny) -> None:
    hidden = occlude(tiny.until_index(0), torch.tensor([0]))
    assert hidden.x[0, :, 0].tolist() == [3.0, 3.0, 2.0, 6.0]
    assert hidden.y_mask.tolist() == [[False, True, False, False]]


def test_colours_keep_sources_of_one_target_apart(data) -> None:
    links = comembers(data)
    colour = colours(links, data.num_nodes)
    assert bool((colour[links[0]] != colour[links[1]]).all())
    for target in range(data.num_nodes):
        mine = colour[links[0, links[1] == target]]
        assert len(mine.unique()) == len(mine)
    assert int(colour.max()) + 1 < data.num_nodes


class Follower:
    """Every agent follows the mean feature of those it meets at the origin."""

    def predict(self, data, origin=None):
        here = data.hyperedge_time[data.hyperedge_index[1]] == data.num_times - 1
        agent, group = data.hyperedge_index[:, here]
        total = torch.zeros(data.num_hyperedges).index_add(0, group, data.x[-1, agent, 0])
        p = torch.sigmoid(torch.zeros(data.num_nodes).index_add(0, agent, total[group]))
        return type("F", (), {"probabilities": torch.stack([p, 1 - p], 1)})


def test_together_is_the_same_as_one_at_a_time_where_influence_goes_one_step(data) -> None:
    fast, slow = attribute(Follower(), data), attribute(Follower(), data, together=False)
    assert torch.allclose(fast.score, slow.score, atol=1e-6)
    assert float(slow.score.max()) > 0.1


def test_no_origin_is_refused(data) -> None:
    with pytest.raises(ArgumentError, match="origins is empty"):
        attribute(Listener(), data, origins=[])
