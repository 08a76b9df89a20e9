import copy
import math
from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.model import (
    FittedModel,
    base_estimates,
    block_estimates,
    link_draws,
    links_by_half,
    sampler_agreement,
    state_estimates,
)
from sphunc.model.base import BaseRegression, Standardiser
from sphunc.model.covariates import make_covariates
from sphunc.model.inputs import ModelInputs
from sphunc.model.regression import fit_multinomial, multinomial_covariance, with_intercept
from sphunc.model.summary import class_contrasts, contrast_errors, covariate_names, newton_step, split_r_hat


@pytest.fixture(scope="module")
def data() -> sphunc.TemporalHypergraph:
    return sphunc.simulate("snare", agents=40, times=6, seed=0).data


@pytest.fixture(scope="module")
def model(data: sphunc.TemporalHypergraph) -> sphunc.SphUnc:
    return sphunc.SphUnc(seed=0).fit(data, verbose=False)


def test_names_stand_beside_their_columns(snare_inputs: ModelInputs) -> None:
    features = [f"f{k}" for k in range(snare_inputs.x.shape[2])]
    names = covariate_names(features, ["a", "b", "c"], False)
    before = make_covariates(snare_inputs).at(4).nan_to_num()
    assert len(names) == before.shape[1]
    x = snare_inputs.x.clone()
    x[:, :, 3] += 5.0
    mask = snare_inputs.x_mask.clone()
    mask[:, :, 3] = True
    after = make_covariates(replace(snare_inputs, x=x, x_mask=mask)).at(4).nan_to_num()
    changed = {names[k] for k in ((after - before).abs().amax(0) > 1e-9).nonzero().flatten().tolist()}
    assert changed == {"f3", "not observed: f3", "mean so far of f3", "co-members' mean of f3"}


def test_names_of_outcomes_stand_beside_their_columns(snare_inputs: ModelInputs) -> None:
    names = covariate_names([f"f{k}" for k in range(snare_inputs.x.shape[2])], ["a", "b", "c"], False)
    values = make_covariates(snare_inputs).at(4)
    known = snare_inputs.y_mask[4]
    column = names.index("last outcome = b")
    assert values[known, column].equal(snare_inputs.y[4, known, 1])
    share = values[:, names.index("share of c among co-members")]
    history = make_covariates(snare_inputs).outcomes[4]
    ever = history.ever.unsqueeze(-1).expand_as(history.last)
    expected, weight = snare_inputs.groups[4].mean_of_others(history.last, ever)
    met = weight[:, 2] > 0
    assert share[met].equal(expected[met, 2])


@pytest.mark.parametrize("numbers", [1, 2])
def test_numbers_have_as_many_names_as_columns(numbers: int, snare_inputs: ModelInputs) -> None:
    inputs = replace(snare_inputs, y=snare_inputs.y[..., :numbers], num_classes=0)
    names = covariate_names([f"f{k}" for k in range(inputs.x.shape[2])], [f"y{k}" for k in range(numbers)], True)
    assert len(names) == make_covariates(inputs).at(3).shape[1]
    assert len(set(names)) == len(names)


