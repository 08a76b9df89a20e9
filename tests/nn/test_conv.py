import doctest

import pytest
import torch

import sphunc
import sphunc.nn.conv as conv_module
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.nn.conv import AngularHypergraphConv
from sphunc.nn.projection import normalise

INDEX = torch.tensor([[0, 1, 2, 1, 3, 4, 2, 3], [0, 0, 0, 2, 2, 3, 4, 4]])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def made(in_dim=3, out_dim=5):
    return AngularHypergraphConv(in_dim, out_dim, generator=generator(1)).double()


def features(nodes=6, in_dim=3):
    return torch.randn(nodes, in_dim, generator=generator(), dtype=torch.float64)


def transcribed(conv, x, index, weight):
    z = x @ conv.projection.T + conv.bias
    z = z / z.norm(dim=1, keepdim=True)
    members = [index[0][index[1] == e].tolist() for e in range(len(weight))]
    rows = []
    for i in range(len(x)):
        mine = [(w, [j for j in m if j != i]) for w, m in zip(weight, members, strict=True) if i in m and len(m) > 1]
        pooled = 0 * z[i]
        for w, others in mine:
            alpha = torch.softmax(torch.stack([conv.log_sharpness.exp() * z[i] @ z[j] for j in others]), 0)
            pooled = pooled + w / sum(v for v, _ in mine) * (alpha @ z[others])
        raw = z[i] + (conv.weight @ pooled).clamp(min=0)
        rows.append(raw / raw.norm())
    return torch.stack(rows)


def test_public_name():
    assert sphunc.AngularHypergraphConv is AngularHypergraphConv


def test_example_in_the_docstring():
    names = {"AngularHypergraphConv": AngularHypergraphConv, "torch": torch}
    assert doctest.testmod(conv_module, extraglobs=names).failed == 0


@pytest.mark.parametrize("weight", [[1.0] * 5, [2.0, 1.0, 0.5, 3.0, 0.25]])
def test_convolution_is_its_equation(weight):
    conv, x, weight = made(), features(), torch.tensor(weight, dtype=torch.float64)
    torch.testing.assert_close(conv(x, INDEX, weight), transcribed(conv, x, INDEX, weight))


def test_equal_weights_are_no_weights_and_other_weights_matter():
    conv, x = made(), features()
    plain = conv(x, INDEX)
    torch.testing.assert_close(conv(x, INDEX, torch.full((5,), 7.0).double()), plain)
    assert not torch.allclose(conv(x, INDEX, torch.tensor([1.0, 1, 9, 1, 1]).double()), plain)


def test_gradients_in_features_and_weights():
    conv, weight = made(), torch.linspace(0.5, 2, 5, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: conv(x, INDEX, w), (features().requires_grad_(), weight))


def test_order_of_memberships_does_not_matter():
    conv, x = made(), features()
    torch.testing.assert_close(conv(x, INDEX.flip(1)), conv(x, INDEX))


def test_renaming_nodes_renames_the_result():
    conv, x, name_of = made(), features(), torch.tensor([3, 0, 5, 1, 2, 4])
    after = conv(torch.empty_like(x).index_copy(0, name_of, x), torch.stack([name_of[INDEX[0]], INDEX[1]]))
    torch.testing.assert_close(after[name_of], conv(x, INDEX))


def test_without_groups_only_the_projection_is_left():
    conv, x = made(), features()
    alone = normalise(x @ conv.projection.T)
    torch.testing.assert_close(conv(x, torch.empty(2, 0, dtype=torch.long)), alone)
    torch.testing.assert_close(conv(x, INDEX)[[4, 5]], alone[[4, 5]])
    torch.testing.assert_close(conv(x, torch.tensor([[0, 1], [0, 1]])), alone)


def test_stated_number_of_edges_and_int32_indices_are_taken():
    conv, x = made(), features()
    torch.testing.assert_close(conv(x, INDEX.int(), num_edges=9), conv(x, INDEX))
    assert repr(conv) == "AngularHypergraphConv(3, 5)"
    assert made(3, 5).bias is not None
    assert AngularHypergraphConv(3, 5, bias=False).bias is None


def test_faulty_calls_are_refused():
    conv = made()
    with pytest.raises(ArgumentError, match="x has 4 features, but the layer was made with in_dim=3"):
        conv(features(in_dim=4), INDEX)
    with pytest.raises(ArgumentError, match="hyperedge_index has 3 rows; it takes 2"):
        conv(features(), torch.zeros(3, 2, dtype=torch.long))
    with pytest.raises(ArgumentError, match=r"hyperedge_index\[0\] holds 4, but num_nodes is 4"):
        conv(features(4), INDEX)
    with pytest.raises(ArgumentError, match=r"hyperedge_index\[1\] holds 4, but num_hyperedges is 2"):
        conv(features(), INDEX, num_edges=2)
    with pytest.raises(ArgumentError, match="out_dim is 0"):
        AngularHypergraphConv(3, 0)
    with pytest.raises(ArgumentTypeError, match="x is on cpu, hyperedge_index on meta"):
        conv(features(), INDEX.to("meta"))
