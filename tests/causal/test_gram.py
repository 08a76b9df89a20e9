import math

import torch

from sphunc.causal.estimation import columns_of
from sphunc.causal.gram import gram, project_out, within_between


def test_random_effect_is_within_plus_discounted_between(problem):
    columns = columns_of(problem, torch.arange(6), 1)
    within, between = within_between(columns)
    n = float(columns.rows[0])
    for phi in (0.0, 0.3, 5.0):
        torch.testing.assert_close(gram(columns, phi), within + between / (1 + n * phi))
    torch.testing.assert_close(gram(columns, math.inf), within)


def test_random_effect_is_generalised_least_squares(problem):
    columns = columns_of(problem, torch.arange(2), 1)
    n, phi = int(columns.rows[0]), 0.7
    inverse = torch.linalg.inv(torch.eye(n, dtype=torch.double) + phi * torch.ones(n, n, dtype=torch.double))
    dense = torch.einsum("bpnd,nm,bqmd->bpq", columns.values, inverse, columns.values)
    torch.testing.assert_close(gram(columns, phi), dense)


def test_projection_is_a_schur_complement_and_skips_repeats():
    z = torch.randn(1, 30, 5, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    z[:, :, 1] = 2 * z[:, :, 0]
    rest, _, rank = project_out(z.mT @ z, 2)
    first = z[0, :, :1]
    left = z[0, :, 2:] - first @ torch.linalg.lstsq(first, z[0, :, 2:]).solution
    torch.testing.assert_close(rest[0], left.T @ left)
    assert rank.tolist() == [1.0]
