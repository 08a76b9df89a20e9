"""Both arms: same noise, blocked links, the linear limit, coordinates on a basis against the full sphere."""

import pytest
import torch

import sphunc.causal.simulate as simulate_module
from sphunc.causal.action import Action, StateChange
from sphunc.causal.basis import Basis, basis_for
from sphunc.causal.design import Design, Start
from sphunc.causal.interventions import CutGroup, CutLink, Do, Policy, ScaleLink, Shift, Stochastic
from sphunc.causal.mechanism import Mechanism
from sphunc.causal.simulate import simulate
from sphunc.errors import ArgumentError
from sphunc.sphere import mean_resultant_length

N, D, C = 6, 24, 3
LINKS = torch.tensor([[0, 1, 2], [1, 2, 0]])


def unit(*shape, seed=0):
    return torch.nn.functional.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def mechanism(**changes):
    values = {
        "dim": D,
        "spherical": True,
        "keep": 0.5,
        "prior": 0.5,
        "link": 1.0,
        "pull": 0.0,
        "cohesion": 0.0,
        "strength": 60.0,
        "firmness": 20.0,
        "mapping": torch.eye(D),
        "weight": 3.0 * unit(C, D, seed=1),
        "bias": torch.zeros(C),
        "lean": 0.5 * unit(C, seed=2),
    }
    return Mechanism(**{**values, **changes})


def start():
    return Start(40.0 * unit(N, D, seed=2), unit(N, D, seed=3), None)


def design(strengths=(0.5, 0.5, 0.0), draws=50, horizon=3, **changes):
    values = torch.tensor(strengths).reshape(-1, 3)
    return Design(LINKS, values, draws, horizon, 0, **changes)


def do(agent, direction, kind="do", amount=0.0, source=None):
    return StateChange(kind, agent, direction, amount, source or Do("x", toward="y"))


def changed(moment):
    """Logits of all agents with the intervention; the factual tensor itself when nobody is reached."""
    return moment.factual.index_copy(0, moment.rows, moment.reached) if len(moment.rows) else moment.factual


def last(*arguments):
    return list(simulate(*arguments))[-1]


def test_without_an_action_both_arms_are_one() -> None:
    moment = last(mechanism(), start(), Action(), design())
    assert changed(moment) is moment.factual


def test_do_reaches_descendants_only_and_blocks_what_acts_on_the_agent() -> None:
    target = unit(D, seed=4)
    moments = list(simulate(mechanism(), start(), Action((do(0, target),)), design()))
    gap = [(changed(m) - m.factual).abs().amax((1, 2)) for m in moments]
    assert (gap[0] > 1e-3).tolist() == [True, True, False, False, False, False]
    assert (gap[2] > 1e-4).tolist() == [True, True, True, False, False, False]
    assert all((g[3:] == 0).all() for g in gap)
    logits = mechanism().read(target)
    assert torch.allclose(changed(moments[2])[0], logits.expand(50, -1), atol=1e-5)
    into_it = last(mechanism(), start(), Action((do(2, target),)), design((0.5, 9.0, 0.0)))
    assert torch.allclose(changed(into_it)[2], logits.expand(50, -1), atol=1e-5)


def test_do_at_the_origin_only_lets_the_agent_go_again() -> None:
    once = do(0, unit(D, seed=4), source=Do("x", toward="y", times=0))
    moment = last(mechanism(), start(), Action((once,)), design())
    assert changed(moment)[0].std(0).max() > 0.01


def test_cut_link_is_the_structure_without_it() -> None:
    cut = Action(factors=((0, 0.0, CutLink("a", "b")),))
    without = last(mechanism(), start(), Action(), design((0.0, 0.5, 0.0)))
    assert torch.allclose(changed(last(mechanism(), start(), cut, design())), without.factual, atol=1e-5)


def test_a_link_is_scaled_by_the_factor_of_each_step() -> None:
    first, then = ScaleLink("a", "b", 5.0, times=(0,)), ScaleLink("a", "b", 0.0, times=(1,))
    alike, cut = ScaleLink("a", "b", 5.0, times=(0, 1)), ScaleLink("a", "b", 0.0, times=(1,))
    both = last(mechanism(), start(), Action(factors=((0, 5.0, first), (0, 0.0, then))), design(horizon=2))
    # Another place and factor that act together: 5 times 0 at the second step, by another key.
    same = last(mechanism(), start(), Action(factors=((0, 5.0, alike), (0, 0.0, cut))), design(horizon=2))
    constant = last(mechanism(), start(), Action(factors=((0, 5.0, alike),)), design(horizon=2))
    assert torch.equal(changed(both), changed(same))
    assert not torch.allclose(changed(both), changed(constant), atol=1e-3)


