"""What was not observed is imputed by its conditional mean; what was is never touched."""

import pytest
import torch

from sphunc.nn import imputation
from sphunc.nn.imputation import impute, learn_factors


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def model(features=7, factors=3, seed=0):
    """Loadings and noise of a factor model."""
    g = generator(seed)
    loadings = torch.randn(features, factors, generator=g, dtype=torch.float64)
    return loadings, 0.1 + torch.rand(features, generator=g, dtype=torch.float64)


def damaged(rows=40, features=7, lost=0.4, seed=1):
    """Rows with gaps, 0 there; the first has nothing observed, the second everything."""
    g = generator(seed)
    x = torch.randn(rows, features, generator=g, dtype=torch.float64)
    mask = torch.rand(rows, features, generator=g) > lost
    mask[0], mask[1] = False, True
    return torch.where(mask, x, 0.0), mask


def planted(lost, rows=500, features=12, factors=3, seed=2):
    """Standardised rows of low rank with a tenth of noise in their variance, and which of the entries are seen."""
    g = generator(seed)
    signal = torch.randn(rows, factors, generator=g) @ torch.randn(factors, features, generator=g)
    noise = torch.randn(rows, features, generator=g)
    truth = 0.9**0.5 * signal / signal.std(0) + 0.1**0.5 * noise
    return truth, torch.rand(rows, features, generator=g) >= lost


def test_impute_is_the_conditional_mean_of_the_full_covariance():
    (loadings, noise), (x, mask) = model(), damaged()
    covariance = loadings @ loadings.mT + torch.diag(noise)
    got = impute(x, mask, loadings, noise)
    for row, seen, imputed in zip(x, mask, got, strict=True):
        if not bool(seen.any()):
            continue
        expected = covariance[~seen][:, seen] @ torch.linalg.solve(covariance[seen][:, seen], row[seen])
        torch.testing.assert_close(imputed[~seen], expected)


def test_observed_entries_are_untouched_and_the_argument_too():
    (loadings, noise), (x, mask) = model(), damaged()
    before = x.clone()
    got = impute(x, mask, loadings, noise)
    assert torch.equal(got[mask], x[mask])
    assert torch.equal(x, before)
    assert (got[2:][~mask[2:]] != 0).all()


def test_rows_of_which_nothing_was_observed_stay_zero():
    (loadings, noise), (x, mask) = model(), damaged()
    assert not impute(x, mask, loadings, noise)[0].any()


def test_without_gaps_or_without_factors_nothing_is_done():
    (loadings, noise), (x, mask) = model(), damaged()
    assert impute(x, mask, loadings[:, :0], noise) is x
    assert impute(x, torch.ones_like(mask), loadings, noise) is x
    assert impute(x * 0, torch.zeros_like(mask), loadings, noise).abs().max() == 0


def test_every_row_is_imputed_by_itself(monkeypatch):
    (loadings, noise), (x, mask) = model(), damaged()
    whole = impute(x, mask, loadings, noise)
    torch.testing.assert_close(impute(x.view(4, 10, 7), mask.view(4, 10, 7), loadings, noise), whole.view(4, 10, 7))
    for rows in (1, 7):
        monkeypatch.setattr(imputation, "CHUNK", rows * 3**2)
        torch.testing.assert_close(impute(x, mask, loadings, noise), whole)


@pytest.mark.parametrize("lost", [0.1, 0.2, 0.3])
def test_learned_factors_come_near_to_what_was_lost(lost):
    truth, mask = planted(lost)
    x = torch.where(mask, truth, 0.0)
    loadings, noise = (t.float() for t in learn_factors(x, mask))
    imputed = impute(x, mask, loadings, noise)
    error = (imputed - truth)[~mask].square().mean()
    # A tenth of the variance is noise that nothing tells; the mean leaves all of it.
    assert 0.08 < error < 0.3 * truth[~mask].square().mean()


def test_learned_factors_give_the_covariance():
    truth, mask = planted(0.2, rows=4000)
    loadings, noise = learn_factors(torch.where(mask, truth, 0.0), mask)
    covariance = loadings @ loadings.mT + torch.diag(noise)
    torch.testing.assert_close(covariance.float(), truth.mT @ truth / len(truth), atol=0.06, rtol=0)


@pytest.mark.parametrize("case", ["single feature", "nobody", "nothing observed"])
def test_no_factors_where_there_is_nothing_to_learn_from(case):
    x, mask = damaged()
    x, mask = {
        "single feature": (x[:, :1], mask[:, :1]),
        "nobody": (x[:0], mask[:0]),
        "nothing observed": (x * 0, torch.zeros_like(mask)),
    }[case]
    loadings, noise = learn_factors(x, mask)
    assert loadings.shape == (x.shape[1], 0)
    assert torch.equal(noise, torch.ones(x.shape[1], dtype=torch.float64))


def test_a_row_of_which_nothing_was_observed_teaches_nothing():
    x, mask = damaged()
    for got, expected in zip(learn_factors(x, mask), learn_factors(x[1:], mask[1:]), strict=True):
        torch.testing.assert_close(got, expected)


def test_many_rows_are_thinned_the_same_way_every_time(monkeypatch):
    truth, mask = planted(0.2)
    x = torch.where(mask, truth, 0.0)
    kept = imputation.sample_rows(len(x), 100)
    expected = learn_factors(x[kept], mask[kept])
    monkeypatch.setattr(imputation, "ROWS_TO_LEARN", 100)
    for got, one in zip(learn_factors(x, mask), expected, strict=True):
        torch.testing.assert_close(got, one)


def test_thinned_rows_meet_every_agent():
    agents, times = 1000, 40
    kept = imputation.sample_rows(agents * times, 4096)
    assert len(kept) == len(kept.unique()) == 4096
    assert len((kept % agents).unique()) > 950
    assert torch.equal(imputation.sample_rows(7, 10), torch.arange(7))


def test_complete_training_rows_teach_what_to_impute_later():
    truth, mask = planted(0.3)
    loadings, noise = learn_factors(truth, torch.ones_like(mask))
    imputed = impute(torch.where(mask, truth, 0.0).double(), mask, loadings, noise)
    lost = ~mask
    assert (imputed - truth)[lost].square().mean() < 0.3 * truth[lost].square().mean()


@pytest.mark.parametrize("constant", [1, 6, 7])
def test_constant_and_unseen_features_bring_no_nan(constant):
    x, mask = damaged()
    x[:, :constant] = 0.0
    mask[2:, 6] = False
    loadings, noise = learn_factors(x, mask)
    assert loadings.isfinite().all()
    assert (noise >= imputation.LEAST_NOISE).all()
    got = impute(x, mask, loadings, noise)
    assert got.isfinite().all()
    torch.testing.assert_close(got[:, :constant], torch.zeros_like(got[:, :constant]), atol=1e-6, rtol=0)
