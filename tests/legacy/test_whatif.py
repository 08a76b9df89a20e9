"""What-if questions, end to end: the null, effects, their parts, counterfactuals, dowhy's names, every fault."""

from dataclasses import replace
from inspect import unwrap

import numpy as np
import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError, ArgumentTypeError, NotFittedError
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.scenario import known_links, no_links

SMALL = {"dim": 10, "layers": 1, "epochs": 3, "patience": 3, "folds": 2, "aleatoric_width": 4, "structure_epochs": 0}


def fitted(data, **settings):
    return SphUnc(**{**SMALL, **settings}).fit(data, verbose=False)


@pytest.fixture(scope="module")
def data(short_data):
    return short_data


@pytest.fixture(scope="module")
def model(data):
    model = fitted(data)
    with torch.no_grad():
        for part in (model.network_.readout.weight, model.network_.readout.lean):
            part.normal_(generator=torch.Generator().manual_seed(0))
    return model


@pytest.fixture(scope="module")
def wide(data):
    """A model with so many directions that a few are chosen to simulate on."""
    return fitted(data, dim=32)


@pytest.fixture(scope="module")
def calm(data):
    return data.class_names[0]


def chain(strength=2.0, structures=1):
    """Agent 0 acts on 1, 1 on 2; with several structures the first link is there in half of them."""
    links = torch.tensor([[0, 1], [1, 2]])
    given = known_links(links, torch.tensor([strength, strength]))
    if structures == 1:
        return given
    rows = given.strengths.repeat(structures, 1)
    rows[::2, 0] = 0.0
    return replace(given, strengths=rows, gates=rows.mean(0))


def without_groups(data):
    nothing = data.hyperedge_index[:, :0]
    return replace(
        data, hyperedge_index=nothing, hyperedge_time=data.hyperedge_time[:0], num_hyperedges=0, hyperedge_ids=()
    )


@pytest.mark.parametrize("samples", [1, 7, 40])
def test_nothing_changed_is_the_forecast_exactly(model, data, samples) -> None:
    effect = model.intervene(data=data, horizon=3, samples=samples)
    assert torch.equal(effect.outcomes[0], model.predict(data).probabilities)
    assert torch.equal(effect.outcomes, effect.factual_outcomes)
    assert torch.equal(
        model.intervene(data=data, origin=1, samples=4).probabilities, model.predict(data, 1).probabilities
    )


def test_longer_horizons_of_the_model_are_met_too(data) -> None:
    model = fitted(data, horizon=2)
    effect = model.intervene(data=data, horizon=3, samples=8)
    assert torch.equal(effect.outcomes[1], model.predict(data).probabilities)
    assert effect.times == (4, 5, 6)


def test_without_links_and_groups_nobody_else_moves(model, data, calm) -> None:
    lonely = without_groups(data)
    do = sphunc.Do(data.node_ids[4], toward=calm)
    effect = model.intervene(do, data=lonely, horizon=3, samples=20, scenario=no_links())
    others = torch.arange(data.num_nodes) != 4
    assert (effect.difference[others] == 0).all()
    assert effect.size[4] > 0
    assert effect.intervened.nonzero().flatten().tolist() == [4]


def test_do_moves_descendants_and_blocks_incoming_links(model, data, calm) -> None:
    lonely = without_groups(data)
    arguments = {"data": lonely, "horizon": 2, "samples": 40, "scenario": chain()}
    first = model.intervene(sphunc.Do(data.node_ids[0], toward=calm), **arguments)
    assert (first.size > 1e-6).nonzero().flatten().tolist() == [0, 1, 2]
    middle = sphunc.Do(data.node_ids[1], toward=calm)
    both = model.intervene(middle, sphunc.Do(data.node_ids[0], toward=calm), **arguments)
    alone = model.intervene(middle, **arguments)
    assert torch.allclose(both.probabilities[1:], alone.probabilities[1:], atol=1e-6)


def test_cutting_the_link_takes_the_effect_away(model, data, calm) -> None:
    arguments = {"data": without_groups(data), "horizon": 1, "samples": 40, "scenario": chain()}
    a, b = data.node_ids[:2]
    cut = model.intervene(sphunc.CutLink(a, b), **arguments)
    both = model.intervene(sphunc.CutLink(a, b) & sphunc.Do(a, toward=calm), **arguments)
    assert torch.allclose(cut.probabilities[1], both.probabilities[1], atol=1e-6)
    assert cut.size[1] > 1e-4