def test_structures_share_their_noise() -> None:
    moment = last(mechanism(), start(), Action(), design([(0.5, 0.5, 0.0), (0.5, 0.5, 0.0), (0.0, 0.5, 0.0)]))
    by = moment.factual.unflatten(1, (3, 50))
    assert torch.equal(by[:, 0], by[:, 1])
    assert not torch.equal(by[1, 0], by[1, 2])
    assert torch.equal(by[3:, 0], by[3:, 2])


def test_blocks_of_structures_have_noise_of_their_own() -> None:
    moments = [last(mechanism(), start(), Action(), design([(0.5, 0.5, 0.0)] * count, draws=3)) for count in (20, 40)]
    few, many = (moment.factual.unflatten(1, (-1, 20, 3)) for moment in moments)
    assert torch.allclose(many[:, 0], few[:, 0], atol=1e-6)
    assert torch.equal(many[:, 1, 0], many[:, 1, 19])
    assert (many[:, 0, 0] - many[:, 1, 0]).abs().amin((1, 2)).min() > 0


def test_stochastic_draws_from_its_law_and_shift_turns() -> None:
    mu = unit(D, seed=5)
    draw = Action((do(0, mu, "draw", 30.0, Stochastic("x", "y", 30.0)),))
    moment = last(mechanism(weight=mu.expand(C, D), lean=None), start(), draw, design(draws=1000, horizon=1))
    wanted = float(mean_resultant_length(torch.tensor(30.0), D))
    assert float(changed(moment)[0].mean()) == pytest.approx(
        wanted, abs=4 * float(changed(moment)[0, :, 0].std()) / 1000**0.5
    )
    shift = Action((do(0, mu, "shift", 3.2, Shift("x", "y", 3.0)),))
    turned = last(mechanism(), start(), shift, design())
    assert (changed(turned)[1] - turned.factual[1]).abs().max() > 0.01


def test_policy_decides_from_states() -> None:
    mirror = Policy(lambda step, states: {"p0": -states[:, 1]})
    moment = last(mechanism(), start(), Action(policies=(mirror,), agents=("p0", "p1")), design())
    assert (changed(moment)[0] - moment.factual[0]).abs().max() > 0.1
    learned = Policy(lambda step, states: {"p0": (-states[:, 1]).requires_grad_()})
    same = last(mechanism(), start(), Action(policies=(learned,), agents=("p0", "p1")), design())
    assert torch.equal(changed(same), changed(moment))
    stranger = Policy(lambda step, states: {"nobody": states[0, 0]})
    with pytest.raises(ArgumentError, match="'nobody', which is not in the data"):
        last(mechanism(), start(), Action(policies=(stranger,), agents=("p0",)), design())


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (lambda step, states: None, "the policy returned None; return a mapping"),
        (lambda step, states: {"p0": [1.0]}, r"set 'p0' to a state of shape \(1,\); give numbers of shape"),
        (lambda step, states: {"p0": states[:, 0] * float("nan")}, "'p0' to a state with an entry that is not finite"),
        (lambda step, states: {"p0": torch.zeros(D)}, "'p0' to a state of length 0, not 1; divide it by its length"),
        (lambda step, states: {"p0": 2 * states[:, 0]}, "'p0' to a state of length 2, not 1"),
        (lambda step, states: {"p0": "calm"}, "set 'p0' to 'calm'; give a state, a vector of numbers"),
        (lambda step, states: {"p0": None}, "set 'p0' to None; give a state"),
    ],
)
def test_policy_that_decides_nothing_usable_is_refused(function, fault) -> None:
    with pytest.raises(ArgumentError, match=fault):
        last(mechanism(), start(), Action(policies=(Policy(function),), agents=("p0", "p1")), design())


def test_policy_is_asked_per_structure_and_step_and_tells_whom_it_set() -> None:
    asked = []

    def once(step, states):
        asked.append((step, tuple(states.shape)))
        return {"p1": states[:, 0]} if step == 1 else {}

    several = design([(0.5, 0.5, 0.0), (0.0, 0.5, 0.3)], draws=8, horizon=2)
    names = tuple(f"p{i}" for i in range(len(start().eta)))
    moments = list(simulate(mechanism(), start(), Action(policies=(Policy(once),), agents=names), several))
    shape = (8, len(names), D)
    # States of the origin are those of every structure, and asked for once.
    assert asked == [(0, shape), (1, shape), (1, shape), (2, shape), (2, shape)]
    assert [moment.decided for moment in moments] == [(1,), (1,)]