def _regression(classes: int) -> tuple[BaseRegression, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(classes)
    z = torch.randn(400, 3, generator=generator, dtype=torch.float64)
    truth = torch.randn(3, classes, generator=generator, dtype=torch.float64) * 0.4
    labels = torch.distributions.Categorical(logits=z @ truth)
    torch.manual_seed(0)
    drawn = labels.sample()
    penalty = torch.tensor([1.0, 30.0, 200.0], dtype=torch.float64)
    weight = torch.ones(400, dtype=torch.float64)
    coefficients = fit_multinomial(z, drawn, classes, penalty, weight)
    covariance = multinomial_covariance(z, coefficients, penalty, weight)
    one = torch.ones(3, dtype=torch.float64)
    standardiser = Standardiser(0 * one, one, torch.zeros(3, dtype=torch.bool))
    base = BaseRegression(standardiser, coefficients, covariance, z.new_zeros(4, 0), penalty, math.inf, "origins", 400)
    return base, z, penalty


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_errors_of_contrasts_are_those_of_the_joint_posterior(classes: int) -> None:
    base, z, penalty = _regression(classes)
    design = with_intercept(z)
    p = torch.softmax(design @ base.coefficients, 1)
    columns = design.shape[1]
    # The whole Laplace posterior, all classes together.
    prior = torch.diag(torch.cat([penalty, penalty.new_tensor([1e-6])]))
    hessian = z.new_zeros(classes * columns, classes * columns)
    for a in range(classes):
        for b in range(classes):
            weight = p[:, a] * (float(a == b) - p[:, b])
            block = design.mT @ (weight.unsqueeze(1) * design) + float(a == b) * prior
            hessian[a * columns : (a + 1) * columns, b * columns : (b + 1) * columns] = block
    covariance = torch.linalg.inv(hessian)
    frequency = torch.softmax(base.coefficients[-1], 0)
    errors = contrast_errors(base)
    for c in range(classes):
        others = -frequency / (1 - frequency[c])
        others[c] = 1.0
        for k in range(3):
            pick = z.new_zeros(classes, columns)
            pick[:, k] = others
            expected = float((pick.flatten() @ covariance @ pick.flatten()).sqrt())
            assert float(errors[k, c]) == pytest.approx(expected, rel=1e-3 if classes == 2 else 0.1)


def test_contrast_of_two_classes_is_the_log_odds_ratio() -> None:
    base, _, _ = _regression(2)
    difference = base.coefficients[:, 1] - base.coefficients[:, 0]
    assert torch.allclose(class_contrasts(base.coefficients)[:, 1], difference)
    assert torch.allclose(class_contrasts(base.coefficients)[:, 0], -difference)


def test_base_estimates_leave_out_constants_and_count_indicators_whole(model: sphunc.SphUnc) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    found = base_estimates(learned, model.schema_, model.preparation_)
    varies = int((~learned.predictor.base.standardiser.is_constant).sum())
    assert len(found) == 3 * varies
    one = next(e for e in found if e.parameter == "last outcome = class-1" and e.outcome == "class-2")
    assert one.unit == "yes against no"
    scale = float(learned.predictor.base.standardiser.scale[1])
    assert one.estimate == pytest.approx(float(class_contrasts(learned.predictor.base.coefficients)[1, 2]) / scale)
    assert one.high - one.estimate == pytest.approx(1.96 * one.error, rel=1e-3)


def test_effective_parameters_fall_with_the_penalty(model: sphunc.SphUnc) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    for block in block_estimates(learned):
        assert 0 <= block.parameters <= 2 * block.columns
    base = learned.predictor.base
    covariance = torch.diag_embed(torch.full_like(base.covariance[:, :, 0], 1e-6))
    free = replace(base, penalty=torch.full_like(base.penalty, 0.01), covariance=covariance)
    loose = replace(learned, predictor=replace(learned.predictor, base=free))
    for block in block_estimates(loose):
        assert block.parameters == pytest.approx(2 * block.columns, rel=1e-3)


def test_newton_step_finds_a_mean_and_its_clustered_error() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(50, 3, generator=generator, dtype=torch.float64) + 0.3

    def likelihood(change: torch.Tensor) -> torch.Tensor:
        # Three rows of a unit are copies of each other; the second parameter is not in the likelihood.
        return -0.5 * 3 * (values[:, 0] - change[0]).square()

    step, covariance = newton_step(likelihood, 2)
    assert float(step[0]) == pytest.approx(float(values[:, 0].mean()), rel=1e-5)
    expected = float(values[:, 0].std(correction=0)) / math.sqrt(50)
    assert float(covariance[0, 0].sqrt()) == pytest.approx(expected, rel=1e-5)
    assert step[1].isnan()


def test_curvature_of_the_wrong_sign_gives_no_error() -> None:
    step, covariance = newton_step(lambda change: change.square().sum().expand(4), 1)
    assert step.isnan().all()
    assert covariance.isnan().all()


def test_state_estimates_have_errors_where_data_is_given(model: sphunc.SphUnc, data: sphunc.TemporalHypergraph) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    bare = {e.parameter: e for e in state_estimates(learned, model.schema_, model.preparation_)}
    full = {e.parameter: e for e in state_estimates(learned, model.schema_, model.preparation_, data)}
    assert bare.keys() == full.keys()
    inertia = full["inertia (typical agent)"]
    assert math.isnan(bare["inertia (typical agent)"].error)
    assert 0 < inertia.low < inertia.estimate < inertia.high
    assert math.sqrt(inertia.low * inertia.high) == pytest.approx(inertia.estimate)
    states = learned.predictor.states
    assert states is not None
    assert states.structure is not None
    links = full["number of links"]
    counts = (states.structure.draws != 0).sum((1, 2)).double()
    assert links.estimate == pytest.approx(float(counts.mean()))
    assert float(counts.min()) <= links.low <= links.high <= float(counts.max())


def test_link_draws_exist_as_often_as_the_link(model: sphunc.SphUnc) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    states = learned.predictor.states
    assert states is not None
    assert states.links is not None
    assert states.structure is not None
    links = states.links
    target, slot = links.is_candidate.nonzero(as_tuple=True)
    pairs = zip(target.tolist(), links.source[target, slot].tolist(), strict=True)
    drawn = torch.stack([(link_draws(states.structure, t, s) != 0).double().mean() for t, s in pairs])
    gap = drawn - links.probability[target, slot]
    assert abs(float(gap.mean())) < 0.01
    assert float(gap.abs().max()) < 0.5


def test_halved_links_are_found_to_be_too_weak(model: sphunc.SphUnc, data: sphunc.TemporalHypergraph) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    states = learned.predictor.states
    assert states is not None
    assert states.links is not None
    first, second, error = links_by_half(learned, model.schema_, model.preparation_, data)
    assert error > 0
    half = replace(states.links, mean=states.links.mean / 2)
    weaker = replace(learned, predictor=replace(learned.predictor, states=replace(states, links=half)))
    weak_first, weak_second, _ = links_by_half(weaker, model.schema_, model.preparation_, data)
    assert weak_first == pytest.approx(2 * first, rel=0.25)
    assert weak_second == pytest.approx(2 * second, rel=0.25)


def test_no_states_have_no_estimates(model: sphunc.SphUnc, data: sphunc.TemporalHypergraph) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    bare = replace(learned, predictor=replace(learned.predictor, states=None))
    assert state_estimates(bare, model.schema_, model.preparation_, data) == []
    assert math.isnan(links_by_half(bare, model.schema_, model.preparation_, data)[2])


def test_chains_that_agree_have_an_r_hat_of_one() -> None:
    generator = torch.Generator().manual_seed(0)
    draws = [torch.randn(200, generator=generator, dtype=torch.float64) for _ in range(2)]
    assert split_r_hat(draws) == pytest.approx(1.0, abs=0.03)
    assert split_r_hat([draws[0], draws[1] + 5]) > 2
    assert split_r_hat([torch.ones(20), torch.ones(20)]) == 1.0
    assert math.isnan(split_r_hat([draws[0][:6], draws[1][:6]]))


def test_sampler_agreement_reads_the_chains_apart(model: sphunc.SphUnc) -> None:
    learned = model.model_
    assert isinstance(learned, FittedModel)
    states = learned.predictor.states
    assert states is not None
    assert states.structure is not None
    structure = copy.copy(states.structure)
    draws = torch.zeros_like(structure.draws)
    draws[1::2, :, 0] = 1.0
    assert sampler_agreement(replace(structure, draws=draws)) > 10