def test_cutting_a_group_moves_its_members(model, data) -> None:
    last = data.hyperedge_time[data.hyperedge_index[1]] == data.num_times - 1
    group = int(data.hyperedge_index[1, last][0])
    members = data.hyperedge_index[0, data.hyperedge_index[1] == group]
    with torch.no_grad():
        model.network_.step.gains["pull"].fill_(1.0)
    effect = model.intervene(
        sphunc.CutGroup(data.hyperedge_ids[group]), data=data, horizon=1, samples=20, scenario=no_links()
    )
    assert set((effect.size > 1e-7).nonzero().flatten().tolist()) == set(members.tolist())


def test_parts_add_up_and_identification_needs_doubt(model, data, calm) -> None:
    do = sphunc.Do(data.node_ids[0], toward=calm)
    known = model.intervene(do, data=data, horizon=2, samples=40, scenario=chain())
    doubt = model.intervene(do, data=data, horizon=2, samples=40, scenario=chain(structures=10))
    for effect in (known, doubt, model.intervene(do, data=data, horizon=2, samples=40)):
        assert torch.equal(effect.withins + effect.identifications, effect.entropies)
        assert ((effect.confidence >= 0) & (effect.confidence <= 1)).all()
        assert torch.allclose(effect.outcomes.sum(-1), torch.ones(2, data.num_nodes), atol=1e-4)
    assert (known.identifications == 0).all()
    assert doubt.identification[1] > 1e-3