def test_policy_that_sets_nobody_changes_nothing_to_the_bit() -> None:
    still = Action(policies=(Policy(lambda step, states: {}),), agents=("p0", "p1"))
    moment = last(mechanism(), start(), still, design())
    assert torch.equal(changed(moment), moment.factual)
    assert moment.decided == ()


def test_policy_may_not_decide_what_another_intervention_decides() -> None:
    mu = unit(D, seed=5)
    policy = Policy(lambda step, states: {"p0": states[0, 0]}, "copy")
    others = [
        do(0, mu, source=Do("p0", mu)),
        do(0, mu, "shift", 0.3, Shift("p0", "y", 0.3)),
        do(0, mu, "draw", 9.0, Stochastic("p0", "y", 9.0)),
    ]
    for other in others:
        action = Action((other,), policies=(policy,), agents=("p0", "p1"))
        with pytest.raises(
            ArgumentError, match=r"and Policy\(.* contradict each other: the state of 'p0' is decided tw"
        ):
            last(mechanism(), start(), action, design())
    with pytest.raises(ArgumentError, match=r"Policy\(.* and Policy\(.* contradict each other: the state of 'p0'"):
        last(mechanism(), start(), Action(policies=(policy, policy), agents=("p0", "p1")), design())


def test_policy_may_decide_on_others_and_at_other_times() -> None:
    mu = unit(D, seed=5)
    later = Policy(lambda step, states: {"p0": states[0, 0]}, times=1)
    first = Action((do(0, mu, source=Do("p0", mu, times=0)),), policies=(later,), agents=("p0", "p1"))
    last(mechanism(), start(), first, design())
    both = Action((do(1, mu, source=Do("p1", mu)),), policies=(later,), agents=("p0", "p1"))
    last(mechanism(), start(), both, design())


def test_linear_limit_has_its_closed_form() -> None:
    """Gaussian states: the mean of the reading is a product of matrices, its error falls with the root of S."""
    flat = mechanism(spherical=False, flat=1 / D, strength=float(D), lean=None)
    target = unit(D, seed=6)
    mean = start().eta / D
    influence = torch.zeros(N, N)
    influence[1, 0], influence[2, 1] = 0.5, 0.5
    for arm in (False, True):
        m = mean.clone()
        if arm:
            m[0] = target
        for _ in range(3):
            force = 0.5 * m + influence @ m + 0.5 * start().prior
            m = force.clone()
            if arm:
                m[0] = target
        wanted = flat.read(m)
        for draws in (50, 800):
            moment = last(flat, start(), Action((do(0, target),)), design(draws=draws))
            got = changed(moment) if arm else moment.factual
            error = got.std(1) / draws**0.5
            assert ((got.mean(1) - wanted).abs() <= 4.5 * error + 1e-5).all()


def test_means_in_place_of_draws_are_a_mean_field_roll() -> None:
    m = mechanism()
    eta = start().eta
    influence = torch.zeros(N, N)
    influence[1, 0], influence[2, 1] = 0.5, 0.5
    for _ in range(3):
        mean = eta * m.mean_length(eta.norm(dim=-1)).unsqueeze(-1)
        eta = 60.0 * (0.5 * mean + influence @ mean + 0.5 * start().prior)
    wanted = m.read_belief(eta)
    few = Basis(torch.linalg.qr(torch.cat([m.weight, start().eta, start().prior]).mT).Q, C + 2 * N)
    for basis in (None, few):
        moment = last(m, start(), Action(), design(draws=2, sampled=False), basis)
        assert torch.allclose(moment.factual[:, 0], wanted, atol=1e-4)


