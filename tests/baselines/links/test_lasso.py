import numpy as np
import torch
from sklearn.linear_model import lasso_path

from sphunc.baselines.links import lasso
from sphunc.baselines.links.granger import target_moments
from sphunc.discovery.candidates import all_pairs


def test_entry_is_where_the_coefficient_leaves_zero():
    x = torch.randn(25, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    x[1:, 1] = x[1:, 1] + 0.8 * x[:-1, 0]
    pairs = all_pairs(4)
    score = lasso(x, pairs)
    assert pairs[:, score.argmax()].tolist() == [0, 1]
    place, moments, free = next(iter(target_moments(x, pairs, replicates=False)))
    scale = moments.diagonal().sqrt()
    gram = (moments / scale[:, None] / scale).numpy()
    # Rows with these cross products, for a solver of another kind.
    rows = np.linalg.cholesky(gram + 1e-12 * np.eye(4)).T
    # It minimises the mean square over its rows, the path over the free ones.
    entries = score[place].numpy() * int(free) / len(rows)
    _, path, _ = lasso_path(rows[:, :-1], rows[:, -1], alphas=[0.98 * entries.max()])
    assert (np.abs(path[:, 0]) > 0).sum() == 1
    assert np.abs(path[:, 0]).argmax() == entries.argmax()