@pytest.mark.slow
def test_errors_are_those_of_repeated_questions_where_links_are_in_doubt(model, data, calm) -> None:
    do, sizes, errors = sphunc.Do(data.node_ids[0], toward=calm), {}, {}
    for samples in (100, 400):
        effects = []
        for seed in range(40):
            there = torch.rand(samples // 5, generator=torch.Generator().manual_seed(seed)) < 0.6
            one = chain()
            rows = torch.stack([2.0 * there, torch.full((samples // 5,), 2.0)], 1)
            doubt = replace(one, strengths=rows, gates=torch.tensor([1.2, 2.0]))
            asked = {"data": without_groups(data), "samples": samples, "seed": seed, "scenario": doubt}
            effects.append(model.intervene(do, **asked))
        found = torch.stack([effect.difference[1] for effect in effects])
        error = torch.stack([effect.effect_error[1] for effect in effects])
        sizes[samples], errors[samples] = found.std(0), error.mean(0)
        inside = ((found - found.mean(0)).abs() < 2 * error).float().mean()
        assert 0.85 < float(inside) <= 1.0
        assert (errors[samples] / sizes[samples]).mean() == pytest.approx(1.0, abs=0.35)
    assert float((sizes[100] / sizes[400]).mean()) == pytest.approx(2.0, rel=0.35)
    assert float((errors[100] / errors[400]).mean()) == pytest.approx(2.0, rel=0.2)


def test_errors_fall_with_the_root_of_the_samples_and_seeds_reproduce(model, data, calm) -> None:
    do = sphunc.Do(data.node_ids[0], toward=calm)
    arguments = {"data": data, "horizon": 1, "structures": 4}
    few, many = (model.intervene(do, samples=samples, **arguments) for samples in (20, 2000))
    moved = many.top_affected(1)["agent"].to_list()[0]
    i = data.node_ids.index(moved)
    ratio = float(few.effect_error[i].mean() / many.effect_error[i].mean())
    assert 5.0 < ratio < 20.0
    again, other = (model.intervene(do, samples=20, seed=seed, **arguments) for seed in (0, 1))
    assert torch.equal(few.outcomes, again.outcomes)
    assert not torch.equal(few.outcomes, other.outcomes)


@pytest.mark.parametrize(
    "amounts",
    [
        *({"samples": samples} for samples in (1, 2, 5, 10, 15)),
        {"samples": 100, "structures": 1},
        {"samples": 100, "structures": 2},
        {"samples": 20, "structures": 20},
    ],
)
def test_errors_that_few_samples_do_not_tell_are_nan(model, data, calm, amounts) -> None:
    a = data.node_ids[0]
    do = sphunc.Do(a, toward=calm)
    for effect in (
        model.intervene(do, data=data, **amounts),
        model.counterfactual(do, data=data, origin=2, **amounts),
    ):
        told = effect.effect_error[effect.size > 0]
        assert len(told)
        assert told.isnan().all()
        assert effect.standard_error[effect.size > 0].isnan().all()
        assert effect.entropy.isfinite().all()
        is_single = len(effect.structure_id.unique()) == 1
        assert bool(effect.identification.isnan().all() if is_single else effect.identification.isfinite().all())
        assert bool(effect.within.isnan().all() if is_single else effect.within.isfinite().all())
        assert is_single == (amounts["samples"] == 1 or amounts.get("structures") == 1)
    counts = {"num_samples_to_draw": amounts["samples"], "structures": amounts.get("structures")}
    assert model.effect(a, {a: calm}, (), data, **counts).error.isnan().all()
    null = model.intervene(data=data, **amounts)
    assert (null.effect_error == 0).all()


def test_no_error_is_zero_as_long_as_few_structures_may_all_miss_a_link(model, data, calm) -> None:
    do = sphunc.Do(data.node_ids[0], toward=calm)
    for seed in range(4):
        effect = model.intervene(do, data=data, samples=20, seed=seed)
        assert len(effect.structure_id.unique()) == 5
        assert not (effect.effect_error == 0).any()
        assert effect.effect_error.isfinite().any()
    known = model.intervene(do, data=data, samples=8, scenario=chain())
    assert known.effect_error.isfinite().all()
    assert (known.effect_error[:2] > 0).all()
    assert (known.identification == 0).all()


def test_links_that_are_certain_are_one_known_structure(model, data, calm) -> None:
    graph = model.structure_.graph
    sure = (graph.probability > 0.5).to(graph.probability)
    before = model.structure_
    model.structure_ = replace(before, graph=replace(graph, probability=sure))
    try:
        effect = model.intervene(sphunc.Do(data.node_ids[0], toward=calm), data=data, samples=10)
    finally:
        model.structure_ = before
    assert effect.effect_error.isfinite().all()
    assert (effect.identification == 0).all()


def test_counterfactual_under_the_factual_action_is_the_factual(model, data, calm) -> None:
    told = model.counterfactual(data=data, origin=1, horizon=3, samples=20)
    assert torch.equal(told.outcomes, told.factual_outcomes)
    assert told.observed.any(1).tolist() == [True, True, False]
    seen = told.observed[0]
    wanted = torch.nn.functional.one_hot(data.y[2], data.num_classes).float()
    assert torch.allclose(told.outcomes[0][seen], wanted[seen], atol=1e-5)
    other = model.counterfactual(sphunc.Do(data.node_ids[0], toward=calm), data=data, origin=1, horizon=2, samples=20)
    assert other.size.max() > 0
    assert "Moebius" in other.coupling
    assert repr(other).startswith("Counterfactual(")
    assert torch.equal(other.withins + other.identifications, other.entropies)


def test_shift_stochastic_policy_and_times(model, data, calm) -> None:
    a, b, c = data.node_ids[:3]
    plan = sphunc.Shift(a, calm, 0.5) & sphunc.Stochastic(b, c, 30.0, times=1) & sphunc.Do(c, observed=0, times=[0, 2])
    effect = model.intervene(plan, data=data, horizon=2, samples=20)
    assert effect.intervened[:3].all()
    still = sphunc.Policy(lambda step, states: {a: states[:, 1]})
    assert model.intervene(still, data=data, horizon=2, samples=8).size[0] > 0


def test_names_of_dowhy(model, data, calm) -> None:
    a, b = data.node_ids[:2]
    difference = model.average_causal_effect(a, {a: calm}, {a: data.class_names[1]}, data, 20)
    assert set(difference) == set(data.class_names)
    assert difference[calm] > 0
    contrast = model.effect(b, [sphunc.Do(a, toward=calm)], observed_data=data, num_samples_to_draw=100)
    assert contrast.error.isfinite().all()
    drawn = model.interventional_samples({a: calm}, data, 20)
    assert drawn.shape == (20, data.num_nodes)
    assert set(drawn[str(b)].to_list()) <= set(data.class_names)
    assert model.counterfactual_samples({a: b}, data, origin=1, samples=20).shape[0] == 20
    with pytest.raises(ArgumentError, match="target_node 'nobody' is not in the data"):
        model.effect("nobody", {a: calm}, observed_data=data)


def test_arms_of_an_effect_meet_the_same_noise_whatever_directions_they_set(wide, data, calm) -> None:
    a, stranger = data.node_ids[0], data.node_ids[9]
    aside = torch.nn.functional.normalize(torch.ones(32), dim=0)
    asked = {"scenario": chain(), "observed_data": without_groups(data), "num_samples_to_draw": 40}
    for reference in ([sphunc.Do(a, aside)], (), [sphunc.Policy(lambda step, states: {})]):
        contrast = wide.effect(stranger, {a: calm}, reference, **asked)
        assert (contrast.difference == 0).all()
        assert (contrast.error == 0).all()


def test_setting_another_agent_does_not_move_one_that_is_held(wide, data, calm) -> None:
    a, b = data.node_ids[:2]
    held, asked = sphunc.Do(b, toward=calm), {"data": data, "horizon": 2, "samples": 40, "scenario": chain()}
    alone = wide.intervene(held, **asked).outcomes[:, 1]
    other = wide.intervene(held, sphunc.Do(a, toward=data.class_names[1]), **asked).outcomes[:, 1]
    assert torch.allclose(other, alone, rtol=0, atol=1e-6)
    aside = torch.nn.functional.normalize(torch.ones(32), dim=0)
    assert torch.allclose(wide.intervene(held, sphunc.Do(a, aside), **asked).outcomes[:, 1], alone, atol=2e-3)


def test_the_order_of_a_plan_does_not_matter(wide, data) -> None:
    a, b, c, d = data.node_ids[:4]
    one, other = sphunc.Do(a, observed=b), sphunc.Do(c, observed=d)
    asked = {"data": data, "horizon": 2, "samples": 20, "scenario": chain()}
    assert torch.equal(wide.intervene(one & other, **asked).outcomes, wide.intervene(other & one, **asked).outcomes)


@pytest.mark.parametrize("asked", ["effect", "average_causal_effect", "interventional_samples"])
@pytest.mark.parametrize(("name", "instead"), [("samples", "num_samples_to_draw"), ("data", "observed_data")])
def test_names_of_intervene_are_refused_where_dowhy_has_others(model, data, calm, asked, name, instead) -> None:
    arguments = ({data.node_ids[0]: calm},) if asked == "interventional_samples" else (data.node_ids[1], {}, ())
    with pytest.raises(ArgumentTypeError, match=rf"{asked} takes {instead}= where intervene takes {name}=; write"):
        getattr(model, asked)(*arguments, **{name: -7})


def test_places_of_dowhy_that_mean_nothing_here(model, data, calm) -> None:
    do = {data.node_ids[0]: calm}
    assert model.counterfactual_samples(do, data, None, origin=1, samples=5).height == 5
    with pytest.raises(ArgumentTypeError, match="takes no noise_data, got int: noise is abducted from observed_data"):
        unwrap(SphUnc.counterfactual_samples)(model, do, data, 3)
    with pytest.raises(ArgumentTypeError, match="does not know the option 'data'"):
        model.counterfactual_samples(do, data, data=data)
    with pytest.raises(ArgumentError, match=r"target_node array\(.* is not in the data"):
        unwrap(SphUnc.effect)(model, np.array(data.node_ids[:2]), do, (), data)


def test_a_persistent_cut_may_follow_a_state_set_at_the_origin(model, data, calm) -> None:
    do, cut = sphunc.Do(data.node_ids[1], toward=calm, times=0), sphunc.CutLink(*data.node_ids[:2])
    effect = model.intervene(do, cut, data=data, horizon=2, samples=8, scenario=chain())
    assert effect.horizon == 2


def test_sweep(model, data, calm) -> None:
    frame = model.sweep(data.node_ids[0], calm, (0.0, 1.0), data=data, samples=20)
    assert frame["angle"].to_list() == [0.0, 1.0]
    assert frame["effect"][0] == pytest.approx(0.0, abs=1e-6)
    assert frame["effect"][1] > frame["effect"][0]
    assert frame["agent_error"][1] > 0
    assert (frame["own_entropy"] > 0).all()
    a, b = data.node_ids[:2]
    asked = {"data": data, "samples": 8}
    assert model.sweep(a, b, [1.0], **asked).equals(model.sweep(a, angles=[1.0], observed=b, **asked))
    with pytest.raises(
        ArgumentTypeError, match=r"sweep does not know the option 'samplez'; .* horizon, samples, struct"
    ):
        model.sweep(a, calm, data=data, samplez=3)


def test_all_of_a_sweep_is_checked_before_any_work(model, data, calm, monkeypatch) -> None:
    monkeypatch.setattr(type(model.network_), "origin", None)
    a = data.node_ids[0]
    with pytest.raises(ArgumentError, match="angle=9 is outside"):
        model.sweep(a, calm, [0.5, 9], data=data)
    with pytest.raises(ArgumentError, match="angles is empty"):
        model.sweep(a, calm, [], data=data)
    for wrong in (0.5, "1", np.array(0.5)):
        with pytest.raises(ArgumentTypeError, match=r"angles=.* must be several numbers; give a list"):
            unwrap(SphUnc.sweep)(model, a, calm, wrong, data=data)


def test_both_arms_of_an_effect_are_checked_before_any_work(model, data, calm, monkeypatch) -> None:
    monkeypatch.setattr(type(model.network_), "origin", None)
    a = data.node_ids[0]
    with pytest.raises(ArgumentError, match="agent 'z' is not in the data"):
        model.effect(a, {a: calm}, {"z": calm}, data)
    with pytest.raises(ArgumentTypeError, match="does not know the option 'samplez'"):
        model.effect(a, {a: calm}, observed_data=data, samplez=3)


@pytest.mark.parametrize("samples", [1, 30, 50])
def test_as_many_outcomes_are_drawn_as_asked_for(model, data, samples) -> None:
    assert model.interventional_samples((), data, samples).height == samples
    assert model.counterfactual_samples((), data, origin=1, samples=samples).height == samples


def test_agents_that_a_policy_sets_are_intervened_on(model, data) -> None:
    a = data.node_ids[0]
    effect = model.intervene(sphunc.Policy(lambda step, states: {a: states[:, 1]}), data=data, samples=8)
    assert effect.intervened.nonzero().flatten().tolist() == [0]
    assert a not in effect.top_affected(30)["agent"].to_list()
    still = model.intervene(sphunc.Policy(lambda step, states: {}), data=data, samples=8)
    assert torch.equal(still.outcomes, still.factual_outcomes)
    assert not still.intervened.any()


def test_a_group_is_cut_where_groups_are_pairs(data) -> None:
    model = fitted(data, grouping="pairs")
    with torch.no_grad():
        model.network_.step.gains["pull"].fill_(1.0)
        model.network_.readout.weight.normal_(generator=torch.Generator().manual_seed(0))
    last = (data.hyperedge_time[data.hyperedge_index[1]] == data.num_times - 1) & (
        data.hyperedge_size[data.hyperedge_index[1]] > 2
    )
    group = int(data.hyperedge_index[1, last][0])
    members = data.hyperedge_index[0, data.hyperedge_index[1] == group]
    cut = sphunc.CutGroup(data.hyperedge_ids[group])
    effect = model.intervene(cut, data=data, horizon=1, samples=20, scenario=no_links())
    assert set((effect.size > 1e-7).nonzero().flatten().tolist()) == set(members.tolist())
    with pytest.raises(ArgumentError, match=r"group 'k' does not meet at the origin; groups that do: [^(]*$"):
        model.intervene(sphunc.CutGroup("k"), data=data)


def test_numbers_are_drawn_from_their_law(short_data) -> None:
    y = torch.stack([short_data.y.float(), 10.0 * short_data.y], -1) * short_data.y_mask.unsqueeze(-1)
    data = replace(short_data, y=y, class_names=())
    model = fitted(data)
    a, b = data.node_ids[:2]
    drawn = model.interventional_samples({a: b}, data, 400, seed=3)
    effect = model.intervene(sphunc.Do(a, observed=b), data=data, samples=400, seed=3)
    assert drawn.shape == (400, 2 * data.num_nodes)
    found = torch.tensor(drawn.to_numpy()).view(400, data.num_nodes, 2)
    assert torch.allclose(found.std(0), effect.variance.sqrt().double(), rtol=0.2)
    assert ((found.mean(0) - effect.mean).abs() < 5 * effect.variance.sqrt() / 20).all()
    assert model.interventional_samples({a: b}, data, 400, seed=3).equals(drawn)
    told = model.counterfactual_samples({a: b}, data, origin=1, horizon=1, samples=40)
    seen = short_data.y_mask[2, 5:]
    spread = torch.tensor(told.to_numpy()).view(40, data.num_nodes, 2)[:, 5:].std(0)
    assert (spread[~seen] > 0.1).all()
    assert float(spread[seen].median()) < 0.1


def test_numbers_are_answered_too(short_data) -> None:
    y = short_data.y.float().unsqueeze(-1) * short_data.y_mask.unsqueeze(-1)
    data = replace(short_data, y=y, class_names=(), outcome_names=("valence",))
    model = fitted(data)
    null = model.intervene(data=data, samples=8)
    a = data.node_ids[0]
    assert "mean_valence" in model.predict(data).to_frame().columns
    assert {"mean_valence", "mean_valence factual"} <= set(null.to_frame().columns)
    assert set(model.average_causal_effect(a, {a: 0}, (), data, 8)) == {"mean_valence"}
    assert torch.equal(null.mean, model.predict(data).mean)
    assert torch.equal(null.variance, model.predict(data).variance)
    effect = model.intervene(sphunc.Do(data.node_ids[0], observed=data.node_ids[1]), data=data, horizon=2, samples=20)
    assert torch.equal(effect.withins + effect.identifications, effect.entropies)
    assert effect.mean.isfinite().all()
    told = model.counterfactual(data=data, origin=1, horizon=1, samples=8)
    assert torch.allclose(told.outcomes, told.factual_outcomes)


def test_new_and_missing_agents_are_matched_by_id(model, data, calm) -> None:
    named = replace(data, node_ids=("stranger", *data.node_ids[1:]))
    effect = model.intervene(sphunc.Do("stranger", toward=calm), data=named, samples=8)
    assert effect.confidence[0] == 0.0
    assert effect.agents[0] == "stranger"


def test_amounts_come_from_numpy_too(model, data, calm) -> None:
    a = data.node_ids[0]
    given = {"origin": 2, "horizon": 2, "samples": 8, "structures": 2, "seed": 3}
    plain = model.intervene(sphunc.Do(a, toward=calm, times=1), data=data, **given)
    numpy = model.intervene(
        sphunc.Do(a, toward=calm, times=np.int64(1)), data=data, **{name: np.int64(n) for name, n in given.items()}
    )
    assert torch.equal(plain.outcomes, numpy.outcomes)
    assert type(numpy.seed) is int
    with pytest.raises(ArgumentTypeError, match="samples=True must be a whole number, got bool"):
        model.intervene(data=data, samples=True)


def test_policy_and_do_on_one_agent_contradict_each_other(model, data, calm) -> None:
    a, b = data.node_ids[:2]
    policy = sphunc.Policy(lambda step, states: {a: states[:, 1]}, "follow")
    with pytest.raises(ArgumentError, match=f"contradict each other: the state of '{a}' is decided twice; drop one"):
        model.intervene(sphunc.Do(a, toward=calm) & policy, data=data, samples=8)
    assert model.intervene(sphunc.Do(b, toward=calm) & policy, data=data, samples=8).size[0] > 0


@pytest.mark.parametrize(
    ("plan", "options", "words"),
    [
        ([sphunc.Do("z", toward="class-0")], {}, "agent 'z' is not in the data"),
        ([sphunc.Do("a00", toward="joy")], {}, "is not in the data|class 'joy' is not known"),
        ([sphunc.CutGroup("none")], {}, "group 'none' does not meet"),
        ([], {"horizon": 0}, "horizon=0 must be at least 1"),
        ([], {"samples": 0}, "samples=0 must be at least 1"),
        ([], {"structures": 0}, "structures=0 must be at least 1"),
        ([], {"origin": 4}, "origin=4 is outside the 4 times of the data; choose 0 to 3"),
        ([], {"origin": -1}, "origin=-1 is outside"),
    ],
)
def test_bad_input_is_refused_before_any_work(model, data, plan, options, words, monkeypatch) -> None:
    monkeypatch.setattr(type(model.network_), "origin", None)
    with pytest.raises(ArgumentError, match=words):
        model.intervene(*plan, data=data, **options)
    with pytest.raises(ArgumentError, match=words):
        model.counterfactual(*plan, data=data, **options)


def test_a_scenario_is_checked_before_any_work(model, data, calm, monkeypatch) -> None:
    monkeypatch.setattr(type(model.network_), "origin", None)
    do, beyond = sphunc.Do(data.node_ids[0], toward=calm), known_links(torch.tensor([[0], [500]]), [1.0])
    with pytest.raises(ArgumentError, match="scenario links agent 500, but the data have 30 agents"):
        model.intervene(do, data=data, scenario=beyond)
    with pytest.raises(ArgumentTypeError, match="scenario must be a Scenario, got int"):
        model.effect(do.agent, do, (), data, scenario=5)


def test_wrong_direction_and_contradiction(model, data, calm) -> None:
    a = data.node_ids[0]
    with pytest.raises(ArgumentError, match="direction has 2 entries, but the model's states have 10"):
        model.intervene(sphunc.Do(a, (0.0, 1.0)), data=data)
    pair = model.influence().links[:, 0].tolist()
    source, target = (data.node_ids[i] for i in pair)
    with pytest.raises(ArgumentError, match="contradict each other"):
        model.intervene(sphunc.Do(target, toward=calm), sphunc.CutLink(source, target), data=data)


def test_types_and_unfit_models(model, data, calm) -> None:
    with pytest.raises(ArgumentTypeError, match="needs data=, a TemporalHypergraph"):
        model.intervene(sphunc.Do(data.node_ids[0], toward=calm))
    for asked in ("intervene", "counterfactual"):
        for given in (None, [1, 2], "folder"):
            with pytest.raises(ArgumentTypeError, match=rf"{asked} needs data=, .*; got .* sphunc.read_tables"):
                unwrap(getattr(SphUnc, asked))(model, data=given)
    with pytest.raises(ArgumentTypeError, match="an intervention is one of Do"):
        model.intervene("a", data=data)
    with pytest.raises(NotFittedError, match="intervene needs a fitted model"):
        SphUnc().intervene(data=data)


def test_a_model_without_links_says_so(data, calm) -> None:
    blind = fitted(data, scm=False)
    do = sphunc.Do(data.node_ids[0], toward=calm)
    with pytest.raises(ArgumentError, match="needs a structural causal model, but this one has scm=False"):
        blind.intervene(do, data=data)
    effect = blind.intervene(do, data=data, samples=8, scenario=no_links())
    assert effect.size[0] > 0
    short = data.window(0, 2)
    unlinked = fitted(short)
    with pytest.raises(ArgumentError, match="intervene needs links, but none could be learned"):
        unlinked.intervene(do, data=short)
    with pytest.raises(ArgumentError, match="average_causal_effect needs links"):
        unlinked.average_causal_effect(do.agent, do, (), short)
    with pytest.raises(ArgumentError, match="sweep needs links"):
        unlinked.sweep(do.agent, calm, data=short)


def test_without_a_sphere_an_intervention_reaches_followers_only(data, calm) -> None:
    flat = fitted(data, geometry="euclidean")
    with torch.no_grad():
        flat.network_.readout.weight.normal_(generator=torch.Generator().manual_seed(0))
    lonely = without_groups(data)
    options = {"data": lonely, "horizon": 2, "samples": 40, "scenario": chain()}
    effect = flat.intervene(sphunc.Do(data.node_ids[0], toward=calm), **options)
    assert torch.equal(effect.size[3:], torch.zeros(data.num_nodes - 3))
    assert float(effect.size[1]) > 0
    assert effect.outcomes.isfinite().all()
    assert torch.equal(effect.within + effect.identification, effect.entropy)
    null = flat.intervene(data=data, horizon=1, samples=8)
    assert torch.equal(null.probabilities, flat.predict(data).probabilities)