def test_a_basis_gives_the_law_of_the_full_sphere() -> None:
    """Signals in 4 of 48 dimensions: readings of both simulations agree in mean and spread, effects too."""
    wide = 48
    low = unit(4, wide, seed=7)
    begin = Start(unit(N, 4, seed=8) @ low * 40, unit(N, 4, seed=9) @ low, (torch.arange(N), torch.arange(N) // 3))
    m = mechanism(dim=wide, mapping=torch.eye(wide), weight=3.0 * unit(C, 4, seed=10) @ low, pull=0.3, cohesion=0.2)
    action = Action((do(0, torch.nn.functional.normalize(low[0], dim=0)),))
    size = 1000
    both = [last(m, begin, action, design(draws=size), basis) for basis in (None, basis_for(m, begin, action))]
    for arm in ("factual", "changed"):
        full, short = (changed(moment) if arm == "changed" else moment.factual for moment in both)
        error = (full.var(1) + short.var(1)).sqrt() / size**0.5
        assert ((full.mean(1) - short.mean(1)).abs() < 5 * error + 0.1).all()
        assert torch.allclose(full[1:].std(1), short[1:].std(1), rtol=0.18)
    assert torch.allclose(both[0].resultant, both[1].resultant, atol=0.05)


def reached_only(faint, monkeypatch, action):
    monkeypatch.setattr(simulate_module, "FAINT", faint)
    groups = torch.tensor([0, 1, 2, 3, 4, 5]), torch.tensor([0, 0, 1, 1, 2, 2])
    begin = Start(start().eta, start().prior, groups)
    several = design([(0.5, 0.5, 0.0), (0.0, 0.5, 0.3)], draws=8)
    return list(simulate(mechanism(pull=0.3, cohesion=0.2), begin, action, several))


@pytest.mark.parametrize("kind", ["do", "cut", "group"])
def test_following_only_departures_is_simulating_all(kind, monkeypatch) -> None:
    actions = {
        "do": Action((do(0, unit(D, seed=4)),)),
        "cut": Action(factors=((0, 0.0, CutLink("a", "b")),)),
        "group": Action(cut=((1, CutGroup("g")),)),
    }
    followed = reached_only(1e-4, monkeypatch, actions[kind])
    everything = reached_only(-1.0, monkeypatch, actions[kind])
    for some, every in zip(followed, everything, strict=True):
        assert torch.equal(some.factual, every.factual)
        assert torch.allclose(changed(some), changed(every), atol=2e-3)
        assert torch.allclose(some.resultant, every.resultant, atol=1e-4)
        assert not torch.equal(changed(some), some.factual)


def test_only_who_may_be_reached_is_carried_twice() -> None:
    moments = list(simulate(mechanism(), start(), Action((do(0, unit(D, seed=4)),)), design()))
    assert [m.rows.tolist() for m in moments if m.rows is not None] == [[0, 1], [0, 1, 2], [0, 1, 2]]
    for m in moments:
        assert torch.equal(changed(m)[m.rows], m.reached)
        assert torch.equal(changed(m)[3:], m.factual[3:])


@pytest.mark.parametrize("reduced", [False, True])
def test_blocks_and_memory_do_not_matter(reduced, monkeypatch) -> None:
    groups = torch.tensor([0, 1, 2, 3, 4, 5]), torch.tensor([0, 0, 1, 1, 2, 2])
    system = mechanism(pull=0.3, cohesion=0.2), Start(start().eta, start().prior, groups)
    action = Action((do(0, unit(D, seed=4)),))
    several = design([(0.5, 0.5, 0.0), (0.0, 0.5, 0.3)], draws=8)
    basis = Basis(torch.linalg.qr(torch.cat([system[0].weight, unit(D, seed=4)[None]]).mT).Q, C) if reduced else None
    whole = list(simulate(*system, action, several, basis))
    monkeypatch.setattr(simulate_module, "BLOCK", 2 * 8 * D)
    for kept, moment in zip(whole, simulate(*system, action, several, basis, fleeting=True), strict=True):
        assert torch.allclose(kept.factual, moment.factual, atol=1e-4)
        assert torch.allclose(changed(kept), changed(moment), atol=1e-4)
        assert torch.allclose(kept.resultant, moment.resultant, atol=1e-5)


def test_a_world_without_links_and_groups_moves() -> None:
    alone = Design(LINKS, torch.zeros(1, 3), 5, 2, 0)
    moments = list(simulate(mechanism(), start(), Action(), alone))
    assert all(m.factual.isfinite().all() and m.factual.std(1).min() > 0 for m in moments)


def test_directions_of_one_question_leave_noise_and_readings_of_all_others() -> None:
    """A direction more is carried and no longer summed up: readings move little, compared with what noise does."""
    low = unit(4, D, seed=7)
    begin = Start(unit(N, 4, seed=8) @ low * 40, unit(N, 4, seed=9) @ low, None)
    m = mechanism(weight=3.0 * unit(C, 4, seed=10) @ low)
    action = Action((do(0, unit(D, seed=11)),))
    small, large = basis_for(m, begin), basis_for(m, begin, action)
    assert large.vectors.shape[1] == small.vectors.shape[1] + 1
    plain, more = (list(simulate(m, begin, Action(), design(), basis)) for basis in (small, large))
    for one, other in zip(plain, more, strict=True):
        assert (one.factual - other.factual).std() < 0.15 * one.factual.std(1).mean()
